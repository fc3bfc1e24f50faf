"""`ingot doctor`: what is wrong, on the data folder."""

import sqlite3

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
