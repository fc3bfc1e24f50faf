"""The instance of `make dev`: filled once, restarted when a source changes, and its shells."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from tools.seed import (
    BRANCHES,
    COMMITS,
    ISSUES,
    PASSWORD,
    REPOSITORY,
    USERS,
    Caller,
    administrator,
    seed,
)

from ingot_testing.processes import free_port

TOOLS = Path(__file__).parents[2] / "tools"
PATIENCE = 300.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}


class Development:
    """`tools/dev.py`, which watches a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self.data, self.sources, self.log = folder / "data", folder / "sources", folder / "dev.log"
        self.sources.mkdir()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, TOOLS / "dev.py", "--data", self.data),
                    *("--port", str(port), "--watch", self.sources),
                ],
                env=ENVIRONMENT | {"INGOT_SSH_PORT": "0"},
                stdout=log,
                stderr=log,
            )

    def wait_until(self, holds: Callable[[str], bool]) -> None:
        """Wait for something in the log."""
        deadline = time.monotonic() + PATIENCE
        while not holds(self.log.read_text()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Development]:
    development = Development(tmp_path_factory.mktemp("development"))
    try:
        development.wait_until(lambda log: "sign in as root" in log)
        yield development
    finally:
        development.process.send_signal(signal.SIGINT)
        assert development.process.wait(PATIENCE) == 0, development.log.read_text()


def run(tool: str, *arguments: str | Path, text: str = "", variables: Mapping[str, str] | None = None) -> str:
    """Return what a tool prints for the lines of ``text``."""
    return subprocess.run(
        [sys.executable, TOOLS / tool, *arguments],
        env=ENVIRONMENT | (variables or {}), input=text, capture_output=True,
        text=True, check=True, timeout=PATIENCE,
    ).stdout  # fmt: skip


def test_the_instance_has_people_history_issues_and_pull_requests(development, tmp_path):
    path = f"repos/{REPOSITORY}"
    for name in USERS:
        assert Caller(development.url, name).ask("GET", "user")["login"] == name
    ann = Caller(development.url, USERS[0])
    issues = ann.ask("GET", f"{path}/issues?state=all&type=issues")
    assert len(issues) == len(ISSUES)
    assert {one["state"] for one in issues} == {"open", "closed"}
    assert all(one["labels"] and one["comments"] for one in issues)
    pulls = {one["title"]: one for one in ann.ask("GET", f"{path}/pulls?state=all")}
    states = {title: (one["state"], one["merged"]) for title, one in pulls.items()}
    assert states == {
        "Add a warning": ("open", False),
        "Merge faster": ("open", False),
        "Merge typo": ("closed", True),
        "Merge red": ("closed", False),
    }
    assert ann.ask("GET", f"{path}/releases/latest")["tag_name"] == "v1.0"
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", f"{development.url}{REPOSITORY}.git", clone], check=True)

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=clone, check=True, capture_output=True, text=True
        ).stdout

    assert int(git("rev-list", "--count", "v1.0")) == COMMITS
    assert int(git("rev-list", "--count", "origin/main")) == COMMITS + 3  # two commits and their merge
    assert all(f"origin/{branch}" in git("branch", "-r") for branch in BRANCHES)


def test_an_instance_is_filled_once(development):
    assert not seed(development.url, ("root", PASSWORD))


def test_credentials_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("INGOT_ADMIN_USERNAME", "ida")
    monkeypatch.setenv("INGOT_ADMIN_PASSWORD", "other")
    assert administrator() == ("ida", "other")


def test_the_python_shell_has_a_signed_in_client(development):
    text = 'print(client.get("user").json()["login"])\n'
    assert "root" in run("shell.py", "--url", development.url, text=text).split()
    assert "bob" in run("shell.py", "--url", development.url, "--user", "bob", text=text).split()


def test_the_sql_shell_reads_and_writes_only_when_it_is_asked_to(development):
    shell = ("dbshell.py", "repos", "--data", development.data)
    assert "description" in run(*shell, text="\\d repository\n")
    assert "repository\n" in run(*shell, text="\\d\n")
    assert "syntax error" in run(*shell, text="select from where;\n")
    change = "update repository set description = 'changed';\n"
    read = "select distinct description from repository;\n"
    assert "readonly" in run(*shell, text=change)
    assert "changed" not in run(*shell, text=read)
    run(*shell, "--write", text=change)
    assert "changed" in run(*shell, text=read)


@pytest.mark.both_databases
def test_the_sql_shell_takes_the_database_of_the_environment(database_url):
    variables = {"INGOT_HOOKS_DATABASE_URL": database_url}
    create = "create table lamp (name text);\ninsert into lamp values ('red');\n"
    read = "select name from lamp;\n"
    assert "read-only" in run("dbshell.py", "hooks", text=create, variables=variables).replace(
        "readonly", "read-only"
    )
    run("dbshell.py", "hooks", "--write", text=create, variables=variables)
    output = run("dbshell.py", "hooks", text="\\d\n" + read, variables=variables)
    assert "lamp" in output
    assert "red\n1 rows" in output


def test_a_service_without_a_database_file_is_an_error_with_its_cure(tmp_path):
    done = subprocess.run(
        [sys.executable, TOOLS / "dbshell.py", "hooks", "--data", tmp_path],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert (done.returncode, "make dev" in done.stderr) == (1, True)


def test_it_restarts_when_a_source_changes(development):
    (development.sources / "module.py").write_text("")
    development.wait_until(lambda log: "module.py has changed: restarting" in log)
    development.wait_until(lambda log: log.count("Ingot is ready at") == 2)
    assert httpx.get(f"{development.url}readyz").status_code == 200
