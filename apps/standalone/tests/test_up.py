"""`ingot up`: starting, stopping, and starting again after the worst."""

import signal
import stat
from collections.abc import Callable

import httpx
import pytest
from ingot_command import RunningIngot, ingot, wait_gone


def test_it_says_where_it_is_and_answers_there(running: RunningIngot) -> None:
    assert httpx.get(f"{running.url}readyz", timeout=20).status_code == 200


def test_it_tells_how_to_get_going(running: RunningIngot) -> None:
    running.wait_line("Ctrl-C")

    assert [line.split("  ")[1] for line in running.lines if line.startswith("  ")] == [
        "Add a user",
        "Make a repository",
        "Push to it",
    ]


def test_the_password_that_is_made_for_the_first_administrator_signs_in(running: RunningIngot) -> None:
    assert running.who_am_i("root", running.password) == 200


def test_the_first_administrator_can_be_given(start: Callable[..., RunningIngot]) -> None:
    running = start(INGOT_ADMIN_USERNAME="ann", INGOT_ADMIN_PASSWORD="what ann knows").wait_ready()

    assert running.who_am_i("ann", "what ann knows") == 200
    assert not any("what ann knows" in line for line in running.lines)


def test_a_password_is_made_only_once(start: Callable[..., RunningIngot]) -> None:
    first = start().wait_ready()
    password = first.password
    first.stop()

    second = start().wait_ready()

    assert not any(line.startswith("Administrator") for line in second.lines)
    assert second.who_am_i("root", password) == 200


def test_what_it_keeps_is_private(running: RunningIngot) -> None:
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (running.folder, *running.folder.rglob("*"))}

    assert not [path for path, mode in modes.items() if mode & 0o077]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_everything_it_started(
    start: Callable[..., RunningIngot], number: signal.Signals
) -> None:
    running = start().wait_ready()
    children = running.children()

    assert running.stop(number) == 0
    assert children
    wait_gone(children)


def test_it_can_be_stopped_before_it_is_ready(start: Callable[..., RunningIngot]) -> None:
    running = start()
    running.wait_line("Data folder")

    assert running.stop() == 0
    assert not any(line.startswith("Ingot is ready") for line in running.lines)


def test_nothing_is_lost_when_it_is_killed(start: Callable[..., RunningIngot]) -> None:
    first = start().wait_ready()
    password = first.password
    created = first.create_user(as_user="root", password=password, name="ann")
    first.kill()

    second = start().wait_ready()

    assert created == 201
    assert second.who_am_i("ann", "something") == 200


def test_a_nats_server_that_was_left_behind_is_replaced(start: Callable[..., RunningIngot]) -> None:
    first = start().wait_ready()
    children = first.children()
    first.kill()

    start().wait_ready()

    wait_gone(children)


def test_version_names_the_release() -> None:
    assert ingot("version").out.startswith("ingot 0.")
