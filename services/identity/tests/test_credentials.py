"""Who a credential belongs to, and for how long."""

from datetime import timedelta

import jwt
import pytest
from sqlalchemy import update

from ingot_chassis.tables import now
from ingot_identity.store.tables import access_token

SECRET = "correct horse"


def principal(answer):
    return jwt.decode(answer.json()["statement"], options={"verify_signature": False})["principal"]


async def make_token(identity, **body):
    answer = await identity.call("POST", "/users/ann/tokens", {"name": "t"} | body, as_="ann")
    assert answer.status_code == 201
    return answer.json()


async def test_a_token_works_until_it_expires(identity):
    await identity.add_user("ann")
    made = await make_token(identity, expires_at="2999-01-01T02:00:00+02:00")
    assert made["expires_at"] == "2999-01-01T00:00:00Z"
    assert (await identity.authenticate(token=made["sha1"])).json()["user_id"] > 0
    async with identity.app.state.database.transaction() as tx:
        await tx.execute(update(access_token).values(expires_at=now() - timedelta(seconds=1)))
    assert (await identity.authenticate(token=made["sha1"])).json()["user_id"] == 0


@pytest.mark.parametrize(
    ("moment", "status"),
    [
        ("2001-01-01T00:00:00Z", 422),
        ("2999-01-01T00:00:00", 422),
        ("9999-12-31T23:00:00-02:00", 422),
        ("soon", 422),
        (["x"], 400),
    ],
)
async def test_a_token_expires_at_a_moment_to_come(identity, moment, status):
    await identity.add_user("ann")
    answer = await identity.call("POST", "/users/ann/tokens", {"name": "t", "expires_at": moment}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "expires_at")


async def test_a_password_is_swapped_for_a_principal_of_a_minute(identity):
    await identity.add_user("ann")
    answer = await identity.authenticate(name="Ann", password=SECRET)
    assert principal(answer)["name"] == "ann"
    assert principal(answer)["via"] == "basic"
    claims = jwt.decode(answer.json()["statement"], options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 60


async def test_the_primary_address_signs_in_too(identity):
    await identity.add_user("ann")
    assert (await identity.authenticate(name="ANN@example.com", password=SECRET)).json()["user_id"] > 0


@pytest.mark.parametrize(
    "credential",
    [
        {"name": "ann", "password": "wrong"},
        {"name": "nobody", "password": SECRET},
        {"name": "ann", "password": ""},
        {"name": "acme", "password": ""},
        {"name": "ann", "password": "x" * 100_000},
        {"token": "0" * 40},
        {"token": "' OR 1=1 --"},
        {},
    ],
)
async def test_a_wrong_credential_is_nobodys(identity, credential):
    await identity.add_user("ann")
    await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    answer = await identity.authenticate(**credential)
    assert (answer.status_code, answer.json()) == (200, {"statement": "", "user_id": 0})


@pytest.mark.parametrize("place", ["token", "password", "name"])
async def test_a_token_works_as_token_as_password_and_as_name(identity, place):
    await identity.add_user("ann")
    secret = (await make_token(identity))["sha1"]
    credential = {
        "token": {"token": secret},
        "password": {"name": "ann", "password": secret},
        "name": {"name": secret, "password": "x"},
    }
    found = principal(await identity.authenticate(**credential[place]))
    assert (found["name"], found["via"]) == ("ann", "token")


async def test_a_token_reaches_no_further_than_its_scopes(identity):
    await identity.add_user("ann")
    secret = (await make_token(identity, scopes=["read:organization"]))["sha1"]
    assert (await identity.call("GET", "/user/orgs", token=secret)).status_code == 200
    assert (await identity.call("GET", "/user", token=secret)).status_code == 403
    assert (await identity.call("POST", "/orgs", {"username": "x"}, token=secret)).status_code == 403


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_tokens_are_handed_out_for_a_password_only(identity, method):
    await identity.add_user("ann")
    secret = (await make_token(identity))["sha1"]
    assert (await identity.call(method, "/users/ann/tokens", {"name": "x"}, token=secret)).status_code == 401


async def test_a_list_of_tokens_never_shows_the_secret(identity):
    await identity.add_user("ann")
    made = await make_token(identity)
    listed = await identity.call("GET", "/users/ann/tokens", as_="ann")
    assert made["sha1"] not in listed.text
    assert listed.json()[0]["token_last_eight"] == made["sha1"][-8:]


async def test_nobody_lists_or_deletes_the_tokens_of_another(identity):
    await identity.add_user("ann")
    await identity.add_user("bob")
    made = await make_token(identity)
    assert (await identity.call("GET", "/users/ann/tokens", as_="bob")).status_code == 404
    assert (await identity.call("DELETE", f"/users/bob/tokens/{made['id']}", as_="bob")).status_code == 404
    assert (await identity.authenticate(token=made["sha1"])).json()["user_id"] > 0


async def test_a_deleted_token_is_nobodys_and_everybody_hears_of_it(identity):
    await identity.add_user("ann")
    made = await make_token(identity)
    assert (await identity.call("DELETE", f"/users/ann/tokens/{made['id']}", as_="ann")).status_code == 204
    assert (await identity.authenticate(token=made["sha1"])).json()["user_id"] == 0
    assert (await identity.events())[-1] == "identity.credentials.revoked.v1"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"scopes": ["own:everything"]}, "scopes"),
        ({"scopes": ["read:user"] * 101}, "scopes"),
    ],
)
async def test_a_bad_token_request_names_the_field(identity, body, field):
    await identity.add_user("ann")
    answer = await identity.call("POST", "/users/ann/tokens", {"name": "t"} | body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_a_name_in_the_query_is_no_longer_than_one_in_the_body(identity):
    await identity.add_user("ann")
    answer = await identity.call("POST", f"/users/ann/tokens?name={'x' * 256}", {}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "name")
    answer = await identity.call("POST", f"/users/ann/tokens?name={'x' * 255}", {}, as_="ann")
    assert (answer.status_code, answer.json()["name"]) == (201, "x" * 255)


async def test_a_scope_that_is_named_twice_is_kept_once(identity):
    await identity.add_user("ann")
    made = await make_token(identity, scopes=["read:user", "read:issue", "read:user"])
    listed = (await identity.call("GET", "/users/ann/tokens", as_="ann")).json()
    assert made["scopes"] == listed[0]["scopes"] == ["read:user", "read:issue"]


@pytest.mark.parametrize("state", [{"prohibit_login": True}, {"active": False}])
async def test_an_account_that_may_not_sign_in_is_told_so(identity, state):
    await identity.add_user("ann")
    assert (await identity.call("PATCH", "/admin/users/ann", state, as_="root")).status_code == 200
    assert (await identity.authenticate(name="ann", password=SECRET)).status_code == 403
    assert (await identity.events())[-1] == "identity.credentials.revoked.v1"


@pytest.mark.parametrize(
    ("method", "path", "body", "as_", "status", "user_id"),
    [
        ("DELETE", "/users/ann/tokens/{token}", None, "ann", 200, 0),
        ("PATCH", "/admin/users/ann", {"prohibit_login": True}, "root", 403, None),
        ("PATCH", "/admin/users/ann", {"active": False}, "root", 403, None),
        ("DELETE", "/orgs/acme/members/ann", None, "bob", 200, 2),
    ],
)
async def test_what_is_taken_away_is_gone_from_the_next_answer_though_nats_is_down(
    identity, method, path, body, as_, status, user_id
):
    await identity.add_user("ann")
    await identity.add_user("bob")
    org = (await identity.call("POST", "/orgs", {"username": "acme"}, as_="bob")).json()["id"]
    team = (await identity.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="bob")).json()["id"]
    await identity.call("PUT", f"/teams/{team}/members/ann", as_="bob")
    made = await make_token(identity)
    assert str(org) in principal(await identity.authenticate(token=made["sha1"]))["organizations"]
    taken = await identity.call(method, path.format(token=made["id"]), body, as_=as_)
    assert taken.is_success
    answer = await identity.authenticate(token=made["sha1"])
    assert (answer.status_code, answer.json().get("user_id")) == (status, user_id)
    if user_id:
        assert "organizations" not in principal(answer)


async def test_a_new_password_replaces_the_old_one(identity):
    user_id = await identity.add_user("ann")
    await identity.call("PATCH", "/admin/users/ann", {"password": "new one"}, as_="root")
    assert (await identity.authenticate(name="ann", password=SECRET)).json()["user_id"] == 0
    assert (await identity.authenticate(name="ann", password="new one")).json()["user_id"] == user_id


async def test_an_administrator_acts_as_somebody_and_nobody_else_does(identity):
    await identity.add_user("ann")
    acting = principal(await identity.authenticate(name="root", password=SECRET, sudo="ann"))
    assert (acting["name"], acting["sudo_by"]) == ("ann", "root")
    assert "admin" not in acting
    assert (await identity.authenticate(name="ann", password=SECRET, sudo="root")).status_code == 403
    assert (await identity.authenticate(name="root", password=SECRET, sudo="nobody")).status_code == 404


@pytest.mark.parametrize(
    ("scopes", "administers", "acts"),
    [
        ([], True, True),
        (["all"], True, True),
        (["write:admin"], True, False),
        (["read:admin"], False, False),
        (["write:repository", "sudo"], False, True),
        (["write:repository"], False, False),
    ],
)
async def test_a_token_administers_and_acts_as_others_only_with_the_scopes_for_it(
    identity, scopes, administers, acts
):
    await identity.add_user("ann")
    made = await identity.call("POST", "/users/root/tokens", {"name": "t", "scopes": scopes}, as_="root")
    token = made.json()["sha1"]
    assert principal(await identity.authenticate(token=token)).get("admin", False) is administers
    acting = await identity.authenticate(token=token, sudo="ann")
    assert acting.status_code == (200 if acts else 403)
    if acts:
        assert (principal(acting)["name"], principal(acting)["sudo_by"]) == ("ann", "root")
    if acts and scopes:
        assert principal(acting).get("scopes", ["all"]) == scopes


async def test_only_the_gateway_may_swap_credentials(identity):
    assert (await identity.http.post("/internal/authenticate", json={})).status_code == 404


async def test_keys_rotate_and_the_old_one_stays_published(identity):
    keys = identity.app.state.signing_keys
    first = (await keys.current()).kid
    keys._age *= 0
    await keys.rotate()
    published = [key["kid"] for key in (await identity.http.get("/internal/jwks")).json()["keys"]]
    assert (await keys.current()).kid != first
    assert first in published


async def test_the_private_half_of_a_key_is_not_in_the_database_in_clear(identity):
    key = await identity.app.state.signing_keys.current()
    table = identity.app.state.database.metadata.tables["signing_key"]
    async with identity.app.state.database.read() as db:
        sealed = (await db.execute(table.select())).one().sealed
    assert key.text().encode() not in sealed
