"""Applications that come with the server: what credential helpers of git and tea do, request by request."""

import base64

import pytest

from ingot_identity.oauth2.rules import built_in

from ..applications import AUTHORIZE, REDIRECT, App, Person, came_back, make_app
from ..authentication.test_credentials import principal

OAUTH, GCM, TEA = built_in.CLIENTS
HOME = "http://127.0.0.1:53211"


@pytest.fixture
async def register(world):
    await world.add_user("bob")

    async def register(*, enabled=True):
        async with world.database.transaction() as tx:
            await built_in.register(tx, enabled=enabled)

    await register()
    return register


def program(world, client_id):
    return App(world, {"id": 0, "client_id": client_id, "client_secret": ""})


async def code_for(world, app, redirect_uri, **changes):
    person = Person(world, "bob")
    page = await person.get(AUTHORIZE, app.query(redirect_uri=redirect_uri, **changes))
    page = await person.sign_in(page)
    assert "known to this server" in page.text
    return came_back(await person.submit(page, decision="allow"), redirect_uri)["code"]


@pytest.mark.parametrize(
    ("client_id", "redirect_uri", "scope"),
    [
        (OAUTH, HOME, None),
        (GCM, f"{HOME}/", None),
        (TEA, HOME, "admin,user,issue,misc,notification,organization,package,repository"),
    ],
)
async def test_each_program_gets_a_token_that_is_a_password_of_git(
    world, register, client_id, redirect_uri, scope
):
    app = program(world, client_id)
    code = await code_for(world, app, redirect_uri, scope=scope)
    # Libraries of OAuth2 first try the header, with an empty secret.
    basic = base64.b64encode(f"{client_id}:".encode()).decode()
    answer = await app.exchange(
        code, client_id="", redirect_uri=redirect_uri, headers={"Authorization": f"Basic {basic}"}
    )
    assert answer.status_code == 200, answer.text
    for name in ("bob", "oauth2", "OAUTH_USER"):
        claims = principal(await world.authenticate(name=name, password=answer.json()["access_token"]))
        assert (claims["name"], "write:repository" in claims["scopes"]) == ("bob", True)
    refreshed = await app.refresh(answer.json()["refresh_token"])
    assert refreshed.status_code == 200


async def test_they_must_use_pkce_and_the_loopback_address(world, register):
    app, person = program(world, OAUTH), Person(world, "bob")
    page = await person.get(AUTHORIZE, app.query(redirect_uri="http://127.0.0.1.example.com/"))
    assert page.status_code == 400
    answer = await person.get(AUTHORIZE, app.query(redirect_uri=HOME, code_challenge=None))
    answer = await person.sign_in(answer)
    assert "error=invalid_request" in answer.headers["location"]
    code = await code_for(world, app, HOME)
    assert (await app.exchange(code, redirect_uri=HOME, code_verifier="w" * 43)).status_code == 400


async def test_a_grant_to_one_is_listed_without_an_owner(world, register):
    await code_for(world, program(world, GCM), f"{HOME}/")
    [grant] = (await world.call("GET", "/user/oauth2_grants", as_="bob")).json()
    assert (grant["application"], grant["owner"]) == ("Git Credential Manager", "")


async def test_switched_off_nothing_of_them_is_left(world, register):
    app = program(world, OAUTH)
    answer = await app.exchange(await code_for(world, app, HOME), redirect_uri=HOME)
    await register()  # at each start: grants stay
    assert (await world.authenticate(token=answer.json()["access_token"])).json()["user_id"]
    await register(enabled=False)
    assert not (await world.authenticate(token=answer.json()["access_token"])).json()["user_id"]
    assert (await Person(world, "bob").get(AUTHORIZE, app.query(redirect_uri=HOME))).status_code == 400


async def test_a_start_registers_them(world):
    async with world.app.lifespan(), world.database.read() as db:
        rows = (await db.execute(world.database.metadata.tables["oauth2_application"].select())).all()
    assert {row.client_id: row.name for row in rows} == built_in.CLIENTS


async def test_an_empty_secret_proves_nothing_for_an_application_that_has_one(world, register):
    await world.add_user("ann")
    app = await make_app(world)
    code = (await Person(world, "bob").allow(app))["code"]
    basic = base64.b64encode(f"{app.client_id}:".encode()).decode()
    headers = {"Authorization": f"Basic {basic}"}
    answer = await app.exchange(code, secret="", client_id="", redirect_uri=REDIRECT, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
