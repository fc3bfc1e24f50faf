"""Releases and databases of other ages: migrate under a lock, wait for a migration, run on a newer one,
refuse."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.database_commands import migrate
from ingot_chassis.db.migrations import pending, revisions, upgrade
from ingot_chassis.errors import CannotStart, DatabaseNewer
from ingot_chassis.security.keys import SigningKey
from ingot_issues.migrations import SCRIPTS
from ingot_testing.processes import free_port

PATIENCE = 60.0
pytestmark = pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)


def variables(url: str, port: int = 0) -> dict[str, str]:
    return {
        "INGOT_ISSUES_DATABASE_URL": url,
        "INGOT_ISSUES_PRIVATE_KEY": SigningKey.generate().text(),
        "INGOT_ISSUES_PORT": str(port),
        "INGOT_ISSUES_BACKGROUND": "false",
        "INGOT_NATS_URL": f"nats://127.0.0.1:{free_port()}",
        "INGOT_DRAIN_SECONDS": "0",
    }


@asynccontextmanager
async def issues(command: str, url: str, port: int = 0) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingot_issues", command),
        env=variables(url, port),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def ended(command: str, url: str) -> tuple[int, str]:
    """The exit code and what was told."""
    async with issues(command, url) as process:
        _, output = await process.communicate()
        return process.returncode, output.decode()


async def line_about(process: asyncio.subprocess.Process, words: str) -> dict:
    while line := await process.stderr.readline():
        if words.encode() in line:
            return json.loads(line)
    raise AssertionError(f"it ended without a word about {words!r}")


async def execute(url: str, statement: str) -> None:
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        await connection.execute(text(statement))
    await engine.dispose()


async def test_a_service_waits_for_its_migration_and_is_not_ready_until_then(database_url):
    port = free_port()
    async with issues("serve", database_url, port) as process, httpx.AsyncClient(timeout=1.5) as client:
        await line_about(process, "waiting for `migrate`")
        with pytest.raises(httpx.TransportError):
            await client.get(f"http://127.0.0.1:{port}/readyz")
        assert process.returncode is None
        assert (await ended("migrate", database_url))[0] == 0
        await line_about(process, "listening")
        assert (await client.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200


@asynccontextmanager
async def reached_at(port: int, url: str) -> AsyncIterator[None]:
    """The database answers at this port, too."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            target.write(data)
        target.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            back, forth = await asyncio.open_connection("127.0.0.1", make_url(url).port)
            await asyncio.gather(copy(reader, forth), copy(back, writer))

    server = await asyncio.start_server(forward, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()


async def test_a_migration_waits_for_a_database_that_starts(database_url):
    port = free_port()
    other = make_url(database_url).set(port=port).render_as_string(hide_password=False)
    async with issues("migrate", other) as process:
        await line_about(process, "the database does not answer; waiting")
        async with reached_at(port, database_url):
            await line_about(process, "database migrated")
            await process.communicate()
            assert process.returncode == 0
    assert not await pending(database_url, SCRIPTS)


async def test_a_migration_says_that_the_database_is_away_when_it_has_waited_for_long(database_url):
    away = make_url(database_url).set(port=free_port()).render_as_string(hide_password=False)
    with pytest.raises(CannotStart, match=r"cannot use the database: .*Connect call failed"):
        await migrate(away, SCRIPTS, patience=0)


async def test_a_migration_does_not_wait_for_what_a_database_refuses(database_url):
    code, output = await ended("migrate", f"{database_url}-of-nobody")
    assert code == 2
    assert "does not exist" in output
    assert "waiting" not in output


NEWER = "UPDATE alembic_version SET version_num = 'of-tomorrow'"
NO_OLDER_CODE = "UPDATE oldest_code SET revision = 'of-tomorrow'"
"""The next release drops what this one uses."""
OF_BEFORE = "DROP TABLE oldest_code"
"""Migrated by code that says nothing of older code."""


@pytest.fixture
def migrated(make_database):
    """The URL of a database of this release."""
    return make_database("issues", lambda url: asyncio.run(upgrade(url, SCRIPTS)))


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("serve", NO_OLDER_CODE),
        ("serve", OF_BEFORE),
        ("work", OF_BEFORE),
        ("migrate", NO_OLDER_CODE),
        ("doctor", OF_BEFORE),
    ],
)
async def test_a_release_refuses_a_newer_database_on_which_it_does_not_run(command, reason, migrated):
    await execute(migrated, NEWER)
    await execute(migrated, reason)
    code, output = await ended(command, migrated)
    assert code == 2
    assert "ingot: the database is at revision of-tomorrow, which this release does not know" in output


@pytest.fixture
async def expanded(migrated):
    """The URL of a database that the next release has migrated, and that this one can use."""
    await execute(migrated, NEWER)
    await execute(migrated, f"UPDATE oldest_code SET revision = '{revisions(SCRIPTS)[-1]}'")
    return migrated


@pytest.mark.parametrize("command", ["migrate", "doctor"])
async def test_commands_run_on_a_database_that_the_next_release_has_expanded(command, expanded):
    code, output = await ended(command, expanded)
    assert (code, output.count("the database is newer than this release")) == (0, 1)


@pytest.mark.parametrize("command", ["serve", "work"])
async def test_a_process_starts_again_on_a_database_that_the_next_release_has_expanded(command, expanded):
    """One that was evicted between the migration and the first new pod; and the way back to this release."""
    port = free_port()
    async with issues(command, expanded, port) as process, httpx.AsyncClient(timeout=1.5) as client:
        line = await line_about(process, "the database is newer than this release")
        assert (line["level"], line["revision"]) == ("warning", "of-tomorrow")
        await line_about(process, "listening")
        assert (await client.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200


async def test_the_doctor_names_an_older_database(database_url):
    code, output = await ended("doctor", database_url)
    assert code == 2
    assert "the database of issues is older than this release; run `ingot-issues migrate`" in output


def write_chain(folder, oldest_code):
    """A chain of migrations; by revision, what each says of older code."""
    versions = folder / "versions"
    versions.mkdir(parents=True)
    (folder / "env.py").write_text(
        "from sqlalchemy import MetaData\nfrom ingot_chassis.db.migrations import run_env\n"
        "run_env(MetaData())\n"
    )
    before = None
    for revision, oldest in oldest_code.items():
        says = f"oldest_code = {oldest!r}\n" if oldest else ""
        (versions / f"{revision}_step.py").write_text(
            f"revision, down_revision = {revision!r}, {before!r}\n{says}def upgrade():\n    pass\n"
        )
        before = revision
    return folder


async def test_a_migration_that_drops_something_shuts_out_the_code_that_used_it(tmp_path, database_url):
    steps = {"0001": "", "0002": "", "0003": "0002", "0004": ""}
    newest = write_chain(tmp_path / "newest", steps)
    releases = [write_chain(tmp_path / f"release-{n}", dict(list(steps.items())[:n])) for n in (1, 2, 3)]
    await upgrade(database_url, releases[0])
    await upgrade(database_url, newest)
    with pytest.raises(DatabaseNewer):
        await pending(database_url, releases[0])
    assert not await pending(database_url, releases[1])
    assert not await pending(database_url, releases[2])
    assert not await pending(database_url, newest)


async def test_migrations_that_meet_wait_for_each_other_and_one_does_the_work(database_url):
    outcomes = await asyncio.gather(*(ended("migrate", database_url) for _ in range(3)))
    assert [code for code, _ in outcomes] == [0, 0, 0]
    assert sum("database migrated" in output for _, output in outcomes) == 1


async def test_a_migration_tells_each_step(database_url):
    _, output = await ended("migrate", database_url)
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[0]["event"] == "migrating the database"
    steps = [line for line in lines if line["event"] == "revision applied"]
    assert steps[0] | {"timestamp": ""} == {
        "event": "revision applied",
        "revision": "0001",
        "what": "first tables",
        "level": "info",
        "timestamp": "",
    }
    assert lines[0]["to"] == steps[-1]["revision"]


async def test_a_migration_holds_the_lock_of_its_database_and_does_not_wait_long_for_a_busy_table(
    tmp_path, database_url
):
    """Asked from inside a migration: the settings of its session, and the locks that it holds."""
    (tmp_path / "versions").mkdir()
    (tmp_path / "env.py").write_text(
        "from sqlalchemy import MetaData\nfrom ingot_chassis.db.migrations import run_env\n"
        "run_env(MetaData())\n"
    )
    (tmp_path / "versions" / "0001_seen.py").write_text(
        "from alembic import op\nrevision, down_revision = '0001', None\n"
        "def upgrade():\n    op.execute('''CREATE TABLE seen AS SELECT current_setting('lock_timeout') AS "
        "patience,\n        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = "
        "pg_backend_pid()\n         AND database = (SELECT oid FROM pg_database WHERE datname = "
        "current_database())) AS locks''')\n"
    )
    await upgrade(database_url, tmp_path)
    engine = create_async_engine(database_url)
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT patience, locks FROM seen"))).one() == ("10s", 1)
    await engine.dispose()
