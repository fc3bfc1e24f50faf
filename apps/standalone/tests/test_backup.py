"""Backup and restore: the drill.

Everything is there again, events are sent again, and no hook is sent twice.
"""

import asyncio
import json
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import nats
import pytest

from .ingot_command import MAX_SECONDS, RunningIngot, ingot

TABLES_OF_THE_RUN = {"relay", "outbox", "inbox", "job", "alembic_version", "upkeep"}
"""Tables that change by themselves while Ingot runs. `outbox` and `inbox` are checked separately."""


class Receiver(ThreadingHTTPServer):
    """Remembers the id of each delivery."""

    def __init__(self) -> None:
        self.deliveries: list[str] = []
        self.arrived = threading.Condition()
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                with received.arrived:
                    received.deliveries.append(self.headers["X-Gitea-Delivery"])
                    received.arrived.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        super().__init__(("127.0.0.1", 0), Handler)

    def wait(self, count: int) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.deliveries) >= count, MAX_SECONDS), self.deliveries


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def git(*arguments: str, cwd: Path) -> str:
    names = ("-c", "user.name=Root", "-c", "user.email=root@example.org", "-c", "safe.directory=*")
    done = subprocess.run(["git", *names, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


def push(running: RunningIngot, work: Path, name: str) -> None:
    url = running.url.replace("://", f"://root:{PASSWORD}@")
    git("commit", "-q", "--allow-empty", "-m", name, cwd=work)
    git("push", "-q", f"{url}root/app.git", "HEAD:refs/heads/main", f"HEAD:refs/heads/{name}", cwd=work)


def refs(folder: Path) -> dict[str, str]:
    """Every ref of every repository, and each of its objects is there."""
    by_name = {}
    for repository in sorted(folder.glob("repositories/repositories/*/*/*.git")):
        git("fsck", "--strict", cwd=repository)
        by_name[repository.name] = git("for-each-ref", cwd=repository)
    return by_name


def rows(folder: Path) -> dict[str, list[str]]:
    """Every row of every table that only requests change."""
    by_name = {}
    for service in ("identity", "repos", "issues", "hooks", "mail"):
        with closing(sqlite3.connect(folder / f"{service}.db", timeout=30)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                if table not in TABLES_OF_THE_RUN and not table.startswith("sqlite_"):
                    selected = database.execute(f'SELECT * FROM "{table}"').fetchall()
                    by_name[f"{service}.{table}"] = sorted(map(repr, selected))
    return by_name


async def messages(folder: Path) -> dict[str, int]:
    """Return the number of events in each stream of a running Ingot."""
    client = await nats.connect(json.loads((folder / "nats" / "running.json").read_text())["url"])
    try:
        return {str(one.config.name): one.state.messages for one in await client.jetstream().streams_info()}
    finally:
        await client.close()


def count(folder: Path, service: str, question: str) -> int:
    with closing(sqlite3.connect(folder / f"{service}.db", timeout=30)) as database:
        return int(database.execute(question).fetchone()[0])


def post(running: RunningIngot, path: str, **body: object) -> dict:
    answer = httpx.post(f"{running.url}api/v1{path}", auth=("root", PASSWORD), json=body, timeout=60)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


PASSWORD = "what-root-knows"


def test_a_backup_of_a_running_ingot_has_everything_and_sends_no_hook_twice(
    start, folder, tmp_path, receiver
):
    port = receiver.server_address[1]
    variables = {"INGOT_ADMIN_PASSWORD": PASSWORD, "INGOT_HOOKS_ALLOWED_TARGETS": f"127.0.0.1:{port}"}
    running = start(**variables).wait_ready()
    post(running, "/user/repos", name="app")
    url = f"http://127.0.0.1:{port}/"
    post(running, "/repos/root/app/hooks", type="gitea", active=True, events=["push"],
         config={"url": url, "content_type": "json"})  # fmt: skip
    post(running, "/repos/root/app/issues", title="first")
    work = tmp_path / "work"
    work.mkdir()
    git("init", "-q", cwd=work)
    push(running, work, "one")
    receiver.wait(2)
    backups = tmp_path / "backups"
    first = ingot("backup", "--data", str(folder), "--to", str(backups))
    assert first.code == 0, first.err

    push(running, work, "two")
    post(running, "/repos/root/app/issues", title="second")
    receiver.wait(4)
    while count(folder, "hooks", "SELECT count(*) FROM delivery WHERE state <> 'delivered'"):
        receiver.wait(4)
    while not count(folder, "repos", "SELECT count(*) FROM repository WHERE open_issues_count = 2"):
        httpx.get(f"{running.url}livez", timeout=60)  # repos hears of it by an event
    second = ingot("backup", "--data", str(folder), "--to", str(backups))
    assert second.code == 0, second.err
    expected_refs, expected_rows = refs(folder), rows(folder)
    delivered = list(receiver.deliveries)
    running.stop()

    backup_folders = sorted(backups.glob("2*Z"))
    assert len(backup_folders) == 2
    restored = tmp_path / "restored"
    result = ingot("restore", "--from", str(backups), "--data", str(restored))
    assert result.code == 0, result.err
    assert (refs(restored), rows(restored)) == (expected_refs, expected_rows)
    assert not (restored / "nats").exists()

    events = {name: count(restored, name, "SELECT count(*) FROM outbox") for name in ("repos", "issues")}
    assert all(events.values())
    again = RunningIngot(restored, **variables)
    try:
        again.wait_ready()
        names = {i["title"] for i in httpx.get(f"{again.url}api/v1/repos/root/app/issues", timeout=60).json()}
        assert names == {"first", "second"}
        push(again, work, "three")
        receiver.wait(len(delivered) + 2)
        while count(restored, "repos", "SELECT count(*) FROM outbox WHERE sent_at IS NULL"):
            pass  # the lost stream makes the relay send its events of seven days again
        while count(restored, "issues", "SELECT count(*) FROM outbox WHERE sent_at IS NULL"):
            pass
        streams = asyncio.run(messages(restored))
        assert all(streams[f"INGOT_{name.upper()}"] >= number for name, number in events.items())
        assert ingot("doctor", "--data", str(restored)).out.strip() == "nothing is wrong"
    finally:
        again.stop()
    assert len(receiver.deliveries) == len(set(receiver.deliveries)) == len(delivered) + 2


def test_a_second_backup_takes_the_room_of_what_is_new(start, folder, tmp_path):
    running = start(INGOT_ADMIN_PASSWORD=PASSWORD).wait_ready()
    post(running, "/user/repos", name="app", auto_init=True)
    from ingot_standalone.backup import back_up
    from ingot_standalone.data_folder import DataFolder

    first = back_up(DataFolder(folder), tmp_path / "backups")
    first = first.rename(first.with_name("2026-01-01T00-00-00Z"))
    second = back_up(DataFolder(folder), tmp_path / "backups")

    objects = sorted(path.relative_to(first) for path in first.rglob("objects/??/*"))
    assert objects
    assert [(first / path).stat().st_ino for path in objects] == [
        (second / path).stat().st_ino for path in objects
    ]
    assert (first / "repos.db").stat().st_ino != (second / "repos.db").stat().st_ino


def test_data_of_a_release_without_mail_is_examined_backed_up_and_restored(start, folder, tmp_path):
    start().wait_ready().stop()
    for file in folder.glob("mail.db*"):
        file.unlink()
    secrets = json.loads((folder / "secrets.json").read_text())
    for keys in secrets.values():
        del keys["mail"]
    (folder / "secrets.json").write_text(json.dumps(secrets))

    examined = ingot("doctor", "--data", str(folder))
    assert examined.code == 2
    assert examined.out.splitlines() == [
        f"mail: {folder} is of an older release; start `ingot up` with it once"
    ]
    result = ingot("backup", "--data", str(folder), "--to", str(tmp_path / "backups"))
    assert result.code == 0, result.err
    restored = tmp_path / "restored"
    result = ingot("restore", "--from", str(tmp_path / "backups"), "--data", str(restored))
    assert result.code == 0, result.err
    assert not (restored / "mail.db").exists()

    again = RunningIngot(restored)
    try:
        again.wait_ready()
        assert count(restored, "mail", "SELECT count(*) FROM mail") == 0
        assert ingot("doctor", "--data", str(restored)).out.strip() == "nothing is wrong"
    finally:
        again.stop()


def test_a_lost_database_is_not_taken_for_an_older_release(start, folder, tmp_path):
    start().wait_ready().stop()
    (folder / "hooks.db").unlink()
    for command in (("doctor",), ("backup", "--to", str(tmp_path / "backups"))):
        assert "has no data yet" in ingot(*command, "--data", str(folder)).error_line


def test_a_backup_is_whole_or_not_there(start, folder, tmp_path):
    start().wait_ready().stop()
    file = folder / "issues.db"
    file.write_bytes(b"something else entirely" * 1000)
    backups = tmp_path / "backups"

    assert "no backup was made" in ingot("backup", "--data", str(folder), "--to", str(backups)).error_line
    assert not list(backups.glob("2*"))
    error = ingot("restore", "--from", str(backups), "--data", str(tmp_path / "new")).error_line
    assert "is no backup" in error
    assert not (tmp_path / "new").exists()


def test_what_forks_share_in_a_backup_they_share_after_its_restoration(tmp_path):
    from ingot_standalone.backup import restore
    from ingot_standalone.data_folder import DataFolder

    backup, folder = tmp_path / "backup", tmp_path / "data"
    parent, fork = (f"repositories/repositories/0/0/{number}.git/objects/pack/pack-1.pack" for number in "12")
    for path in (backup / parent, backup / fork):
        path.parent.mkdir(parents=True)
    (backup / "secrets.json").write_text("{}")
    (backup / parent).write_bytes(b"a pack")
    (backup / fork).hardlink_to(backup / parent)
    restore(backup, DataFolder(folder))

    assert (folder / fork).read_bytes() == b"a pack"
    assert (folder / fork).samefile(folder / parent)
    assert not (folder / fork).samefile(backup / fork)


@pytest.mark.parametrize("user", ["a backup", "a restoration", "ingot up"])
def test_nothing_is_restored_beside_whoever_uses_the_same_folder(tmp_path, user):
    from ingot_chassis.errors import CannotStart
    from ingot_git.storage.backups import UNFINISHED, alone
    from ingot_standalone import backup
    from ingot_standalone.data_folder import DataFolder

    source, folder = tmp_path / "backups" / "2026-01-01T00-00-00Z", DataFolder(tmp_path / "data")
    source.mkdir(parents=True)
    (source / "secrets.json").write_text("{}")
    unfinished = tmp_path / f".data{UNFINISHED}"
    unfinished.mkdir()
    in_use, words = {
        "a backup": (alone(source.parent), f"a backup to {source.parent} is being made"),
        "a restoration": (backup._locked(unfinished), "another backup is being restored to it"),
        "ingot up": (folder.in_use(), "is in use by another `ingot up`"),
    }[user]
    with in_use, pytest.raises(CannotStart, match=words):
        backup.restore(source.parent, folder)
    (folder.path / "lock").unlink(missing_ok=True)
    backup.restore(source.parent, folder)
    assert (folder.path / "secrets.json").read_text() == "{}"


@pytest.mark.parametrize("command", [("backup", "--to"), ("restore", "--from")])
def test_a_wrong_folder_is_one_line(command, tmp_path, folder):
    verb, option = command
    folder.mkdir()
    (folder / "something").write_text(json.dumps("precious"))
    error = ingot(verb, option, str(tmp_path / "other"), "--data", str(folder)).error_line

    assert error.startswith("ingot: ")
    assert (folder / "something").read_text() == '"precious"'
