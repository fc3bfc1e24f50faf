"""From the consent of a person to tokens, and what ends them."""

import base64
from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.oauth2 import jobs as oauth2_jobs
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.store.tables import oauth2_authorization, oauth2_grant, oauth2_token
from ingot_identity.sessions import jobs as session_jobs
from ingot_identity.sessions.store import browser_session

from ..applications import AUTHORIZE, REDIRECT, Person, came_back, get_tokens, make_app
from ..authentication.test_credentials import principal
from ..world import PASSWORD


@pytest.fixture
async def app(world):
    """An application of ann that keeps a secret; bob has an account."""
    for name in ("ann", "bob"):
        await world.add_user(name)
    return await make_app(world)


async def works(world, token):
    """Return True if an access token is still valid."""
    return bool((await world.authenticate(token=token)).json()["user_id"])


async def make_older(world, table, column, by):
    async with world.database.transaction() as tx:
        await tx.execute(update(table).values({column: now() - by}))


async def count(world, table):
    async with world.database.read() as db:
        return len((await db.execute(table.select())).all())


async def test_a_person_signs_in_consents_and_the_application_gets_tokens(world, app):
    person = Person(world, "bob")
    page = await person.get(AUTHORIZE, app.query())
    assert (page.status_code, "Sign in" in page.text) == (200, True)
    page = await person.sign_in(page)
    assert "read your account" in page.text
    assert REDIRECT in page.text
    back = came_back(await person.submit(page, decision="allow"))
    assert back == {"code": back["code"], "state": "xyz", "iss": world.part(OAuth2Components).issuer}
    answer = await app.exchange(back["code"])
    tokens = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert tokens["token_type"] == "Bearer"
    assert (tokens["expires_in"], tokens["scope"]) == (3600, "openid read:user")
    claims = principal(await world.authenticate(token=tokens["access_token"]))
    assert (claims["name"], claims["via"], claims["scopes"]) == ("bob", "token", ["openid", "read:user"])
    assert (await world.call("GET", "/user", token=tokens["access_token"])).json()["login"] == "bob"
    assert (await world.call("PATCH", "/user/settings", {}, token=tokens["access_token"])).status_code == 403


async def test_the_application_hears_of_a_refusal(world, app):
    person = Person(world, "bob")
    page = await person.sign_in(await person.get(AUTHORIZE, app.query()))
    back = came_back(await person.submit(page, decision="deny"))
    assert (back["error"], back["state"]) == ("access_denied", "xyz")
    assert await count(world, oauth2_grant) == 0


async def test_who_has_consented_is_not_asked_again_until_more_is_wanted(world, app):
    person = Person(world, "bob")
    await person.allow(app)
    assert "code" in came_back(await person.get(AUTHORIZE, app.query(scope="read:user")))
    page = await person.get(AUTHORIZE, app.query(scope="read:user write:repository"))
    assert (page.status_code, "change repositories" in page.text) == (200, True)
    page = await person.get(AUTHORIZE, app.query(prompt="consent"))
    assert page.status_code == 200


async def test_a_program_that_keeps_no_secret_always_asks_and_uses_any_port_of_the_device(world, app):
    tea = await make_app(world, name="tea", redirect_uris=["http://127.0.0.1/"], confidential_client=False)
    person, home = Person(world, "bob"), "http://127.0.0.1:53211/"
    for _ in range(2):
        page = await person.get(AUTHORIZE, tea.query(redirect_uri=home))
        page = await person.sign_in(page) if "Password" in page.text else page
        assert "http://127.0.0.1:53211" in page.headers["content-security-policy"]
        code = came_back(await person.submit(page, decision="allow"), home)["code"]
        answer = await tea.exchange(code, secret="", redirect_uri=home)
        assert answer.status_code == 200
    refreshed = await tea.refresh(answer.json()["refresh_token"], client_secret="")
    assert refreshed.status_code == 200


async def test_an_application_that_administrators_trust_asks_nobody(world, app):
    trusted = await make_app(world, as_="root", skip_secondary_authorization=True)
    assert "code" in await Person(world, "bob").allow(trusted)


async def test_an_application_may_use_basic_or_json(world, app):
    code = (await Person(world, "bob").allow(app))["code"]
    basic = base64.b64encode(f"{app.client_id}:{app.secret}".encode()).decode()
    answer = await app.exchange(code, secret="", client_id="", headers={"Authorization": f"Basic {basic}"})
    assert answer.status_code == 200
    body = {"grant_type": "refresh_token", "refresh_token": answer.json()["refresh_token"]}
    body |= {"client_id": app.client_id, "client_secret": app.secret}
    answer = await world.http.post("/login/oauth/access_token", json=body)
    assert answer.status_code == 200


async def test_a_refresh_token_gives_new_tokens_also_with_fewer_scopes(world, app):
    tokens = await get_tokens(world, app, scope="read:user read:repository")
    answer = await app.refresh(tokens["refresh_token"], scope="read:user")
    assert answer.json()["scope"] == "read:user"
    claims = principal(await world.authenticate(token=answer.json()["access_token"]))
    assert claims["scopes"] == ["read:user"]
    answer = await app.refresh(answer.json()["refresh_token"])
    assert answer.json()["scope"] == "read:user read:repository"
    assert await works(world, answer.json()["access_token"])


async def test_a_refresh_token_gives_no_further_scopes(world, app):
    tokens = await get_tokens(world, app, scope="read:user")
    answer = await app.refresh(tokens["refresh_token"], scope="read:user write:user")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")


async def test_a_code_that_comes_twice_ends_what_came_of_it(world, app):
    code = (await Person(world, "bob").allow(app))["code"]
    tokens = (await app.exchange(code)).json()
    assert await works(world, tokens["access_token"])
    answer = await app.exchange(code)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert not await works(world, tokens["access_token"])
    assert (await app.refresh(tokens["refresh_token"])).status_code == 400
    assert await world.emitted(CredentialsRevoked)


async def test_a_refresh_token_that_comes_twice_ends_the_chain_and_no_other(world, app):
    first, other = await get_tokens(world, app), await get_tokens(world, app)
    second = (await app.refresh(first["refresh_token"])).json()
    third = (await app.refresh(second["refresh_token"])).json()
    answer = await app.refresh(first["refresh_token"])
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    for tokens in (first, second, third):
        assert not await works(world, tokens["access_token"])
    assert (await app.refresh(third["refresh_token"])).status_code == 400
    assert await works(world, other["access_token"])


async def test_codes_and_tokens_expire(world, app):
    code = (await Person(world, "bob").allow(app))["code"]
    await make_older(world, oauth2_authorization, "code_expires_at", timedelta(seconds=1))
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"
    tokens = await get_tokens(world, app)
    await make_older(world, oauth2_token, "expires_at", timedelta(seconds=1))
    assert not await works(world, tokens["access_token"])
    assert (await app.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def delete_expired(world):
    for task in [*oauth2_jobs.tasks(world.database), *session_jobs.tasks(world.database)]:
        await task.run_now()


async def test_what_has_expired_is_deleted_in_time(world, app):
    await get_tokens(world, app)
    await delete_expired(world)
    assert [await count(world, t) for t in (oauth2_token, oauth2_authorization, browser_session)] == [2, 1, 1]
    for table in (oauth2_authorization, browser_session):
        await make_older(world, table, "expires_at", timedelta(seconds=1))
    await delete_expired(world)
    assert [await count(world, t) for t in (oauth2_token, oauth2_authorization, browser_session)] == [0, 0, 0]


async def change_password(world, _app):
    await world.call("PATCH", "/admin/users/bob", {"password": PASSWORD}, as_="root")


async def delete_application(world, app):
    await world.call("DELETE", f"/user/applications/oauth2/{app.id}", as_="ann")


async def delete_account(world, _app):
    await world.call("DELETE", "/admin/users/bob", as_="root")


async def delete_account_of_application(world, _app):
    await world.call("DELETE", "/admin/users/ann", as_="root")


@pytest.mark.parametrize(
    "end", [change_password, delete_application, delete_account, delete_account_of_application]
)
async def test_tokens_end_with_what_they_hang_on(world, app, end):
    tokens = await get_tokens(world, app)
    assert await works(world, tokens["access_token"])
    await end(world, app)
    assert not await works(world, tokens["access_token"])
    assert (await app.refresh(tokens["refresh_token"])).status_code in (400, 401)


async def test_an_account_that_may_not_sign_in_gets_no_tokens(world, app):
    tokens = await get_tokens(world, app)
    person = Person(world, "bob")
    code = (await person.allow(app))["code"]
    await world.call("PATCH", "/admin/users/bob", {"prohibit_login": True}, as_="root")
    assert (await world.authenticate(token=tokens["access_token"])).status_code == 403
    assert (await app.refresh(tokens["refresh_token"])).status_code == 400
    assert (await app.exchange(code)).status_code == 400
    assert "Password" in (await person.get(AUTHORIZE, app.query())).text


async def test_a_new_password_ends_sessions_in_browsers(world, app):
    person = Person(world, "bob")
    await person.allow(app)
    assert "bob" in (await person.get("/login")).text
    await change_password(world, app)
    assert "Password" in (await person.get("/login")).text


async def test_an_access_token_works_as_the_password_of_git(world, app):
    token = (await get_tokens(world, app))["access_token"]
    for credential in ({"name": "bob", "password": token}, {"name": token, "password": "x-oauth-basic"}):
        assert principal(await world.authenticate(**credential))["via"] == "token"


async def test_an_administrator_has_their_rights_only_with_that_scope(world, app):
    for scope, admin in (("read:user", False), ("write:admin", True), (None, False), ("all", True)):
        token = (await get_tokens(world, app, "root", scope=scope))["access_token"]
        assert principal(await world.authenticate(token=token)).get("admin", False) is admin
        assert (await world.authenticate(token=token, sudo="bob")).status_code == 403


async def test_an_access_token_is_found_by_one_statement_and_memberships_by_another(world, app):
    token = (await get_tokens(world, app))["access_token"]
    with world.count_statements() as statements:
        await world.authenticate(token=token)
    assert len(statements) <= 3
