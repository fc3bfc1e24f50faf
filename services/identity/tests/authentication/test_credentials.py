"""The account of a credential, and the time for which it is valid."""

from datetime import timedelta

import jwt
import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_identity.tokens.store import access_token

from ..applications import get_tokens, make_app
from ..two_factors.test_two_factors import enrol

PASSWORD = "correct horse"


def principal(answer):
    return jwt.decode(answer.json()["statement"], options={"verify_signature": False})["principal"]


async def make_token(world, **body):
    answer = await world.call("POST", "/users/ann/tokens", {"name": "t"} | body, as_="ann")
    assert answer.status_code == 201
    return answer.json()


async def test_a_token_works_until_it_expires(world):
    await world.add_user("ann")
    token = await make_token(world, expires_at="2999-01-01T02:00:00+02:00")
    assert token["expires_at"] == "2999-01-01T00:00:00Z"
    assert (await world.authenticate(token=token["sha1"])).json()["user_id"] > 0
    async with world.database.transaction() as tx:
        await tx.execute(update(access_token).values(expires_at=now() - timedelta(seconds=1)))
    assert (await world.authenticate(token=token["sha1"])).json()["user_id"] == 0


@pytest.mark.parametrize(
    ("moment", "status"),
    [
        ("2001-01-01T00:00:00Z", 422),
        ("2999-01-01T00:00:00", 422),
        ("9999-12-31T23:00:00-02:00", 422),
        ("soon", 422),
        (["x"], 422),
    ],
)
async def test_a_token_expires_in_the_future(world, moment, status):
    await world.add_user("ann")
    answer = await world.call("POST", "/users/ann/tokens", {"name": "t", "expires_at": moment}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "expires_at")


async def test_a_password_is_exchanged_for_a_principal_of_a_minute(world):
    await world.add_user("ann")
    answer = await world.authenticate(name="Ann", password=PASSWORD)
    assert principal(answer)["name"] == "ann"
    assert principal(answer)["via"] == "basic"
    claims = jwt.decode(answer.json()["statement"], options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 60


async def test_the_primary_address_signs_in_too(world):
    await world.add_user("ann")
    assert (await world.authenticate(name="ANN@example.com", password=PASSWORD)).json()["user_id"] > 0


@pytest.mark.parametrize(
    "credential",
    [
        {"name": "ann", "password": "wrong"},
        {"name": "nobody", "password": PASSWORD},
        {"name": "ann", "password": ""},
        {"name": "acme", "password": ""},
        {"name": "ann", "password": "x" * 100_000},
        {"token": "0" * 40},
        {"token": "' OR 1=1 --"},
        {},
    ],
)
async def test_a_wrong_credential_is_nobodys(world, credential):
    await world.add_user("ann")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    answer = await world.authenticate(**credential)
    assert (answer.status_code, answer.json()) == (200, {"statement": "", "user_id": 0})


@pytest.mark.parametrize("place", ["token", "password", "name"])
async def test_a_token_works_as_token_as_password_and_as_name(world, place):
    await world.add_user("ann")
    secret = (await make_token(world))["sha1"]
    credential = {
        "token": {"token": secret},
        "password": {"name": "ann", "password": secret},
        "name": {"name": secret, "password": "x"},
    }
    result = principal(await world.authenticate(**credential[place]))
    assert (result["name"], result["via"]) == ("ann", "token")


async def test_a_token_reaches_no_further_than_its_scopes(world):
    await world.add_user("ann")
    secret = (await make_token(world, scopes=["read:organization"]))["sha1"]
    assert (await world.call("GET", "/user/orgs", token=secret)).status_code == 200
    assert (await world.call("GET", "/user", token=secret)).status_code == 403
    assert (await world.call("POST", "/orgs", {"username": "x"}, token=secret)).status_code == 403


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_tokens_are_handed_out_for_a_password_only(world, method):
    await world.add_user("ann")
    secret = (await make_token(world))["sha1"]
    assert (await world.call(method, "/users/ann/tokens", {"name": "x"}, token=secret)).status_code == 401


async def test_a_list_of_tokens_never_shows_the_secret(world):
    await world.add_user("ann")
    token = await make_token(world)
    listed = await world.call("GET", "/users/ann/tokens", as_="ann")
    assert token["sha1"] not in listed.text
    assert listed.json()[0]["token_last_eight"] == token["sha1"][-8:]


async def test_nobody_lists_or_deletes_the_tokens_of_another(world):
    await world.add_user("ann")
    await world.add_user("bob")
    token = await make_token(world)
    assert (await world.call("GET", "/users/ann/tokens", as_="bob")).status_code == 404
    assert (await world.call("DELETE", f"/users/bob/tokens/{token['id']}", as_="bob")).status_code == 404
    assert (await world.authenticate(token=token["sha1"])).json()["user_id"] > 0


async def test_a_deleted_token_is_refused_and_revoked_everywhere(world):
    await world.add_user("ann")
    token = await make_token(world)
    assert (await world.call("DELETE", f"/users/ann/tokens/{token['id']}", as_="ann")).status_code == 204
    assert (await world.authenticate(token=token["sha1"])).json()["user_id"] == 0
    assert (await world.emitted_types())[-1] == "identity.credentials.revoked.v1"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"scopes": ["own:everything"]}, "scopes"),
        ({"scopes": ["read:user"] * 101}, "scopes"),
    ],
)
async def test_a_bad_token_request_names_the_field(world, body, field):
    await world.add_user("ann")
    answer = await world.call("POST", "/users/ann/tokens", {"name": "t"} | body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_a_name_in_the_query_is_no_longer_than_one_in_the_body(world):
    await world.add_user("ann")
    answer = await world.call("POST", f"/users/ann/tokens?name={'x' * 256}", {}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "name")
    answer = await world.call("POST", f"/users/ann/tokens?name={'x' * 255}", {}, as_="ann")
    assert (answer.status_code, answer.json()["name"]) == (201, "x" * 255)


async def test_a_scope_that_is_named_twice_is_stored_once(world):
    await world.add_user("ann")
    token = await make_token(world, scopes=["read:user", "read:issue", "read:user"])
    listed = (await world.call("GET", "/users/ann/tokens", as_="ann")).json()
    assert token["scopes"] == listed[0]["scopes"] == ["read:user", "read:issue"]


@pytest.mark.parametrize("state", [{"prohibit_login": True}, {"active": False}])
async def test_an_account_that_may_not_sign_in_gets_403(world, state):
    await world.add_user("ann")
    assert (await world.call("PATCH", "/admin/users/ann", state, as_="root")).status_code == 200
    assert (await world.authenticate(name="ann", password=PASSWORD)).status_code == 403
    assert (await world.emitted_types())[-1] == "identity.credentials.revoked.v1"


@pytest.mark.parametrize(
    ("method", "path", "body", "as_", "status", "user_id"),
    [
        ("DELETE", "/users/ann/tokens/{token}", None, "ann", 200, 0),
        ("PATCH", "/admin/users/ann", {"prohibit_login": True}, "root", 403, None),
        ("PATCH", "/admin/users/ann", {"active": False}, "root", 403, None),
        ("DELETE", "/orgs/acme/members/ann", None, "bob", 200, 2),
    ],
)
async def test_a_revoked_right_is_missing_from_the_next_principal_though_nats_is_down(
    world, method, path, body, as_, status, user_id
):
    await world.add_user("ann")
    await world.add_user("bob")
    org = (await world.call("POST", "/orgs", {"username": "acme"}, as_="bob")).json()["id"]
    team = (await world.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="bob")).json()["id"]
    await world.call("PUT", f"/teams/{team}/members/ann", as_="bob")
    token = await make_token(world)
    assert str(org) in principal(await world.authenticate(token=token["sha1"]))["organizations"]
    taken = await world.call(method, path.format(token=token["id"]), body, as_=as_)
    assert taken.is_success
    answer = await world.authenticate(token=token["sha1"])
    assert (answer.status_code, answer.json().get("user_id")) == (status, user_id)
    if user_id:
        assert "organizations" not in principal(answer)


async def test_a_new_password_replaces_the_old_one(world):
    user_id = await world.add_user("ann")
    await world.call("PATCH", "/admin/users/ann", {"password": "another one"}, as_="root")
    assert (await world.authenticate(name="ann", password=PASSWORD)).json()["user_id"] == 0
    assert (await world.authenticate(name="ann", password="another one")).json()["user_id"] == user_id


async def test_an_administrator_acts_as_somebody_and_nobody_else_does(world):
    await world.add_user("ann")
    acting = principal(await world.authenticate(name="root", password=PASSWORD, sudo="ann"))
    assert (acting["name"], acting["sudo_by"]) == ("ann", "root")
    assert "admin" not in acting
    assert (await world.authenticate(name="ann", password=PASSWORD, sudo="root")).status_code == 403
    assert (await world.authenticate(name="root", password=PASSWORD, sudo="nobody")).status_code == 404


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
    world, scopes, administers, acts
):
    await world.add_user("ann")
    answer = await world.call("POST", "/users/root/tokens", {"name": "t", "scopes": scopes}, as_="root")
    token = answer.json()["sha1"]
    assert principal(await world.authenticate(token=token)).get("admin", False) is administers
    acting = await world.authenticate(token=token, sudo="ann")
    assert acting.status_code == (200 if acts else 403)
    if acts:
        assert (principal(acting)["name"], principal(acting)["sudo_by"]) == ("ann", "root")
    if acts and scopes:
        assert principal(acting).get("scopes", ["all"]) == scopes


async def test_only_the_gateway_exchanges_credentials(world):
    assert (await world.http.post("/internal/authenticate", json={})).status_code == 404


async def renewed(world, old):
    """Return status and body for a renewed principal, as repos gets them."""
    body = {"id": old["id"], "credential": old["credential"]}
    answer = await world.post_as_peer("/internal/principals", body)
    return answer.status_code, answer.json()


async def test_a_principal_is_renewed_with_what_its_token_may_do_now(world):
    await world.add_user("ann")
    token = await make_token(world, scopes=["write:repository"])
    old = principal(await world.authenticate(token=token["sha1"]))
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    status, new = await renewed(world, old)
    assert (status, list(new.pop("organizations"))) == (200, [str(old["id"] + 1)])
    assert new == old
    await world.call("DELETE", f"/users/ann/tokens/{token['id']}", as_="ann")
    assert (await renewed(world, old))[0] == 404


async def test_a_principal_of_a_password_ends_with_the_password(world):
    await world.add_user("ann")
    old = principal(await world.authenticate(name="ann", password=PASSWORD))
    assert await renewed(world, old) == (200, old)
    change = {"password": "another horse", "login_name": "ann", "source_id": 0}
    assert (await world.call("PATCH", "/admin/users/ann", change, as_="root")).status_code == 200
    assert (await renewed(world, old))[0] == 404


async def test_a_principal_of_a_password_alone_ends_when_a_second_factor_is_turned_on(world):
    await world.add_user("ann")
    old = principal(await world.authenticate(name="ann", password=PASSWORD))
    _, codes = await enrol(world)
    assert (await renewed(world, old))[0] == 404
    assert "identity.credentials.revoked.v1" in await world.emitted_types()
    new = principal(await world.authenticate(name="ann", password=PASSWORD, code=codes[0]))
    assert await renewed(world, new) == (200, new)
    assert (await world.call("DELETE", "/admin/users/ann/two_factor", as_="root")).status_code == 204
    assert (await renewed(world, new))[0] == 404


async def test_a_principal_of_a_password_ends_where_a_second_factor_is_required(make_world):
    async with make_world() as world:
        await world.add_user("ann")
        old = principal(await world.authenticate(name="ann", password=PASSWORD))
    async with make_world(second_factor_required="everybody") as world:
        assert (await renewed(world, old))[0] == 404


async def test_no_principal_is_renewed_of_who_may_not_sign_in(world):
    await world.add_user("ann")
    token = await make_token(world)
    old = principal(await world.authenticate(token=token["sha1"]))
    change = {"prohibit_login": True, "login_name": "ann", "source_id": 0}
    assert (await world.call("PATCH", "/admin/users/ann", change, as_="root")).status_code == 200
    assert (await renewed(world, old))[0] == 403


async def test_a_principal_of_an_application_ends_with_what_was_granted(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    tokens = await get_tokens(world, await make_app(world))
    old = principal(await world.authenticate(token=tokens["access_token"]))
    assert await renewed(world, old) == (200, old)
    (grant,) = (await world.call("GET", "/user/oauth2_grants", as_="bob")).json()
    assert (await world.call("DELETE", f"/user/oauth2_grants/{grant['id']}", as_="bob")).status_code == 204
    assert (await renewed(world, old))[0] == 404


async def test_who_acts_as_somebody_else_is_not_renewed(world):
    await world.add_user("ann")
    acting = principal(await world.authenticate(name="root", password=PASSWORD, sudo="ann"))
    assert (acting["name"], acting["sudo_by"], "credential" in acting) == ("ann", "root", False)
