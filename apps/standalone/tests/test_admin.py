"""`ingot admin`: users, on the data folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ingot_command import Ended, RunningIngot, ingot


@pytest.fixture
def admin(running: RunningIngot) -> Callable[..., Ended]:
    def command(*arguments: str, stdin: str = "") -> Ended:
        return ingot("admin", *arguments, "--data", str(running.folder), stdin=stdin)

    return command


def create(name: str, *options: str) -> tuple[str, ...]:
    return ("create-user", name, "--email", f"{name}@example.org", *options)


def test_a_user_made_beside_the_server_can_sign_in(
    running: RunningIngot, admin: Callable[..., Ended]
) -> None:
    made = admin(*create("ann"))

    assert made.code == 0
    assert running.who_am_i("ann", made.out.split()[-1]) == 200


def test_the_password_of_a_new_user_can_be_given(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    made = admin(*create("bob", "--password", "what bob knows"))

    assert "what bob knows" not in made.out
    assert running.who_am_i("bob", "what bob knows") == 200


def test_a_password_can_come_on_standard_input(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    admin(*create("cleo", "--password", "-"), stdin="what cleo knows\n")

    assert running.who_am_i("cleo", "what cleo knows") == 200


def test_only_an_administrator_made_so_is_one(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    admin(*create("dora", "--password", "what dora knows", "--admin"))
    admin(*create("emil", "--password", "what emil knows"))

    assert running.create_user(as_user="dora", password="what dora knows", name="made-by-dora") == 201
    assert running.create_user(as_user="emil", password="what emil knows", name="made-by-emil") == 403


def test_a_new_password_replaces_the_old_one(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    old = admin(*create("fritz")).out.split()[-1]
    assert running.who_am_i("fritz", old) == 200

    new = admin("reset-password", "fritz").out.split()[-1]

    assert running.who_am_i("fritz", new) == 200
    running.wait_status(401, "fritz", old)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (create("root"), "ingot: username 'root' is taken"),
        (("create-user", "gerd", "--email", "nowhere"), "ingot: email 'nowhere' is no e-mail address"),
        (create("gerd", "--password", ""), "ingot: password is required"),
        (("reset-password", "nobody"), "ingot: there is no user 'nobody'"),
    ],
)
def test_what_identity_refuses_is_one_line(
    admin: Callable[..., Ended], arguments: tuple[str, ...], told: str
) -> None:
    assert admin(*arguments).complaint == told


def test_a_folder_without_data_is_not_made(tmp_path: Path) -> None:
    told = ingot("admin", *create("ann"), "--data", str(tmp_path / "nothing")).complaint

    assert (
        told
        == f"ingot: {tmp_path / 'nothing'} has no data yet; start with: ingot up --data {tmp_path / 'nothing'}"
    )
    assert not (tmp_path / "nothing").exists()
