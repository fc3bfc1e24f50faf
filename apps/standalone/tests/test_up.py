"""`ingot up`: starting, stopping, starting again after a kill, and what keeps it from starting."""

import signal
import socket
import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import MetaData, Table, create_engine, insert
from tests.deploy.test_expansion import LAST_RELEASE, migrate

from ingot_chassis.clock import now
from ingot_chassis.db.migrations import revisions
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.schemas import SCHEMAS

from .ingot_command import MAX_SECONDS, ingot, wait_ended


def test_it_says_where_it_is_and_answers_there(running):
    assert httpx.get(f"{running.url}readyz", timeout=20).status_code == 200


def test_it_prints_the_first_steps(running):
    running.wait_line("Ctrl-C")

    assert [line.split("  ")[1] for line in running.lines if line.startswith("  ")] == [
        "Add a user",
        "Make a repository",
        "Push to it",
    ]


def test_the_generated_password_of_the_first_administrator_signs_in(running):
    assert running.sign_in_status("root", running.password) == 200


def test_the_first_administrator_can_be_set(start):
    running = start(INGOT_ADMIN_USERNAME="ann", INGOT_ADMIN_PASSWORD="what ann knows").wait_ready()

    assert running.sign_in_status("ann", "what ann knows") == 200
    assert not any("what ann knows" in line for line in running.lines)


def test_a_password_is_generated_only_once(start):
    first = start().wait_ready()
    password = first.password
    first.stop()

    second = start().wait_ready()

    assert not any(line.startswith("Administrator") for line in second.lines)
    assert second.sign_in_status("root", password) == 200


def test_its_files_are_private(running):
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (running.folder, *running.folder.rglob("*"))}

    assert not [path for path, mode in modes.items() if mode & 0o077]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_everything_that_it_started(start, number):
    running = start().wait_ready()
    children = running.children()

    assert running.stop(number) == 0
    assert children
    wait_ended(children)


def test_it_can_be_stopped_before_it_is_ready(start):
    running = start()
    running.wait_line("Data folder")

    assert running.stop() == 0
    assert not any(line.startswith("Ingot is ready") for line in running.lines)


def test_nothing_is_lost_when_it_is_killed(start):
    first = start().wait_ready()
    password = first.password
    created = first.create_user(as_user="root", password=password, name="ann")
    first.kill()

    second = start().wait_ready()

    assert created == 201
    assert second.sign_in_status("ann", "something") == 200


def test_version_names_the_release():
    assert ingot("version").out.startswith("ingot 0.")


def test_a_port_in_use_is_one_line(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        error = ingot("up", "--port", str(port), "--data", str(folder)).error_line

    assert error.startswith(f"ingot: cannot listen on 127.0.0.1:{port}")


def test_a_reserved_name_of_the_first_administrator_is_one_line(folder):
    error = ingot("up", "--port", "0", "--data", str(folder), INGOT_ADMIN_USERNAME="api").error_line

    assert error == "ingot: username 'api' is reserved"


def test_a_database_of_a_newer_release_is_one_line(start, folder):
    start().wait_ready().stop()
    with closing(sqlite3.connect(folder / "identity.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
        database.execute("UPDATE oldest_code SET revision = 'from_the_future'")

    error = ingot("up", "--port", "0", "--data", str(folder)).error_line

    assert error.startswith(f"ingot: {folder / 'identity.db'}: the database is at revision from_the_future")


def test_an_unreadable_database_is_one_line(start, folder):
    start().wait_ready().stop()
    (folder / "identity.db").write_bytes(b"something else entirely" * 100)
    for rest in folder.glob("identity.db-*"):
        rest.unlink()

    error = ingot("up", "--port", "0", "--data", str(folder)).error_line

    assert error.startswith(f"ingot: cannot open the database {folder / 'identity.db'}: ")


ANN = {"id": 1, "kind": "user", "login": "ann", "lower_login": "ann", "visibility": "public", "active": True}
ROWS = {
    "identity": {"account": ANN},
    "repos": {
        "account": ANN,
        "repository": {"id": 1, "owner_id": 1, "name": "app", "lower_name": "app", "state": "ready"},
    },
    "issues": {
        "account": ANN,
        "issue": {"id": 1, "repository_id": 1, "number": 1, "author_id": 1, "title": "old", "state": "open"},
    },
    "hooks": {"hook": {"id": 1, "repository_id": 1, "type": "gitea", "events": '["push"]', "settings": "{}"}},
}
"""By service and table; of the other columns that need a value, each has the empty one of its type."""


def test_the_databases_of_the_last_release_are_copied_and_upgraded(start, folder):
    folder.mkdir(mode=0o700)
    DataFolder(folder).secrets()
    for service, by_table in ROWS.items():
        write_as_the_last_release(folder / f"{service}.db", service, by_table)

    running = start(INGOT_ADMIN_PASSWORD="what-root-knows").wait_ready()

    (copies,) = (folder / "before-upgrade").iterdir()
    assert str(copies) in running.wait_line("Upgrade")
    assert {file.name for file in copies.iterdir()} == {f"{service}.db" for service in ROWS}
    for service, by_table in ROWS.items():
        copy, upgraded = copies / f"{service}.db", folder / f"{service}.db"
        assert value(copy, "version_num", "alembic_version") == LAST_RELEASE[service]
        assert value(upgraded, "version_num", "alembic_version") == revisions(SCHEMAS[service])[-1]
        assert all(value(copy, "id", table) == 1 for table in by_table)
    with httpx.Client(
        base_url=f"{running.url}api/v1/", auth=("root", "what-root-knows"), timeout=MAX_SECONDS
    ) as client:
        assert client.get("users/ann").json()["id"] == 1
        assert [one["full_name"] for one in client.get("repos/search?q=app").json()["data"]] == ["ann/app"]
        assert [one["title"] for one in client.get("repos/ann/app/issues?q=old").json()] == ["old"]
        assert [one["events"] for one in client.get("repos/ann/app/hooks").json()] == [["push"]]
    running.stop()
    start().wait_ready()
    assert list((folder / "before-upgrade").iterdir()) == [copies]


def write_as_the_last_release(file: Path, service: str, by_table: dict[str, dict[str, Any]]) -> None:
    engine = create_engine(f"sqlite:///{file}")
    migrate(engine, service, LAST_RELEASE[service])
    with engine.begin() as connection:
        for name, row in by_table.items():
            table = Table(name, MetaData(), autoload_with=connection)
            values = {
                column.name: now() if column.type.python_type is datetime else column.type.python_type()
                for column in table.columns
                if not column.nullable and column.server_default is None
            }
            values |= {column: value for column, value in row.items() if column in table.columns}
            connection.execute(insert(table), values)
    engine.dispose()


def value(file: Path, column: str, table: str) -> object:
    """That of the only row."""
    with closing(sqlite3.connect(file)) as database:
        ((only,),) = database.execute(f"SELECT {column} FROM {table}")
    return only
