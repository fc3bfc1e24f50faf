"""Second factors: codes of an app and recovery codes, for whom and when."""

import asyncio
import base64
import runpy
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import select
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.migrations import SCRIPTS
from ingot_identity.two_factors import store as two_factors
from ingot_identity.two_factors.store import recovery_code

from ..applications import AUTHORIZE, Person, make_app
from ..world import PASSWORD


def code_of(secret, steps=0):
    """Return the code that the app shows ``steps`` half minutes from now."""
    app = TOTP(base64.b32decode(secret), 6, SHA1(), 30)
    return app.generate(time.time() + 30 * steps).decode()


async def enrol(world, name="ann", steps=-1):
    """Turn it on; the secret and the recovery codes. The code before the present one confirms it."""
    begun = (await world.call("POST", "/user/two_factor", as_=name)).json()
    body = {"code": code_of(begun["secret"], steps)}
    confirmed = await world.call("POST", "/user/two_factor/confirm", body, as_=name)
    return begun["secret"], confirmed.json()["recovery_codes"]


async def sign_in(world, code="", password=PASSWORD, name="ann"):
    """Return the response for the gateway: the id of the account, and True if a code is needed."""
    answer = await world.authenticate(name=name, password=password, code=code, address="192.0.2.1")
    body = answer.json()
    return body["user_id"], body.get("needs_code", False)


@pytest.fixture
async def ann(world):
    return await world.add_user("ann")


async def test_the_address_for_the_app_names_account_and_server(world, ann):
    begun = (await world.call("POST", "/user/two_factor", as_="ann")).json()
    uri = urlsplit(begun["uri"])
    assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
    assert uri.path.endswith(":ann")
    assert parse_qs(uri.query)["secret"] == [begun["secret"]]


async def test_before_a_code_confirms_it_a_password_is_enough(world, ann):
    await world.call("POST", "/user/two_factor", as_="ann")
    wrong = await world.call("POST", "/user/two_factor/confirm", {"code": "abcdef"}, as_="ann")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "code")
    assert await sign_in(world) == (ann, False)
    assert (await world.call("GET", "/user/two_factor", as_="ann")).json()["enabled"] is False


async def test_a_password_needs_a_code_and_a_code_works_once(world, ann):
    secret, _ = await enrol(world)
    assert await sign_in(world) == (0, True)
    assert await sign_in(world, "000000") == (0, True)
    assert await sign_in(world, code_of(secret, -1)) == (0, True)  # it confirmed the enrolment
    assert await sign_in(world, code_of(secret)) == (ann, False)
    assert await sign_in(world, code_of(secret)) == (0, True)
    assert await sign_in(world, code_of(secret, 1)) == (ann, False)
    assert await sign_in(world, code_of(secret)) == (0, True)  # an older one


async def test_one_of_several_sign_ins_at_the_same_time_gets_the_code(world, ann):
    secret, codes = await enrol(world)
    for code in (code_of(secret), codes[0]):
        answers = await asyncio.gather(*(sign_in(world, code) for _ in range(4)))
        assert sorted(answers) == [(0, True)] * 3 + [(ann, False)]


async def test_a_wrong_password_is_wrong_with_any_code(world, ann):
    secret, codes = await enrol(world)
    for code in ("", code_of(secret), codes[0]):
        assert await sign_in(world, code, "wrong") == (0, False)
    assert await sign_in(world, codes[0]) == (ann, False)


async def test_tokens_need_no_code(world, ann):
    token = (await world.call("POST", "/users/ann/tokens", {"name": "t"}, as_="ann")).json()["sha1"]
    await enrol(world)
    for credential in ({"token": token}, {"name": "ann", "password": token}, {"name": token}):
        assert (await world.authenticate(**credential)).json()["user_id"] == ann


async def test_a_recovery_code_works_once_however_it_is_typed(world, ann):
    _, codes = await enrol(world)
    assert len(set(codes)) == 10
    assert await sign_in(world, codes[0].upper().replace("-", " ")) == (ann, False)
    assert await sign_in(world, codes[0]) == (0, True)
    assert (await world.call("GET", "/user/two_factor", as_="ann")).json() == {
        "enabled": True,
        "passkeys": 0,
        "recovery_codes": 9,
    }


async def test_new_recovery_codes_replace_the_old_ones(world, ann):
    _, old = await enrol(world)
    renewed = await world.call("POST", "/user/two_factor/recovery_codes", {}, as_="ann")
    assert await sign_in(world, old[0]) == (0, True)
    assert await sign_in(world, renewed.json()["recovery_codes"][0]) == (ann, False)


@pytest.mark.parametrize("route", ["/user/two_factor", "/admin/users/ann/two_factor"])
async def test_without_it_a_password_is_enough_again(world, ann, route):
    await enrol(world)
    who = "root" if "admin" in route else "ann"
    assert (await world.call("DELETE", route, {}, as_=who)).status_code == 204
    assert await sign_in(world) == (ann, False)
    assert (await world.call("DELETE", route, {}, as_=who)).status_code == 404


async def test_it_is_not_begun_again_while_it_is_on(world, ann):
    secret, _ = await enrol(world)
    again = await world.call("POST", "/user/two_factor", as_="ann")
    assert (again.status_code, again.json()["errors"][0]["field"]) == (422, "two_factor")
    assert await sign_in(world, code_of(secret)) == (ann, False)


ANN_IN_BROWSER = Principal(id=2, name="ann", via="session", session_id=1)
ROOT_IN_BROWSER = Principal(id=1, name="root", admin=True, via="session", session_id=1)


async def call_as_session(world, method, path, body=None, principal=ANN_IN_BROWSER):
    """With the session of a browser."""
    headers = {"ingot-principal": await world.principal_token(principal)}
    return await world.http.request(method, f"/api/v1{path}", json=body, headers=headers)


WITH_PASSWORD = {"password": PASSWORD}


async def test_a_session_needs_the_password_to_switch_it_on(world, ann):
    for body in ({}, {"password": ""}, {"password": "guess"}):
        refused = await call_as_session(world, "POST", "/user/two_factor", body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "password")
    nothing = await call_as_session(world, "POST", "/user/two_factor/confirm", {"code": "000000"})
    assert nothing.json()["errors"][0]["code"] == "no_enrolment"
    begun = await call_as_session(world, "POST", "/user/two_factor", WITH_PASSWORD)
    body = {"code": code_of(begun.json()["secret"])}
    confirmed = await call_as_session(world, "POST", "/user/two_factor/confirm", body)
    assert (begun.status_code, confirmed.status_code) == (201, 200)
    assert await sign_in(world) == (0, True)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("DELETE", "/user/two_factor", 204), ("POST", "/user/two_factor/recovery_codes", 200)],
)
async def test_a_session_needs_password_and_code_to_weaken_it(world, ann, method, path, status):
    secret, codes = await enrol(world)
    for body in ({}, {"code": codes[0]}, {"code": codes[0], "password": "guess"}):
        refused = await call_as_session(world, method, path, body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "password")
    for body in ({}, {"code": "000000"}, {"code": code_of(secret, -1)}):
        refused = await call_as_session(world, method, path, WITH_PASSWORD | body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "code")
    # A code that came with a wrong password was not used up.
    answer = await call_as_session(world, method, path, WITH_PASSWORD | {"code": codes[0]})
    assert answer.status_code == status


BY_TOKEN = Principal(id=1, name="root", admin=True, via="token", token_id=1)
AS_ANN = Principal(id=2, name="ann", admin=True, via="session", sudo_by="Root")


@pytest.mark.parametrize("principal", [ROOT_IN_BROWSER, BY_TOKEN, AS_ANN])
async def test_an_administrator_removes_the_own_factor_only_with_the_password(world, ann, principal):
    await enrol(world)
    await enrol(world, "root")
    own = "/admin/users/root/two_factor"
    refused = await call_as_session(world, "DELETE", own, principal=principal)
    assert (refused.status_code, await sign_in(world, name="root")) == (403, (0, True))
    if principal is not AS_ANN:
        other = "/admin/users/ann/two_factor"
        assert (await call_as_session(world, "DELETE", other, principal=principal)).status_code == 204
    assert (await world.call("DELETE", own, as_="root")).status_code == 204


async def test_what_was_begun_under_an_older_release_is_begun_again(world, ann):
    bob = await world.add_user("bob")
    await enrol(world)
    await world.call("POST", "/user/two_factor", as_="bob")
    revision = runpy.run_path(str(SCRIPTS / "versions/0022_forget_enrolments_that_nobody_confirmed.py"))

    def upgrade(connection):
        with Operations.context(MigrationContext.configure(connection)):
            revision["upgrade"]()

    engine = create_async_engine(world.database.url)
    async with engine.begin() as connection:
        await connection.run_sync(upgrade)
    await engine.dispose()
    async with world.database.read() as db:
        rows = [await two_factors.get(db, account_id) for account_id in (ann, bob)]
    assert [row is not None for row in rows] == [True, False]


async def test_a_session_does_not_guess_the_password(make_world):
    async with make_world(free_sign_ins=3) as world:
        await world.add_user("ann")
        bodies = [{"password": f"guess {number}"} for number in range(5)]
        answers = [await call_as_session(world, "POST", "/user/two_factor", body) for body in bodies]
        assert (answers[0].status_code, answers[-1].status_code) == (422, 429)


async def test_a_session_does_not_guess_the_code_with_the_password(make_world):
    async with make_world(free_sign_ins=3) as world:
        await world.add_user("ann")
        await enrol(world)
        body = WITH_PASSWORD | {"code": "000000"}
        answers = [await call_as_session(world, "DELETE", "/user/two_factor", body) for _ in range(5)]
        assert (answers[0].status_code, answers[-1].status_code) == (422, 429)


async def test_guesses_of_codes_are_slowed_down_also_when_the_password_comes_between(make_world):
    async with make_world(free_sign_ins=3) as world:
        ann = await world.add_user("ann")
        secret, _ = await enrol(world)
        for _ in range(3):
            assert await sign_in(world) == (0, True)
            assert await sign_in(world, "000000") == (0, True)
        answer = await world.authenticate(
            name="ann", password=PASSWORD, code=code_of(secret), address="192.0.2.1"
        )
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        other_address = await world.authenticate(
            name="ann", password=PASSWORD, code=code_of(secret), address="192.0.2.2"
        )
        assert other_address.json()["user_id"] == ann


async def test_turning_it_on_ends_what_the_gateway_remembers(world, ann):
    await enrol(world)
    assert await world.emitted(CredentialsRevoked) == [CredentialsRevoked(user_id=ann)]


async def test_neither_secret_nor_codes_are_in_the_database(world, ann):
    secret, codes = await enrol(world)
    async with world.database.read() as db:
        row = await two_factors.get(db, ann)
    assert secret.encode() not in row.sealed
    assert base64.b32decode(secret) not in row.sealed
    async with world.database.read() as db:
        stored = (await db.execute(select(recovery_code.c.sha256))).scalars().all()
    assert len(stored) == len(codes)
    assert not {code.replace("-", "").encode() for code in codes} & set(stored)


async def test_the_page_asks_for_the_code_after_the_password(world, ann):
    secret, _ = await enrol(world)
    person = Person(world, "ann")
    page = await person.sign_in(await person.get("/login"))
    assert (page.status_code, "Two-factor authentication" in page.text) == (200, True)
    assert "Both are lost? Those who run this site" in page.text
    assert PASSWORD not in page.text
    wrong = await person.submit(page, code="000000")
    assert (wrong.status_code, "The code is wrong" in wrong.text) == (401, True)
    signed_in = await person.submit(wrong, code=code_of(secret))
    assert "You are signed in" in signed_in.text
    again = await Person(world, "ann").get("/login")
    assert "You are signed in" not in again.text


async def test_the_page_leads_on_to_the_page_that_was_asked_for(world, ann):
    secret, _ = await enrol(world)
    person = Person(world, "ann")
    page = await person.sign_in(await person.get("/login", {"to": "/ann/demo?tab=a"}))
    wrong = await person.submit(page, code="000000")
    signed_in = await person.submit(wrong, code=code_of(secret))
    assert signed_in.url.raw_path == b"/ann/demo?tab=a"


async def test_the_page_leads_on_to_the_application(world, ann):
    secret, _ = await enrol(world)
    app, person = await make_app(world, as_="root"), Person(world, "ann")
    page = await person.sign_in(await person.get(AUTHORIZE, app.query()))
    consent = await person.submit(page, code=code_of(secret))
    assert "Let ci use your account?" in consent.text


@pytest.mark.parametrize("ticket", ["forged", "gAAAAABl", "\u00e9", ""])
async def test_a_code_without_the_password_before_it_signs_nobody_in(world, ann, ticket):
    secret, _ = await enrol(world)
    person = Person(world, "ann")
    page = await person.sign_in(await person.get("/login"))
    refused = await person.submit(page, code=code_of(secret), ticket=ticket)
    assert refused.status_code == 403
    assert "You are signed in" not in (await person.get("/login")).text


async def test_a_new_password_ends_a_sign_in_that_waits_for_the_code(world, ann):
    secret, _ = await enrol(world)
    person = Person(world, "ann")
    page = await person.sign_in(await person.get("/login"))
    await world.call("PATCH", "/admin/users/ann", {"password": PASSWORD + "!"}, as_="root")
    refused = await person.submit(page, code=code_of(secret))
    assert (refused.status_code, "Sign in again" in refused.text) == (403, True)


async def test_guesses_on_the_page_are_slowed_down(make_world):
    async with make_world(free_sign_ins=2) as world:
        await world.add_user("ann")
        secret, _ = await enrol(world)
        person = Person(world, "ann")
        page = await person.sign_in(await person.get("/login"))
        for _ in range(2):
            assert (await person.submit(page, code="000000")).status_code == 401
        slowed = await person.submit(page, code=code_of(secret))
        assert (slowed.status_code, "retry-after" in slowed.headers) == (429, True)
