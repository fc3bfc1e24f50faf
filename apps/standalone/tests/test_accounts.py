"""`ingot admin`: users, on the data folder."""

import pytest

from .ingot_command import CommandResult, ingot


@pytest.fixture
def admin(running):
    def command(*arguments: str, stdin: str = "") -> CommandResult:
        return ingot("admin", *arguments, "--data", str(running.folder), stdin=stdin)

    return command


def create(name: str, *options: str) -> tuple[str, ...]:
    return ("create-user", name, "--email", f"{name}@example.org", *options)


def test_a_user_who_is_created_beside_the_server_can_sign_in(running, admin):
    result = admin(*create("amy"))

    assert result.code == 0
    assert running.sign_in_status("amy", result.out.split()[-1]) == 200


def test_the_password_of_a_new_user_can_be_an_option(running, admin):
    result = admin(*create("ben", "--password", "what ben knows"))

    assert "what ben knows" not in result.out
    assert running.sign_in_status("ben", "what ben knows") == 200


def test_a_password_can_come_on_standard_input(running, admin):
    admin(*create("cleo", "--password", "-"), stdin="what cleo knows\n")

    assert running.sign_in_status("cleo", "what cleo knows") == 200


def test_only_the_option_makes_an_administrator(running, admin):
    admin(*create("dora", "--password", "what dora knows", "--admin"))
    admin(*create("emil", "--password", "what emil knows"))

    assert running.create_user(as_user="dora", password="what dora knows", name="made-by-dora") == 201
    assert running.create_user(as_user="emil", password="what emil knows", name="made-by-emil") == 403


def test_a_new_password_replaces_the_old_one(running, admin):
    old = admin(*create("fritz")).out.split()[-1]
    assert running.sign_in_status("fritz", old) == 200

    new = admin("reset-password", "fritz").out.split()[-1]

    assert running.sign_in_status("fritz", new) == 200
    running.wait_status(401, "fritz", old)


def test_what_the_operator_does_is_in_the_audit_log(running, admin):
    created = admin(*create("hanna", "--password", "what hanna knows"))
    admin("reset-password", "hanna", "--password", "what hanna learned")

    assert (created.out, created.err) == ("User hanna is created.\n", "")
    noted = running.get_as_administrator("admin/audit?actor=(operator)")
    assert [
        (one["action"], one["subject"], one["via"]) for one in noted if one["subject"] == "user hanna"
    ] == [
        ("user.edit", "user hanna", "command"),
        ("user.create", "user hanna", "command"),
    ]
    assert (noted[-1]["action"], noted[-1]["subject"]) == ("user.create", "user root")
    assert noted[-1]["details"]["admin"] is True


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (create("root"), "ingot: username 'root' is taken"),
        (("create-user", "gerd", "--email", "nowhere"), "ingot: email 'nowhere' is no e-mail address"),
        (create("gerd", "--password", ""), "ingot: password is required"),
        (("reset-password", "nobody"), "ingot: there is no user 'nobody'"),
    ],
)
def test_an_error_of_identity_is_one_line(admin, arguments, error):
    assert admin(*arguments).error_line == error


def test_a_folder_without_data_is_not_created(tmp_path):
    error = ingot("admin", *create("ann"), "--data", str(tmp_path / "nothing")).error_line

    assert error == (
        f"ingot: {tmp_path / 'nothing'} has no data yet; start with: ingot up --data {tmp_path / 'nothing'}"
    )
    assert not (tmp_path / "nothing").exists()
