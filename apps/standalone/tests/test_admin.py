"""`ingot admin`: users, on the data folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ingot_command import Ended, RunningIngot, ingot

CREATE_ANN = ("admin", "create-user", "ann", "--email", "ann@example.org")


@pytest.fixture
def admin(running: RunningIngot, folder: Path) -> Callable[..., Ended]:
    def command(*arguments: str, stdin: str = "") -> Ended:
        return ingot(*arguments, "--data", str(folder), stdin=stdin)

    return command


def test_a_user_made_beside_the_server_can_sign_in(
    running: RunningIngot, admin: Callable[..., Ended]
) -> None:
    made = admin(*CREATE_ANN)

    assert made.code == 0
    assert running.who_am_i("ann", made.out.split()[-1]) == 200


def test_the_password_of_a_new_user_can_be_given(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    made = admin(*CREATE_ANN, "--password", "what ann knows")

    assert "what ann knows" not in made.out
    assert running.who_am_i("ann", "what ann knows") == 200


def test_a_password_can_come_on_standard_input(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    admin(*CREATE_ANN, "--password", "-", stdin="what ann knows\n")

    assert running.who_am_i("ann", "what ann knows") == 200


def test_only_an_administrator_made_so_is_one(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    admin(*CREATE_ANN, "--password", "what ann knows", "--admin")
    admin("admin", "create-user", "bob", "--email", "bob@example.org", "--password", "what bob knows")

    statuses = [
        running.create_user(as_user=name, password=password, name=f"made-by-{name}")
        for name, password in (("ann", "what ann knows"), ("bob", "what bob knows"))
    ]

    assert statuses == [201, 403]


def test_a_new_password_replaces_the_old_one(running: RunningIngot, admin: Callable[..., Ended]) -> None:
    old = running.password

    new = admin("admin", "reset-password", "root").out.split()[-1]

    assert running.who_am_i("root", new) == 200
    running.wait_status(401, "root", old)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("admin", "create-user", "root", "--email", "r@example.org"), "ingot: username 'root' is taken"),
        (
            ("admin", "create-user", "ann", "--email", "nowhere"),
            "ingot: email 'nowhere' is no e-mail address",
        ),
        ((*CREATE_ANN, "--password", ""), "ingot: password is required"),
        (("admin", "reset-password", "nobody"), "ingot: there is no user 'nobody'"),
    ],
)
def test_what_identity_refuses_is_one_line(
    admin: Callable[..., Ended], arguments: tuple[str, ...], told: str
) -> None:
    assert admin(*arguments).complaint == told


def test_a_folder_without_data_is_not_made(tmp_path: Path) -> None:
    told = ingot(*CREATE_ANN, "--data", str(tmp_path / "nothing")).complaint

    assert (
        told
        == f"ingot: {tmp_path / 'nothing'} has no data yet; start with: ingot up --data {tmp_path / 'nothing'}"
    )
    assert not (tmp_path / "nothing").exists()
