"""Requests of applications: hostile token requests, introspection, userinfo, id tokens, discovery."""

import asyncio
import json

import pytest
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from httpx import ASGITransport
from joserfc import jwt
from joserfc.jwk import KeySet

from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.store import id_token_keys

from ..applications import AUTHORIZE, REDIRECT, TOKEN, VERIFIER, Person, came_back, get_tokens, make_app

INTROSPECT, REVOKE = "/login/oauth/introspect", "/login/oauth/revoke"


@pytest.fixture
async def app(world):
    """An application of ann that keeps a secret; bob has an account."""
    for name in ("ann", "bob"):
        await world.add_user(name)
    return await make_app(world)


async def get_code(world, app, **changes):
    return (await Person(world, "bob").allow(app, **changes))["code"]


WRONG_EXCHANGES = {
    "a wrong verifier": ({"code_verifier": "w" * 43}, 400, "invalid_grant"),
    "no verifier": ({"code_verifier": ""}, 400, "invalid_request"),
    "a short verifier": ({"code_verifier": "v"}, 400, "invalid_request"),
    "a verifier of odd letters": ({"code_verifier": "é" * 43}, 400, "invalid_request"),
    "another address": ({"redirect_uri": f"{REDIRECT}2"}, 400, "invalid_grant"),
    "no address": ({"redirect_uri": ""}, 400, "invalid_grant"),
    "another code": ({"code": "0" * 64}, 400, "invalid_grant"),
    "no code": ({"code": ""}, 400, "invalid_request"),
    "a wrong secret": ({"client_secret": "ioc_0"}, 401, "invalid_client"),
    "no secret": ({"client_secret": ""}, 401, "invalid_client"),
    "an unknown client": ({"client_id": "nobody"}, 400, "invalid_client"),
    "a client of odd letters": ({"client_id": "é\x00"}, 400, "invalid_client"),
    "no client": ({"client_id": ""}, 401, "invalid_client"),
    "no grant type": ({"grant_type": ""}, 400, "unsupported_grant_type"),
    "the password grant": ({"grant_type": "password"}, 400, "unsupported_grant_type"),
    "no user": ({"grant_type": "client_credentials"}, 400, "unsupported_grant_type"),
    "odd letters": ({"grant_type": 'é"\\'}, 400, "unsupported_grant_type"),
}


async def test_a_wrong_exchange_gives_no_tokens_and_leaves_the_code(world, app):
    bob = Person(world, "bob")
    for case, (changes, status, error) in WRONG_EXCHANGES.items():
        code = (await bob.allow(app))["code"]
        answer = await app.exchange(**{"code": code} | changes)
        assert (case, answer.status_code, answer.json()["error"]) == (case, status, error)
        assert answer.headers["cache-control"] == "no-store", case
        assert (await app.exchange(code)).status_code == 200, case


async def test_the_code_and_the_refresh_token_of_another_application_are_of_no_use(world, app):
    other = await make_app(world, name="other")
    code = await get_code(world, app)
    assert (await other.exchange(code)).json()["error"] == "invalid_grant"
    tokens = (await app.exchange(code)).json()
    for _ in range(2):
        assert (await other.exchange(code)).json()["error"] == "invalid_grant"
        assert (await other.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await app.refresh(tokens["access_token"])).json()["error"] == "invalid_grant"
    assert (await app.refresh(tokens["refresh_token"])).status_code == 200


async def test_without_a_challenge_a_verifier_is_refused(world, app):
    code = await get_code(world, app, code_challenge=None, code_challenge_method=None)
    assert (await app.exchange(code)).json()["error"] == "invalid_request"
    assert (await app.exchange(code, code_verifier="")).status_code == 200


async def test_a_secret_that_was_replaced_is_wrong(world, app):
    code = await get_code(world, app)
    await world.call("PATCH", f"/user/applications/oauth2/{app.id}", {}, as_="ann")
    assert (await app.exchange(code)).status_code == 401


WITHOUT_SENSE = [
    (b"", "application/x-www-form-urlencoded"),
    (b"\xff=\xff", "application/x-www-form-urlencoded"),
    (b"&".join([b"a=1"] * 60), "application/x-www-form-urlencoded"),
    (b"grant_type=authorization_code&grant_type=refresh_token", "application/x-www-form-urlencoded"),
    (b"{", "application/json"),
    (b"[]", "application/json"),
    (b"[" * 100_000, "application/json"),
    (b'{"grant_type": 5}', "application/json"),
    (b'{"grant_type": {"a": "b"}}', "application/json"),
    (
        b'{"grant_type": "authorization_code", "client_id": "\\u0000", "code": "\\u0000"}',
        "application/json",
    ),
    (b"\xff", "application/json"),
    (b"", ""),
]


async def test_a_body_that_makes_no_sense_is_an_error_of_oauth2(world, app):
    for body, content_type in WITHOUT_SENSE:
        for path in (TOKEN, INTROSPECT, REVOKE):
            answer = await world.http.post(path, content=body, headers={"content-type": content_type})
            assert answer.status_code in (400, 401), (body[:80], path)
            assert answer.json()["error"]


@pytest.mark.parametrize(
    "header",
    ["Basic", "Basic !", "Basic /w==", "Basic YQ==", "Bearer x", "Basic " + "A" * 9_000, "Basic OjpX"],
)
async def test_a_credential_that_cannot_be_read_is_none(world, app, header):
    form = {"grant_type": "authorization_code", "code": "x"}
    for path in (TOKEN, INTROSPECT, REVOKE):
        answer = await app.post(form, {"authorization": header}, path)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"].startswith("Basic")


async def test_of_two_exchanges_at_once_one_gets_tokens_and_nobody_keeps_them(world, app):
    code = await get_code(world, app)
    answers = await asyncio.gather(*(app.exchange(code) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    token = next(answer for answer in answers if answer.is_success).json()["access_token"]
    assert not (await world.authenticate(token=token)).json()["user_id"]


async def test_an_application_learns_what_its_tokens_are(world, app):
    tokens = await get_tokens(world, app)
    form = {"client_id": app.client_id, "client_secret": app.secret}
    for name, kind in (("access_token", "Bearer"), ("refresh_token", "refresh_token")):
        answer = await app.post(form | {"token": tokens[name]}, path=INTROSPECT)
        token = answer.json()
        assert (token["active"], token["token_type"], token["username"]) == (True, kind, "bob")
        assert (token["scope"], token["client_id"]) == ("openid read:user", app.client_id)
        assert token["exp"] > token["iat"]
    await app.refresh(tokens["refresh_token"])
    answer = await app.post(form | {"token": tokens["refresh_token"]}, path=INTROSPECT)
    assert answer.json() == {"active": False}


async def test_an_application_learns_nothing_of_other_tokens(world, app):
    other = await make_app(world, name="other")
    own = (await world.call("POST", "/users/bob/tokens", {"name": "t"}, as_="bob")).json()["sha1"]
    form = {"client_id": other.client_id, "client_secret": other.secret}
    for token in ((await get_tokens(world, app))["access_token"], own, "x", "é"):
        answer = await app.post(form | {"token": token}, path=INTROSPECT)
        assert answer.json() == {"active": False}


async def test_introspection_needs_the_secret(world, app):
    tea = await make_app(world, name="tea", confidential_client=False)
    token = (await get_tokens(world, app))["access_token"]
    for form in ({"client_id": tea.client_id}, {"client_id": app.client_id, "client_secret": "ioc_0"}, {}):
        answer = await app.post(form | {"token": token}, path=INTROSPECT)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize(
    ("kind", "survivors"), [("access_token", {"refresh_token"}), ("refresh_token", set())]
)
async def test_an_application_ends_its_tokens(world, app, kind, survivors):
    tokens = await get_tokens(world, app)
    form = {"client_id": app.client_id, "client_secret": app.secret}
    answer = await app.post(form | {"token": tokens[kind]}, path=REVOKE)
    assert (answer.status_code, answer.content) == (200, b"")
    assert (await app.post(form | {"token": tokens[kind]}, path=REVOKE)).status_code == 200
    assert len(await world.emitted(CredentialsRevoked)) == 1
    assert not (await world.authenticate(token=tokens["access_token"])).json()["user_id"]
    assert (await app.refresh(tokens["refresh_token"])).is_success == ("refresh_token" in survivors)


async def test_an_application_ends_no_tokens_of_others(world, app):
    tea = await make_app(world, name="tea", confidential_client=False)
    own = (await world.call("POST", "/users/bob/tokens", {"name": "t"}, as_="bob")).json()["sha1"]
    token = (await get_tokens(world, app))["access_token"]
    for form in ({"client_id": app.client_id, "client_secret": "ioc_0"}, {"client_id": app.client_id}, {}):
        refused = await app.post(form | {"token": token}, path=REVOKE)
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    for other in (token, own, "x", "é"):
        assert (await app.post({"client_id": tea.client_id, "token": other}, path=REVOKE)).status_code == 200
    assert (await world.authenticate(token=token)).json()["user_id"]
    assert (await world.authenticate(token=own)).json()["user_id"]


async def test_an_application_that_keeps_no_secret_ends_its_tokens_by_its_name(world, app):
    tea = await make_app(world, name="tea", confidential_client=False)
    code = await get_code(world, tea)
    token = (await tea.exchange(code, secret="")).json()["access_token"]
    assert (await tea.post({"client_id": tea.client_id, "token": token}, path=REVOKE)).status_code == 200
    assert not (await world.authenticate(token=token)).json()["user_id"]


@pytest.mark.parametrize(
    ("scope", "claims"),
    [
        ("openid", set()),
        ("openid profile", {"name", "preferred_username", "picture", "updated_at"}),
        ("openid email", {"email", "email_verified"}),
    ],
)
async def test_userinfo_and_the_id_token_say_what_the_scopes_reach(world, app, scope, claims):
    tokens = await get_tokens(world, app, scope=scope, nonce="n1")
    headers = await world.headers_of("", tokens["access_token"])
    info = (await world.http.get("/login/oauth/userinfo", headers=headers)).json()
    assert set(info) == claims | {"sub"}
    keys = KeySet.import_key_set((await world.http.get("/login/oauth/keys")).json())
    token = jwt.decode(tokens["id_token"], keys, ["RS256"])
    assert set(token.claims) - {"iss", "aud", "exp", "iat", "auth_time", "nonce", "at_hash"} == set(info)
    assert {name: token.claims[name] for name in info} == info
    issuer, client = world.part(OAuth2Components).issuer, app.client_id
    options = {"iss": {"values": [issuer]}, "aud": {"values": [client]}}
    checked = CodeIDToken(token.claims, token.header, options, {"nonce": "n1", "client_id": client} | tokens)
    checked.validate()
    assert (await world.http.post("/login/oauth/userinfo", headers=headers)).json() == info


async def test_userinfo_is_for_tokens_with_openid(world, app):
    token = (await get_tokens(world, app, scope="read:user"))["access_token"]
    headers = await world.headers_of("", token)
    assert (await world.http.get("/login/oauth/userinfo", headers=headers)).status_code == 403
    assert (await world.http.get("/login/oauth/userinfo")).status_code == 401


async def test_without_openid_there_is_no_id_token(world, app):
    assert "id_token" not in await get_tokens(world, app, scope="read:user")


async def test_keys_show_no_secret_and_stay_the_same_for_all_replicas(world, make_world):
    async with make_world() as replica:
        shown = [(await each.http.get("/login/oauth/keys")).json() for each in (world, replica, world)]
    assert shown[0] == shown[1] == shown[2]
    key = shown[0]["keys"][0]
    assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}
    async with world.database.read() as db:
        (row,) = await id_token_keys.list_newest_first(db)
    assert b'"d"' not in row.sealed
    assert '"d"' not in row.public_jwk


def with_tls(configuration):
    """The library takes no other addresses."""
    text = json.dumps(configuration).replace('"http://', '"https://')
    return json.loads(text)


async def test_the_configuration_is_valid_and_every_address_in_it_answers(world, app):
    configuration = (await world.http.get("/.well-known/openid-configuration")).json()
    OpenIDProviderMetadata(with_tls(configuration)).validate()
    named = {n: url for n, url in configuration.items() if n.endswith("_endpoint") or n == "jwks_uri"}
    assert len(named) > 3
    for url in named.values():
        path = url.removeprefix(configuration["issuer"])
        methods = [(await world.http.request(method, path)).status_code for method in ("GET", "POST")]
        assert set(methods) - {404, 405}, path


async def test_a_client_library_gets_tokens_and_renews_them(world, app):
    renewed = []

    async def save(token, refresh_token=None, access_token=None):
        renewed.append((token, refresh_token))

    async with AsyncOAuth2Client(
        app.client_id,
        app.secret,
        scope="openid profile read:user",
        redirect_uri=REDIRECT,
        code_challenge_method="S256",
        token_endpoint="http://127.0.0.1:3000" + TOKEN,
        update_token=save,
        transport=ASGITransport(world.app),
    ) as client:
        url, state = client.create_authorization_url(
            f"http://127.0.0.1:3000{AUTHORIZE}", code_verifier=VERIFIER, nonce="n1"
        )
        person = Person(world, "bob")
        page = await person.sign_in(await person.get(url))
        answer = await person.submit(page, decision="allow")
        token = await client.fetch_token(
            authorization_response=answer.headers["location"], state=state, code_verifier=VERIFIER
        )
        assert came_back(answer)["state"] == state
        assert (await world.authenticate(token=token["access_token"])).json()["user_id"]
        client.token = token | {"expires_at": 1}
        await client.ensure_active_token(client.token)
    (after, before), *_ = renewed
    assert before == token["refresh_token"]
    assert (await world.authenticate(token=after["access_token"])).json()["user_id"]
