"""Attacks on the OAuth2 provider: stolen codes and tokens, modified requests, forged pages."""

import asyncio
import base64
import hashlib

import pytest

from ingot_identity.oauth2.store.tables import oauth2_application

from ..applications import (
    AUTHORIZE,
    CHALLENGE,
    REDIRECT,
    TOKEN,
    Person,
    came_back,
    forms,
    get_tokens,
    make_app,
    with_query,
)

EVIL = "https://evil.example.com/cb"
OTHER_VERIFIER = "w" * 43
OTHER_CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(OTHER_VERIFIER.encode()).digest()).rstrip(b"=").decode()
)


@pytest.fixture
async def app(world):
    """An application of ann that keeps a secret; bob has an account."""
    for name in ("ann", "bob", "mallory"):
        await world.add_user(name)
    return await make_app(world)


@pytest.fixture
async def bob(world, app):
    """bob, who has signed in."""
    person = Person(world, "bob")
    await person.sign_in(await person.get("/login"))
    return person


async def works(world, token):
    return bool((await world.authenticate(token=token)).json()["user_id"])


def basic(app):
    return {"authorization": "Basic " + base64.b64encode(f"{app.client_id}:{app.secret}".encode()).decode()}


@pytest.mark.parametrize(
    "changes", [{"scope": "everything"}, {"response_type": "token"}, {"code_challenge_method": "plain"}]
)
async def test_nobody_is_sent_to_another_site_before_they_have_signed_in(world, app, changes):
    """Otherwise the owner of an application could make links of this server lead to any site."""
    evil = await make_app(world, as_="mallory", redirect_uris=[EVIL])
    person = Person(world, "bob")
    query = evil.query(redirect_uri=EVIL, **changes)
    page = await person.http.get(AUTHORIZE, params=query)
    assert (page.status_code, "Password" in page.text, "location" in page.headers) == (200, True, False)
    page = await person.sign_in(page, "wrong")
    assert (page.status_code, "location" in page.headers) == (403, False)
    assert "https://evil.example.com" in page.headers["content-security-policy"]
    answer = await person.sign_in(page)
    assert came_back(answer, EVIL)["error"]


async def test_a_code_is_sent_to_the_registered_address_alone_however_it_is_asked_for(world, app, bob):
    for more in (
        {"response_mode": "fragment"},
        {"response_mode": "form_post"},
        {"request_uri": f"{EVIL}/request"},
        {"request": "e30.e30."},
        {"resource": EVIL},
        {"post_logout_redirect_uri": EVIL},
        {"Redirect_URI": EVIL},
        {"redirect_uri[]": EVIL},
    ):
        page = await bob.get(AUTHORIZE, app.query(prompt="consent") | more)
        assert set(came_back(await bob.submit(page, decision="allow"))) == {"code", "state", "iss"}, more


async def test_an_address_is_compared_before_anything_of_it_is_read(world, app, bob):
    """An address that parsers and browsers read differently is not a registered address."""
    for address in (
        f"{REDIRECT}/", f"{REDIRECT}%00", f"{REDIRECT}%23", f"{REDIRECT};x", f"{REDIRECT}/..", f"{REDIRECT}?",
        f"{REDIRECT}#",
        REDIRECT.upper(), REDIRECT.replace("https", "HTTPS"), REDIRECT.replace("ci.", "ci%2E"),
        f" {REDIRECT}", f"{REDIRECT} ",
        REDIRECT.replace("://", ":////"), REDIRECT.replace("://", ":"), REDIRECT.replace("/cb", "\\cb"),
        REDIRECT.replace("ci.example.com", "ci.example.com:443"),
        REDIRECT.replace("ci.example.com", "ci.example.com."),
        f"{EVIL}?{REDIRECT}", f"{EVIL}#{REDIRECT}", f"{REDIRECT}@evil.example.com", f"{REDIRECT}\t",
        f"{REDIRECT},{EVIL}",
    ):  # fmt: skip
        answer = await bob.http.get(AUTHORIZE, params=app.query(redirect_uri=address))
        assert (answer.status_code, "location" in answer.headers) == (400, False), address


async def test_a_code_of_the_attacker_is_of_no_use_in_the_session_of_a_victim(world, app):
    """Code injection: the application of the victim has another verifier than the code was made for."""
    code = (await Person(world, "mallory").allow(app, code_challenge=OTHER_CHALLENGE))["code"]
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"
    code = (await Person(world, "mallory").allow(app, code_challenge=None, code_challenge_method=None))[
        "code"
    ]
    assert (await app.exchange(code)).json()["error"] == "invalid_request"


async def test_a_challenge_that_is_taken_away_or_added_on_the_way_gives_no_tokens(world, app, bob):
    """PKCE downgrade: the form sends what the user allowed. A verifier without challenge is rejected."""
    page = await bob.get(AUTHORIZE, app.query())
    action, fields = forms(page.text)[0]
    without = action.replace(f"&code_challenge={CHALLENGE}&code_challenge_method=S256", "")
    code = came_back(await bob.http.post(without, data=fields | {"decision": "allow"}))["code"]
    assert (await app.exchange(code)).json()["error"] == "invalid_request"
    for name, value in (("code_challenge", OTHER_CHALLENGE), ("code_challenge_method", "plain")):
        answer = await bob.http.get(f"{with_query(AUTHORIZE, app.query())}&{name}={value}")
        assert answer.status_code == 400 or came_back(answer)["error"] == "invalid_request", name


async def test_a_request_is_of_the_application_that_proves_itself(world, app):
    """Mix-up: one name in the header, another one in the form."""
    other = await make_app(world, as_="mallory", name="other")
    form = {"client_id": app.client_id, "code_verifier": ""}
    code = (await Person(world, "bob").allow(app))["code"]
    for secret in ("", other.secret):
        answer = await app.exchange(code, headers=basic(other), secret=secret, code_verifier="v" * 43)
        assert answer.status_code in (400, 401), answer.text
    tokens = (await app.exchange(code)).json()
    for path in ("introspect", "revoke"):
        answer = await app.post(
            form | {"token": tokens["access_token"]}, basic(other), f"/login/oauth/{path}"
        )
        assert answer.status_code in (400, 401) or not answer.content or answer.json() == {"active": False}
    answer = await app.post(
        {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": app.client_id},
        basic(other),
    )
    assert answer.status_code in (400, 401)
    assert await works(world, tokens["access_token"])


async def test_the_exchange_of_a_code_widens_no_scope(world, app):
    code = (await Person(world, "bob").allow(app, scope="read:user"))["code"]
    answer = (await app.exchange(code, scope="read:user write:repository write:admin")).json()
    assert answer["scope"] == "read:user"
    claims = (await world.authenticate(token=answer["access_token"])).json()
    assert claims["user_id"]
    bearer = await world.headers_of("", answer["access_token"])
    for method, path in (("PATCH", "/user/settings"), ("POST", "/orgs"), ("GET", "/admin/users")):
        assert (
            await world.http.request(method, f"/api/v1{path}", json={}, headers=bearer)
        ).status_code == 403


async def test_a_consent_to_less_is_no_consent_to_more(world, app, bob):
    await get_tokens(world, app, scope="read:user")
    for scope in ("write:user", "read:repository", "read:user read:repository", "openid read:user", ""):
        page = await bob.get(AUTHORIZE, app.query(scope=scope))
        assert "Do not allow" in page.text, scope


async def test_a_token_of_an_application_makes_no_stronger_one(world, app):
    token = (await get_tokens(world, app, scope=""))["access_token"]
    bearer = await world.headers_of("", token)
    for method, path, body in (
        ("POST", "/users/bob/tokens", {"name": "t", "scopes": ["all"]}),
        ("GET", "/users/bob/tokens", None),
        ("DELETE", "/users/bob/tokens/1", None),
        ("POST", "/user/password", {"password": "a new password"}),
    ):
        answer = await world.http.request(method, f"/api/v1{path}", json=body, headers=bearer)
        assert 400 <= answer.status_code < 500, (path, answer.text)


async def test_of_two_refreshes_at_once_one_gets_tokens_and_nobody_keeps_them(world, app):
    tokens = await get_tokens(world, app)
    answers = await asyncio.gather(*(app.refresh(tokens["refresh_token"]) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    renewed = next(answer for answer in answers if answer.is_success).json()
    assert not await works(world, renewed["access_token"])
    assert (await app.refresh(renewed["refresh_token"])).status_code == 400


async def test_a_form_of_one_request_allows_no_request_in_the_name_of_another_browser(world, app, bob):
    """CSRF of the consent: token and cookie belong together, whichever the attacker has of the two."""
    mallory = Person(world, "mallory")
    await mallory.sign_in(await mallory.get("/login"))
    (_, fields), *_ = forms((await mallory.get(AUTHORIZE, app.query())).text)
    for data in (fields, fields | {"token": ""}, {"decision": "allow"}):
        answer = await bob.http.post(with_query(AUTHORIZE, app.query()), data=data | {"decision": "allow"})
        assert (answer.status_code, "location" in answer.headers) == (403, False)
    answer = await bob.http.post(
        with_query(AUTHORIZE, app.query() | {"token": fields["token"], "decision": "allow"})
    )
    assert answer.status_code == 403


async def test_secrets_in_a_query_are_no_credentials(world, app):
    """They would stand in logs and histories."""
    code = (await Person(world, "bob").allow(app))["code"]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": "v" * 43,
    }
    secrets = {"client_id": app.client_id, "client_secret": app.secret}
    answer = await world.http.post(with_query(TOKEN, form | secrets))
    assert answer.status_code in (400, 401)
    answer = await world.http.post(with_query(TOKEN, secrets), data=form)
    assert answer.status_code == 401
    token = (await app.exchange(code)).json()["access_token"]
    answer = await world.http.get(with_query("/login/oauth/userinfo", {"access_token": token}))
    assert answer.status_code == 401


async def test_every_answer_with_a_code_or_a_token_is_private(world, app, bob):
    page = await bob.get(AUTHORIZE, app.query())
    action, fields = forms(page.text)[0]
    answer = await bob.http.post(action, data=fields | {"decision": "allow"})
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    answer = await app.exchange(came_back(answer)["code"])
    assert answer.headers["cache-control"] == "no-store"
    async with world.database.read() as db:
        rows = (await db.execute(oauth2_application.select())).all()
    assert app.secret not in repr(rows)
