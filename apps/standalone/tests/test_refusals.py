"""What an operator can mend is one line on stderr and exit code 2."""

import site
import socket
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from ingot_command import RunningIngot, ingot

PYTHON_WITHOUT_NATS = """
import site, sys
for folder in {folders!r}:
    site.addsitedir(folder)
sys.path[:] = {path!r}
from ingot_standalone.__main__ import main
main()
"""


def test_a_data_folder_has_one_user_at_a_time(running: RunningIngot) -> None:
    told = ingot("up", "--port", "0", "--data", str(running.folder)).complaint

    assert told == f"ingot: {running.folder} is in use by another `ingot up`"


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = ingot("up", "--port", str(port), "--data", str(folder)).complaint

    assert told.startswith(f"ingot: cannot listen on 127.0.0.1:{port}")


@pytest.mark.parametrize("below", ["a-file/data", "a-file"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, below: str) -> None:
    (tmp_path / "a-file").touch()

    told = ingot("up", "--port", "0", "--data", str(tmp_path / below)).complaint

    assert told.startswith(f"ingot: cannot use {tmp_path / below} as data folder: ")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    told = ingot("up", "--port", "0", "--data", "/proc/sys").complaint

    assert told.startswith("ingot: cannot use /proc/sys as data folder: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INGOT_PORT", "http"),
        ("INGOT_PORT", "70000"),
        ("INGOT_PAGE_SIZE", "1000"),
        ("INGOT_DRAIN_SECONDS", "-1"),
    ],
)
def test_a_setting_that_cannot_be_read(folder: Path, name: str, value: str) -> None:
    told = ingot("up", "--data", str(folder), **{"INGOT_PORT": "0"} | {name: value}).complaint

    assert told.startswith(f"ingot: {name}={value!r}: ")


def test_a_name_that_the_first_administrator_may_not_have(folder: Path) -> None:
    told = ingot("up", "--port", "0", "--data", str(folder), INGOT_ADMIN_USERNAME="api").complaint

    assert told == "ingot: username 'api' is reserved"


def test_a_database_of_a_newer_release(start: Callable[..., RunningIngot], folder: Path) -> None:
    start().wait_ready().stop()
    with closing(sqlite3.connect(folder / "identity.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'from_the_future'")

    told = ingot("up", "--port", "0", "--data", str(folder)).complaint

    assert told.startswith(f"ingot: {folder / 'identity.db'}: the database is at revision from_the_future")


def test_a_database_that_is_none(start: Callable[..., RunningIngot], folder: Path) -> None:
    start().wait_ready().stop()
    (folder / "identity.db").write_bytes(b"something else entirely" * 100)
    for rest in folder.glob("identity.db-*"):
        rest.unlink()

    told = ingot("up", "--port", "0", "--data", str(folder)).complaint

    assert told.startswith(f"ingot: cannot open the database {folder / 'identity.db'}: ")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"service_keys": {"identity": "short"}}'])
def test_secrets_that_cannot_be_read(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / "secrets.json").write_text(content)

    told = ingot("up", "--port", "0", "--data", str(folder)).complaint

    assert told.startswith(f"ingot: cannot read {folder / 'secrets.json'}: ")


def test_secrets_that_are_lost_are_not_replaced(start: Callable[..., RunningIngot], folder: Path) -> None:
    start().wait_ready().stop()
    (folder / "secrets.json").unlink()

    told = ingot("up", "--port", "0", "--data", str(folder)).complaint

    assert told.startswith(f"ingot: {folder / 'secrets.json'} is missing")
    assert not (folder / "secrets.json").exists()


def test_no_nats_server_anywhere(tmp_path: Path, folder: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    python = programs / "python"
    python.symlink_to(Path(sys.executable).resolve())
    code = PYTHON_WITHOUT_NATS.format(folders=site.getsitepackages(), path=sys.path)

    told = ingot(
        "up", "--port", "0", "--data", str(folder), command=(str(python), "-c", code), PATH=str(programs)
    ).complaint

    assert told.startswith("ingot: nats-server is not installed: ")
