"""Sources of accounts: administration, and `source_id` and `login_name` of users."""

import pytest

from ingot_identity.sources.store import sources as store

from ..world import PASSWORD

ISSUER = "https://id.example.org"
CONFIG = {"kind": "oidc", "issuer": ISSUER, "client_id": "ingot"}


async def add_source(world, name="corp", *, config=(), **fields):
    body = {"name": name, "title": "Corporation", "config": CONFIG | dict(config), **fields}
    return await world.call("POST", "/admin/auths", body, as_="root")


async def add_member(world, source_id, login_name="person-1", name="ann"):
    body = {"username": name, "email": f"{name}@example.com"}
    body |= {"source_id": source_id, "login_name": login_name}
    return await world.call("POST", "/admin/users", body, as_="root")


async def test_a_source_is_made_shown_changed_and_deleted(world):
    created = (await add_source(world)).json()
    path = f"/admin/auths/{created['id']}"
    assert (created["kind"], created["config"]["issuer"], created["has_secret"]) == ("oidc", ISSUER, False)
    changed = await world.call("PATCH", path, {"title": "C", "config": {"client_id": "c2"}}, as_="root")
    assert (changed.json()["config"]["client_id"], changed.json()["config"]["issuer"]) == ("c2", ISSUER)
    assert (await world.call("GET", "/admin/auths", as_="root")).json() == [changed.json()]
    assert (await world.call("DELETE", path, as_="root")).status_code == 204
    assert (await world.call("GET", path, as_="root")).status_code == 404


async def test_a_secret_is_sealed_and_never_shown(world):
    created = await add_source(world, secret="the secret of the client")
    assert created.json()["has_secret"]
    assert "the secret of" not in created.text
    async with world.database.read() as db:
        row = await store.get(db, created.json()["id"])
    assert b"the secret of" not in row.sealed_secret


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"kind": "magic"}, "config.kind"),
        ({"issuer": "ftp://id.example.org"}, "config.issuer"),
        ({"issuer": "https://id.example.org/?a=b"}, "config.issuer"),
        ({"issuer": "https://user@id.example.org"}, "config.issuer"),
        ({"client_id": ""}, "config.client_id"),
        ({"client_id": 7}, "config.client_id"),
        ({"scopes": ["email"]}, "config.scopes"),
        ({"first_sign_in": "always"}, "config.first_sign_in"),
        ({"clock_skew": 86400}, "config.clock_skew"),
        ({"group_team_map": {"devs": {"acme": "devs"}}}, "config.group_team_map"),
        ({"required_values": ["a"]}, "config.required_claim"),
        ({"unknown": 1}, "config"),
    ],
)
async def test_a_bad_configuration_is_refused_with_its_field(world, config, field):
    answer = await add_source(world, config=config)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"].startswith(field)


async def test_a_name_is_taken_once_and_is_a_part_of_addresses(world):
    assert (await add_source(world)).status_code == 201
    assert (await add_source(world, "CORP")).json()["errors"][0]["code"] == "taken"
    for name in ("", "a/b", "..", "-a", "x" * 41):
        assert (await add_source(world, name)).json()["errors"][0]["field"] == "name"


async def test_a_user_of_a_source_needs_no_password(world):
    source_id = (await add_source(world)).json()["id"]
    created = (await add_member(world, source_id)).json()
    assert (created["source_id"], created["login_name"]) == (source_id, "person-1")
    for password in ("", PASSWORD):
        assert (await world.authenticate(name="ann", password=password)).json()["user_id"] == 0
    body = {"username": "bob", "email": "bob@example.com"}
    assert (await world.call("POST", "/admin/users", body, as_="root")).status_code == 422


async def test_users_are_listed_by_their_source(world):
    source_id = (await add_source(world)).json()["id"]
    await add_member(world, source_id)
    listed = await world.call("GET", f"/admin/users?source_id={source_id}", as_="root")
    assert [user["login"] for user in listed.json()] == ["ann"]
    assert (await world.call("GET", "/admin/users?source_id=77", as_="root")).json() == []


async def test_an_id_of_a_source_belongs_to_one_user(world):
    source_id = (await add_source(world)).json()["id"]
    await add_member(world, source_id)
    answer = await add_member(world, source_id, name="bob")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "login_name")


async def test_a_user_moves_to_a_source_and_back(world):
    source_id = (await add_source(world)).json()["id"]
    await world.add_user("bob")
    moved = await world.call(
        "PATCH", "/admin/users/bob", {"source_id": source_id, "login_name": "person-2"}, as_="root"
    )
    assert (moved.json()["source_id"], moved.json()["login_name"]) == (source_id, "person-2")
    back = await world.call("PATCH", "/admin/users/bob", {"source_id": 0}, as_="root")
    assert (back.json()["source_id"], back.json()["login_name"]) == (0, "")
    assert (await add_member(world, source_id, "person-2")).status_code == 201


@pytest.mark.parametrize(
    ("source_id", "login_name", "field"), [(99, "x", "source_id"), (1, "", "login_name")]
)
async def test_a_user_needs_a_known_source_and_an_id(world, source_id, login_name, field):
    await add_source(world)
    answer = await add_member(world, source_id, login_name)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_a_source_with_users_keeps_its_issuer_and_is_not_deleted(world):
    source_id = (await add_source(world)).json()["id"]
    await add_member(world, source_id)
    path = f"/admin/auths/{source_id}"
    other = {"config": {"issuer": "https://other.example.org"}}
    assert (await world.call("PATCH", path, other, as_="root")).status_code == 409
    assert (await world.call("DELETE", path, as_="root")).status_code == 409
    assert (await world.call("PATCH", path, {"enabled": False}, as_="root")).status_code == 200
    assert (await world.call("DELETE", "/admin/users/ann", as_="root")).status_code == 204
    assert (await world.call("DELETE", path, as_="root")).status_code == 204
