"""Attacks by a client of SCIM, or on one, each in one test. They reach no account of others."""

import asyncio
import json

import pytest
import structlog

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import account as account_table
from ingot_identity.scim.store.tables import scim_token
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.rules import stamp_of
from ingot_testing.hostile_values import VALUES, as_text

from ..applications import get_tokens, make_app
from ..matrix import ssh_key
from ..world import GATEWAY, PASSWORD, World
from .clients import CONFIG, make_client, make_other_client, user


@pytest.fixture
async def client(world):
    return await make_client(world, trust_email=True)


async def account(world: World, login):
    return (await world.call("GET", f"/users/{login}", as_="root")).json()


async def test_a_user_named_like_an_account_of_this_site_gets_another_account(world, client):
    bob = await world.add_user("bob")
    created = await client.user("bob", emails=[{"value": "b2@corp.example"}])
    assert created["profileUrl"].endswith("/bob-2")
    assert (await account(world, "bob"))["id"] == bob
    assert (await world.authenticate(name="bob", password=PASSWORD)).json()["user_id"] == bob


async def test_a_user_renamed_to_an_account_of_this_site_does_not_get_it(world, client):
    bob, cy = await world.add_user("bob"), await client.user("cy")
    rename = {"op": "replace", "path": "userName", "value": "bob"}
    answer = await client.patch(f"Users/{cy['id']}", rename)
    assert answer.json()["profileUrl"].endswith("/bob-2")
    assert (await account(world, "bob"))["id"] == bob


@pytest.mark.parametrize("name", ["root", "ROOT@corp.example", "admin", "api", "scim"])
async def test_names_of_administrators_and_of_this_site_are_not_given(world, client, name):
    created = await client.user("cy", userName=name)
    assert not created["profileUrl"].lower().endswith(f"/{name.partition('@')[0].lower()}")
    assert (await account(world, "root"))["id"] == 1


async def test_the_address_of_an_account_of_this_site_links_nothing(world, client):
    bob = await world.add_user("bob")
    address = [{"value": "BOB@example.com"}]
    answer = await client.add_user("cy", emails=address)
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    cy = await client.user("cy")
    answer = await client.call("PUT", f"Users/{cy['id']}", user("cy", emails=address))
    assert answer.status_code == 409
    assert ((await account(world, "bob"))["id"], (await account(world, "bob"))["source_id"]) == (bob, 0)
    assert (await account(world, "cy"))["email"] == "cy@corp.example"


async def test_the_name_of_another_user_of_the_source_is_refused(client):
    cy, _ = await client.user("cy"), await client.user("dan")
    answer = await client.add_user("eve", userName="CY@corp.example")
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    answer = await client.patch(
        f"Users/{cy['id']}", {"op": "replace", "path": "userName", "value": "Dan@corp.example"}
    )
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")


async def test_an_id_that_the_source_has_used_is_refused_and_none_can_be_changed(client):
    cy, _ = await client.user("cy"), await client.user("dan")
    answer = await client.add_user("eve", externalId="id-cy")
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    answer = await client.call("PUT", f"Users/{cy['id']}", user("cy", externalId="id-dan"))
    assert (answer.status_code, answer.json()["scimType"]) == (400, "mutability")


async def test_a_user_without_an_id_is_refused(client):
    answer = await client.add_user("cy", externalId=None)
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")


async def test_users_and_groups_of_another_source_do_not_exist(world, client):
    other = await make_client(world, "other")
    cy = await other.user("cy")
    paths = (f"Users/{cy['id']}", f"Groups/{(await other.group('developers', cy))['id']}")
    for path in paths:
        for method, body in (("GET", None), ("PUT", user("x", displayName="x")), ("DELETE", None)):
            assert (await client.call(method, path, body)).status_code == 404, (method, path)
        answer = await client.patch(path, {"op": "replace", "path": "displayName", "value": "x"})
        assert answer.status_code == 404
        assert (await other.call("GET", path)).status_code == 200
    for kind in ("Users", "Groups"):
        assert (await client.call("GET", kind)).json()["totalResults"] == 0
    dan = await client.user("dan")
    for members in ([cy], [dan, cy]):
        body = {"displayName": "x", "members": [{"value": one["id"]} for one in members]}
        answer = await client.call("POST", "Groups", body)
        assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert (await client.call("GET", "Groups")).json()["totalResults"] == 0


async def test_the_same_id_at_another_source_is_another_person(world, client):
    other = await make_client(world, "other")
    await client.user("cy")
    await other.user("cy", emails=[{"value": "c2@corp.example"}])
    assert (await account(world, "cy"))["source_id"] == client.source_id
    assert (await account(world, "cy-2"))["source_id"] == other.source_id


@pytest.mark.parametrize("is_linked", [True, False])
async def test_an_administrator_of_this_site_is_not_changed(world, client, is_linked):
    if is_linked:
        await world.add_user("boss")
        link = {"source_id": client.source_id, "login_name": "id-boss", "admin": True}
        assert (await world.call("PATCH", "/admin/users/boss", link, as_="root")).status_code == 200
        assert (await client.add_user("boss")).status_code == 403
    else:
        boss = await client.user("boss")
        await world.call("PATCH", "/admin/users/boss", {"admin": True}, as_="root")
        path = f"Users/{boss['id']}"
        off = {"op": "replace", "path": "active", "value": False}
        assert (await client.patch(path, off)).status_code == 403
        assert (await client.call("PUT", path, user("boss", displayName="x"))).status_code == 403
        assert (await client.call("DELETE", path)).status_code == 403
        assert (await client.call("GET", path)).json() == boss
    assert (await account(world, "boss"))["active"] is True
    assert (await account(world, "boss"))["is_admin"] is True


async def test_a_group_of_administrators_gives_no_power_over_those_of_this_site(world):
    client = await make_client(world, groups_from="scim", admin_groups=["admins"])
    boss, deputy = await client.user("boss"), await client.user("deputy")
    await world.call("PATCH", "/admin/users/boss", {"admin": True}, as_="root")
    group = await client.group("admins", boss, deputy)
    off = {"op": "replace", "path": "active", "value": False}
    statuses = [(await client.patch(f"Users/{one['id']}", off)).status_code for one in (boss, deputy)]
    assert statuses == [403, 200]
    await client.call("DELETE", f"Groups/{group['id']}")
    shown = [(await account(world, name))["is_admin"] for name in ("boss", "deputy")]
    assert shown == [True, False]


async def test_a_linked_account_of_this_site_keeps_its_name_and_address(world, client):
    bob = await world.add_user("bob")
    source_id = client.source_id
    other = await make_client(world, "other")
    link = {"source_id": source_id, "login_name": "id-bob"}
    assert (await world.call("PATCH", "/admin/users/bob", link, as_="root")).status_code == 200
    created = await client.user("bob", userName="robert@corp.example")
    assert created["profileUrl"].endswith("/robert")
    async with world.database.transaction() as tx:
        await tx.execute(account_table.update().values(source_id=0).where(account_table.c.id == bob))
    answer = await client.call("PUT", f"Users/{created['id']}", user("eve", externalId="id-bob"))
    assert answer.status_code == 200
    assert ((await account(world, "robert"))["id"], (await account(world, "robert"))["full_name"]) == (
        bob,
        "Bob",
    )
    assert (await other.call("GET", f"Users/{created['id']}")).status_code == 404


@pytest.mark.parametrize(
    "token", ["", "scim_", "scim_" + "0" * 64, "x" * 5000, "{own}x", "{upper}", "{other kind}"]
)
async def test_another_token_opens_nothing(world, client, token):
    await world.add_user("ann")
    created = await world.call("POST", "/users/ann/tokens", {"name": "t", "scopes": ["all"]}, as_="ann")
    values = {
        "{own}x": f"{client.token}x",
        "{upper}": client.token.upper(),
        "{other kind}": created.json()["sha1"],
    }
    answer = await client.call("GET", "Users", token=values.get(token, token))
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="SCIM"')
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


async def test_a_password_or_a_principal_opens_nothing(world, client):
    del client
    headers = await world.headers_of("root", "")
    assert (await world.http.get("/scim/v2/Users", headers=headers)).status_code == 401
    assert (await world.http.get("/scim/v2/Users", auth=("root", PASSWORD))).status_code == 401


async def test_a_token_is_no_credential_of_the_api(world, client):
    assert (await world.authenticate(token=client.token)).json()["user_id"] == 0
    assert (await world.authenticate(name="root", password=client.token)).json()["user_id"] == 0


async def test_a_deleted_token_ends_at_once_and_others_stay(world, client):
    other = await make_other_client(world, client.source_id)
    path = f"/admin/auths/{client.source_id}/scim_tokens"
    listed = (await world.call("GET", path, as_="root")).json()
    assert [one["token"] for one in listed] == ["", ""]
    foreign = await make_client(world, "other")
    wrong = f"/admin/auths/{foreign.source_id}/scim_tokens/{listed[1]['id']}"
    assert (await world.call("DELETE", wrong, as_="root")).status_code == 404
    assert (await world.call("DELETE", f"{path}/{listed[1]['id']}", as_="root")).status_code == 204
    assert (await client.call("GET", "Users")).status_code == 401
    assert (await other.call("GET", "Users")).status_code == 200


async def test_tokens_are_bounded_and_stored_as_hashes(world, client):
    path = f"/admin/auths/{client.source_id}/scim_tokens"
    answers = [await world.call("POST", path, {"name": "t"}, as_="root") for _ in range(10)]
    assert [one.status_code for one in answers] == [201] * 9 + [409]
    async with world.database.read() as db:
        rows = (await db.execute(scim_token.select())).mappings().all()
    assert client.token not in str(rows)


async def test_no_token_and_no_password_is_in_the_log_or_the_audit_log(world, client):
    secret = "a password that no log may have"
    with structlog.testing.capture_logs() as logs:
        await client.add_user("cy", password=secret)
        await client.call("GET", "Users", token="scim_" + "f" * 64)
        await client.call("POST", "Users", "{")
    entries = (
        await world.http.get("/internal/audit", headers=GATEWAY.headers(ANONYMOUS, peer="gateway"))
    ).text
    assert "scim_user.create" in entries
    for text in (json.dumps(logs, default=str), entries):
        for value in (client.token, "f" * 64, secret):
            assert value not in text


@pytest.mark.parametrize("leaves", ["deactivated", "deleted", "replaced"])
async def test_a_leaver_is_refused_at_each_door(world, client, leaves):
    cy = await client.user("cy")
    await world.call("PATCH", "/admin/users/cy", {"password": PASSWORD}, as_="root")
    token = await world.call("POST", "/users/cy/tokens", {"name": "t", "scopes": ["all"]}, as_="cy")
    key = await world.call("POST", "/user/keys", {"title": "k", "key": ssh_key(1)}, as_="cy")
    await world.add_user("ann")
    grant = await get_tokens(world, await make_app(world), "cy")
    async with world.database.transaction() as tx:
        row = await accounts.get_by_login(tx, "cy")
        session = await browser_sessions.start(tx, row.id, stamp_of(row.password_hash))

    async def is_open():
        fingerprint = key.json()["fingerprint"]
        ssh = await world.get_as_peer(f"/internal/ssh-keys?fingerprint={fingerprint.replace('+', '%2B')}")
        answers = [
            (await world.authenticate(name="cy", password=PASSWORD)),
            (await world.authenticate(token=token.json()["sha1"])),
            (await world.authenticate(token=grant["access_token"])),
            (await world.authenticate(session=session)),
            ssh,
        ]
        return [one.status_code < 300 and one.json().get("user_id", 1) != 0 for one in answers]

    assert await is_open() == [True] * 5
    before = len(await world.emitted(CredentialsRevoked))
    off = {"op": "replace", "path": "active", "value": False}
    match leaves:
        case "deactivated":
            answer = await client.patch(f"Users/{cy['id']}", off)
        case "replaced":
            answer = await client.call("PUT", f"Users/{cy['id']}", user("cy", active=False))
        case _:
            answer = await client.call("DELETE", f"Users/{cy['id']}")
    assert answer.is_success
    assert await is_open() == [False] * 5
    revoked = (await world.emitted(CredentialsRevoked))[before:]
    assert {event.user_id for event in revoked} == {row.id}


async def test_sessions_and_grants_do_not_come_back_with_the_account(world, client):
    cy = await client.user("cy")
    await world.call("PATCH", "/admin/users/cy", {"password": PASSWORD}, as_="root")
    await world.start_session("cy")
    await world.add_user("ann")
    grant = await get_tokens(world, await make_app(world), "cy")
    for value in (False, True):
        await client.patch(f"Users/{cy['id']}", {"op": "replace", "path": "active", "value": value})
    assert (await world.authenticate(name="cy", password=PASSWORD)).json()["user_id"]
    assert not (await world.authenticate(token=grant["access_token"])).json()["user_id"]
    assert (await world.call("GET", "/user/sessions", as_="cy")).json() == []


BODIES = [
    b"",
    b"[5]",
    b'"x"',
    b"5",
    b"null",
    b"{",
    b"\xff",
    b'{"a": 1e999}',
    b"[" * 100_000,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b'{"userName": "a\\u0000b", "externalId": "x"}',
    b'{"userName": "\\ud800", "externalId": "x"}',
    b'{"userName": 99999999999999999999999, "externalId": "x"}',
    json.dumps({"userName": "x" * 256, "externalId": "x"}).encode(),
    json.dumps({"userName": "\u0130" * 250, "externalId": "x"}).encode(),
    json.dumps({"userName": "\u202e", "externalId": "x"}).encode(),
    json.dumps({"userName": "...", "externalId": "x", "emails": [{"value": "a@b.c"}]}).encode(),
    json.dumps({"userName": "x", "externalId": "x", "emails": [{"value": "a@b.c"}] * 21}).encode(),
    json.dumps({"userName": "x", "externalId": "x", "emails": [{"value": ["a"]}]}).encode(),
    json.dumps({"userName": "x", "externalId": "x", "name": []}).encode(),
]


@pytest.mark.parametrize("number", range(len(BODIES)))
async def test_a_bad_body_is_refused_in_the_form_of_scim(world, client, number):
    headers = {"authorization": f"Bearer {client.token}", "content-type": "application/scim+json"}
    cy = await client.user("cy")
    group = await client.group("developers")
    for method, path in (
        ("POST", "Users"),
        ("PUT", f"Users/{cy['id']}"),
        ("PATCH", f"Users/{cy['id']}"),
        ("POST", "Groups"),
        ("PUT", f"Groups/{group['id']}"),
        ("PATCH", f"Groups/{group['id']}"),
    ):
        answer = await world.http.request(method, f"/scim/v2/{path}", content=BODIES[number], headers=headers)
        assert answer.status_code == 400, (path, answer.text)
        assert answer.json()["scimType"]
        assert answer.headers["content-type"] == "application/scim+json"


async def test_hostile_values_are_answered_and_never_by_a_failure(client):
    cy = await client.user("cy")
    fields = ("userName", "externalId", "displayName", "name", "emails", "active", "members", "op", "path")
    for value in VALUES:
        text = as_text(value)
        bodies = [{**user(f"n{VALUES.index(value)}"), field: text} for field in fields]
        bodies += [{**user("n"), "emails": [{"value": text, "type": text}]}]
        bodies += [{"Operations": [{"op": "replace", "path": text, "value": text}]}]
        bodies += [{"Operations": [{"op": "add", "path": "displayName", "value": text}]}]
        bodies += [{"Operations": [{"op": "remove", "path": f'members[value eq "{text}"]'}]}]
        for body in bodies:
            for method, path in (("POST", "Users"), ("PATCH", f"Users/{cy['id']}"), ("POST", "Groups")):
                answer = await client.call(method, path, body)
                assert answer.status_code < 500, (method, path, body, answer.text)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/scim"])
async def test_another_kind_of_body_is_refused(client, kind):
    answer = await client.call("POST", "Users", user("cy"), content_type=kind)
    assert (answer.status_code, answer.json()["status"]) == (415, "415")


async def test_a_member_list_has_a_bound_in_each_way_to_write_it(client):
    group = await client.group("developers")
    many = [{"value": str(number)} for number in range(1, 10_002)]
    for operation in (
        {"op": "add", "path": "members", "value": many},
        {"op": "replace", "path": "members", "value": many},
        {"op": "replace", "value": {"members": many}},
    ):
        answer = await client.patch(f"Groups/{group['id']}", operation)
        assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")


async def test_two_clients_make_one_user_of_one_person(world, client):
    other = await make_other_client(world, client.source_id)
    answers = await asyncio.gather(*(one.add_user("cy") for one in (client, other)))
    assert sorted(one.status_code for one in answers) == [201, 409]


async def test_a_source_with_a_user_keeps_the_claim_of_its_ids(world, client):
    await client.user("cy")
    config = {"config": {"subject_claim": "email"}}
    path = f"/admin/auths/{client.source_id}"
    assert (await world.call("PATCH", path, config, as_="root")).status_code == 409
    assert CONFIG["issuer"] == (await world.call("GET", path, as_="root")).json()["config"]["issuer"]
