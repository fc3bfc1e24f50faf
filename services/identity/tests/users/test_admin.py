"""Changes of users by administrators: edit, rename, delete."""

import asyncio

import pytest
from structlog.testing import capture_logs

from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.components import AccountComponents
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.users.rules import ensure_administrator

from ..templates import without_rows
from ..world import PASSWORD


async def edit(world, body, name="ann"):
    return await world.call("PATCH", f"/admin/users/{name}", body, as_="root")


async def delete(world, name="ann"):
    return await world.call("DELETE", f"/admin/users/{name}", as_="root")


async def test_an_edit_leaves_what_is_absent(world):
    await world.add_user("ann")
    await edit(world, {"full_name": "Ann A."})
    assert (await edit(world, {"location": "Here", "password": ""})).status_code == 200
    shown = (await world.call("GET", "/users/ann", as_="root")).json()
    assert (shown["full_name"], shown["email"]) == ("Ann A.", "ann@example.com")
    assert (await world.authenticate(name="ann", password=PASSWORD)).json()["user_id"] > 0
    assert (await world.call("GET", "/user/settings", as_="ann")).json()["location"] == "Here"
    assert (await world.emitted_types())[-1] == "identity.user.edited.v1"


async def test_a_new_primary_address_takes_the_place_of_the_old_one(world):
    await world.add_user("ann")
    assert (await edit(world, {"email": "Other@Example.com"})).json()["email"] == "other@example.com"
    listed = (await world.call("GET", "/user/emails", as_="ann")).json()
    assert [(e["email"], e["primary"]) for e in listed] == [("Other@Example.com", True)]
    await world.add_user("bob")
    assert (await edit(world, {"email": "ann@example.com"}, "bob")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"email": "nonsense"}, 422, "email"),
        ({"email": ""}, 422, "email"),
        ({"email": "BOB@example.com"}, 422, "email"),
        ({"password": "x" * 256}, 422, "password"),
        ({"password": "x" * 7}, 422, "password"),
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"website": "x" * 51}, 422, "website"),
        ({"location": "x" * 51}, 422, "location"),
        ({"location": "a\x00b"}, 422, "location"),
        ({"active": "perhaps"}, 422, "active"),
        ({"admin": 7}, 422, "admin"),
        ({"full_name": ["x"]}, 422, "full_name"),
    ],
)
async def test_a_bad_edit_names_the_field_and_changes_nothing(world, body, status, field):
    await world.add_user("ann")
    await world.add_user("bob")
    before = (await world.call("GET", "/users/ann", as_="root")).json()
    answer = await edit(world, {"description": "new"} | body)
    assert (answer.status_code, [e["field"] for e in answer.json()["errors"]]) == (status, [field])
    assert (await world.call("GET", "/users/ann", as_="root")).json() == before


@pytest.mark.parametrize(
    ("via", "name", "status"),
    [("session", "root", 403), ("session", "ann", 200), ("token", "root", 200), ("basic", "root", 200)],
)
async def test_a_session_sets_no_password_of_its_own_account(world, via, name, status):
    await world.add_user("ann")
    principal = Principal(id=1, name="root", admin=True, via=via)
    headers, new = {"ingot-principal": await world.principal_token(principal)}, PASSWORD + "!"

    async def edit_as_root(body):
        return await world.http.patch(f"/api/v1/admin/users/{name}", json=body, headers=headers)

    assert (await edit_as_root({"full_name": "New", "password": ""})).status_code == 200
    assert (await edit_as_root({"password": new})).status_code == status
    signed_in = (await world.authenticate(name=name, password=new)).json()["user_id"] > 0
    assert signed_in is (status == 200)


@pytest.mark.parametrize("change", [{"admin": False}, {"active": False}, {"prohibit_login": True}])
async def test_the_last_administrator_stays_one(world, change):
    assert (await edit(world, change, "root")).status_code == 422
    assert (await delete(world, "root")).status_code == 422


async def test_other_services_learn_who_administers_the_site(world):
    user_id = await world.add_user("ann")
    for admin in (False, True):
        await edit(world, {"admin": admin})
        assert (await world.get_as_peer(f"/internal/accounts/{user_id}")).json()["admin"] is admin


USUAL = {
    "login_name": "ann",
    "source_id": 0,
    "visibility": "public",
    "restricted": False,
    "must_change_password": True,
    "send_notify": True,
}
"""The fields that Terraform sends for every user."""


async def test_fields_that_clients_send_of_every_user_are_taken(world):
    body = USUAL | {"username": "ann", "email": "ann@example.com", "password": PASSWORD}
    created = await world.call(
        "POST", "/admin/users", body | {"created_at": "2011-02-03T04:05:06+01:00"}, as_="root"
    )
    assert created.json()["created"] == "2011-02-03T03:05:06Z"
    assert created.json()["login_name"] == "ann"
    more = {"allow_git_hook": True, "allow_import_local": True, "max_repo_creation": -1}
    assert (await edit(world, USUAL | more | {"allow_create_organization": True})).status_code == 200


async def test_an_address_may_be_of_a_host_without_a_domain(world):
    body = {"username": "ann", "email": "ann@localhost", "password": PASSWORD}
    created = await world.call("POST", "/admin/users", body, as_="root")
    assert (created.status_code, created.json()["email"]) == (201, "ann@localhost")
    body = {"username": "bob", "email": "bob@", "password": PASSWORD}
    assert (await world.call("POST", "/admin/users", body, as_="root")).status_code == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("visibility", "private"),
        ("visibility", "limited"),
        ("max_repo_creation", 5),
        ("created_at", "2999-01-01T00:00:00Z"),
        ("created_at", "0001-01-01T00:00:00+14:00"),
    ],
)
async def test_what_this_server_does_not_have_is_refused_by_its_field(world, field, value):
    await world.add_user("ann")
    answers = []
    if field != "created_at":
        answers.append(await edit(world, {"full_name": "New", field: value}))
    if field in ("visibility", "created_at"):
        body = {"username": "bob", "email": "bob@example.com", "password": PASSWORD, field: value}
        answers.append(await world.call("POST", "/admin/users", body, as_="root"))
    for answer in answers:
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await world.call("GET", "/users/bob")).status_code == 404
    assert (await world.call("GET", "/users/ann")).json()["full_name"] == ""


async def test_who_may_not_create_organizations_creates_none(world):
    await world.add_user("ann")
    await edit(world, {"allow_create_organization": False})
    answer = await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    assert answer.status_code == 403
    by_root = await world.call("POST", "/admin/users/ann/orgs", {"username": "acme"}, as_="root")
    assert by_root.status_code == 201
    await edit(world, {"allow_create_organization": True})
    assert (await world.call("POST", "/orgs", {"username": "apex"}, as_="ann")).status_code == 201


async def test_two_administrators_cannot_demote_each_other_at_once(world):
    await world.add_user("ann")
    await edit(world, {"admin": True})
    answers = await asyncio.gather(edit(world, {"admin": False}), edit(world, {"admin": False}, "root"))
    assert sorted(answer.status_code for answer in answers) == [200, 422]


async def test_a_rename_keeps_the_id(world):
    user_id = await world.add_user("ann")
    renamed = await world.call("POST", "/admin/users/ann/rename", {"new_username": "Anna"}, as_="root")
    assert renamed.status_code == 204
    assert (await world.call("GET", "/users/anna")).json()["id"] == user_id


async def test_a_rename_may_change_the_letter_case_alone(world):
    await world.add_user("ann")
    await world.call("POST", "/admin/users/ann/rename", {"new_username": "ANN"}, as_="root")
    assert (await world.call("GET", "/users/ann")).json()["login"] == "ANN"


@pytest.mark.parametrize(
    ("name", "code"),
    [("BOB", "taken"), ("", "required"), ("a b", "charset"), ("user", "reserved"), ("x" * 36, "length")],
)
async def test_a_bad_new_name_is_refused(world, name, code):
    await world.add_user("ann")
    await world.add_user("bob")
    answer = await world.call("POST", "/admin/users/ann/rename", {"new_username": name}, as_="root")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    assert answer.json()["errors"][0]["field"] == "new_username"


async def test_two_users_cannot_take_the_same_name_at_once(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    paths = [f"/admin/users/{name}/rename" for name in ("ann", "bob")]
    await world.call("GET", "/user", as_="root")
    answers = await asyncio.gather(
        *(world.call("POST", path, {"new_username": "cy"}, as_="root") for path in paths)
    )
    assert sorted(answer.status_code for answer in answers) == [204, 422]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_an_unknown_user_cannot_be_changed(world, method):
    await world.add_user("ann")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    for name in ("nobody", "acme"):
        assert (await world.call(method, f"/admin/users/{name}", {}, as_="root")).status_code == 404


async def test_the_log_names_both_who_acts_and_as_whom(world):
    user_id = await world.add_user("ann")
    acting = Principal(id=user_id, name="ann", via="basic", sudo_by="root")
    headers = {"ingot-principal": await world.principal_token(acting)}
    with capture_logs() as lines:
        await world.http.get("/api/v1/user", headers=headers)
    requests = [line for line in lines if line["event"] == "request"]  # the client of NATS logs as well
    assert [(line["user"], line["sudo_by"]) for line in requests] == [("ann", "root")]


@pytest.mark.parametrize("template", [without_rows])
async def test_replicas_that_start_together_make_one_first_administrator(make_world):
    async with make_world(admin_password="") as world:
        database, presenter = world.database, world.part(AccountComponents).presenter
        passwords = world.part(PasswordComponents).checks.passwords
        first = {"login": "root", "email": "root@example.org", "password": PASSWORD}
        created = await asyncio.gather(
            *(ensure_administrator(database, presenter, passwords, **first) for _ in range(4))
        )
    assert sorted(created) == [False, False, False, True]
