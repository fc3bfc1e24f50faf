"""`ingot doctor`: what is wrong, on the data folder."""

import sqlite3
from contextlib import closing

import httpx
import pytest

from .ingot_command import ingot


def test_the_doctor_finds_nothing_where_all_is_well(running):
    result = ingot("doctor", "--data", str(running.folder))

    assert (result.code, result.out.strip().splitlines()[-1]) == (0, "nothing is wrong")


def test_the_doctor_names_an_event_that_was_not_applied(running):
    with sqlite3.connect(running.folder / "hooks.db", timeout=30) as database:
        database.execute(
            "INSERT INTO inbox (consumer, event_id, received_at, error) "
            "VALUES ('hooks', 'e1', '2026-01-01 00:00:00.000000', 'it broke')"
        )
    try:
        result = ingot("doctor", "--data", str(running.folder))
    finally:
        with sqlite3.connect(running.folder / "hooks.db", timeout=30) as database:
            database.execute("DELETE FROM inbox WHERE event_id = 'e1'")

    assert result.code == 2
    assert "hooks: event e1 could not be applied: it broke" in result.out


def test_the_doctor_needs_a_data_folder(tmp_path):
    result = ingot("doctor", "--data", str(tmp_path / "nothing"))

    assert result.code == 2
    assert "has no data yet" in result.err


@pytest.fixture(scope="session")  # as long as the server: a worker may return to this module
def with_repository(running):
    """The same with one repository."""
    new = {"name": "doctored", "auto_init": True}
    auth = ("root", running.password)
    assert httpx.post(f"{running.url}api/v1/user/repos", json=new, auth=auth, timeout=60).status_code == 201
    return running


@pytest.fixture
def copied(with_repository, tmp_path):
    """A copy of its databases, to be changed."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in with_repository.folder.glob("*.db"):
        with (
            closing(sqlite3.connect(file, timeout=30)) as there,
            closing(sqlite3.connect(folder / file.name)) as here,
        ):
            there.backup(here)
    return folder


OLD_EVENT = (
    "INSERT INTO outbox (id, type, key, payload, created_at) "
    "VALUES ('e1', 'issues.issue.changed.v1', '7', '{}', '2026-01-01 00:00:00.000000')"
)
OLD_JOB = (
    "INSERT INTO job (kind, key, payload, state, run_at, attempts, fence, created_at) "
    "VALUES ('notify', '7', '{}', 'waiting', '2026-01-01 00:00:00.000000', 0, 0, '2026-01-01 "
    "00:00:00.000000')"
)
OLD_DELIVERY = (
    "INSERT INTO delivery (id, hook_id, repository_id, event_id, event, action, manual, endpoint, body, "
    "sequence, state, attempts, next_attempt_at, fence, status, response_headers, response_body, error, "
    "created_at) VALUES ('d1', 1, 1, 'e1', 'push', '', 0, 'https://example.org', '{}', 1, 'pending', "
    "0, '2026-01-01 00:00:00.000000', 0, 0, '{}', '', '', '2026-01-01 00:00:00.000000')"
)
DAMAGE = (
    "INSERT INTO upkeep (repository_id, packed_version, damage) "
    "SELECT id, 0, 'an object is corrupt' FROM repository WHERE true "
    "ON CONFLICT (repository_id) DO UPDATE SET damage = excluded.damage"
)


def change(folder, service, *statements):
    with closing(sqlite3.connect(folder / f"{service}.db", timeout=30)) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.mark.parametrize(
    ("service", "statements", "says"),
    [
        (
            "issues",
            [OLD_EVENT],
            "issues: 1 events wait for NATS for more than a minute",
        ),
        (
            "issues",
            [OLD_JOB],
            "issues: 1 jobs (notify) are due for more than 5 minutes, the first since 2026-01-01 00:00 UTC",
        ),
        (
            "hooks",
            [OLD_DELIVERY],
            "hooks: 1 deliveries are due for more than 5 minutes, the first since 2026-01-01 00:00 UTC",
        ),
        (
            "hooks",
            ["UPDATE alembic_version SET version_num = '0001'"],
            "is of an older release; start `ingot up`",
        ),
        (
            "repos",
            ["UPDATE alembic_version SET version_num = 'x'", "UPDATE oldest_code SET revision = 'x'"],
            "the database is at revision x, which this release does not know",
        ),
        (
            "repos",
            [DAMAGE],
            "is damaged: an object is corrupt",
        ),
    ],
    ids=["old events", "old jobs", "old deliveries", "older", "newer", "damaged"],
)
def test_the_doctor_names_what_is_wrong_with_a_database(copied, service, statements, says):
    change(copied, service, *statements)

    result = ingot("doctor", "--data", str(copied))

    assert result.code == 2
    assert says in result.out + result.err
