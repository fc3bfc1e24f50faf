"""A second factor that the site requires: nothing else is reached before it is set up."""

import re

import pytest

from ..applications import AUTHORIZE, Person, forms, make_app
from ..two_factors.test_two_factors import code_of
from ..world import PASSWORD
from .authenticator import Authenticator, form_with_passkey, options_of, signed_in

REQUIRED = {"public_url": "http://localhost:3000/", "second_factor_required": "everybody"}


async def answer_of(world, **credential):
    answer = await world.authenticate(**credential)
    return answer.json().get("user_id"), answer.json().get("needs_second_factor", False)


@pytest.fixture
async def required(make_world):
    """A site that began to require a second factor when its people and a token existed."""
    async with make_world() as before:
        for name in ("ann", "bob"):
            await before.add_user(name)
        before.app_of_ann = await make_app(before)
        body = {"name": "t", "scopes": ["read:user"]}
        token = (await before.call("POST", "/users/bob/tokens", body, as_="bob")).json()["sha1"]
        async with make_world(**REQUIRED) as world:
            yield world, token, before.app_of_ann


async def test_a_password_alone_reaches_the_enrolment_and_nothing_else(required):
    world, token, app = required
    assert await answer_of(world, name="bob", password=PASSWORD) == (0, True)
    assert await answer_of(world, name="bob", password="guess") == (0, False)
    assert (await answer_of(world, token=token))[0]
    bob = Person(world, "bob")
    page = await bob.sign_in(await bob.get("/login", {"to": "/ann/demo"}))
    assert page.url.path == "/login/second_factor"
    assert "This site requires a second factor" in page.text
    session = dict(bob.http.cookies)["ingot-session"]
    assert await answer_of(world, session=session) == (0, True)
    assert await answer_of(world, session=session, proxy_user="bob") == (0, True)
    assert await answer_of(world, session=session, proxy_user="ann") == (0, False)
    for path, query in (("/login", {}), ("/login", {"to": "/ann"}), ("/login/passkeys", {})):
        assert (await bob.get(path, query)).url.path == "/login/second_factor"
    assert "Sign in" in (await bob.get(AUTHORIZE, app.query())).text


async def test_a_passkey_opens_the_site(required):
    world, _, _ = required
    bob, device = Person(world, "bob"), Authenticator()
    page = await bob.sign_in(await bob.get("/login"))
    answer = device.create(options_of(page))
    page = await bob.submit(page, form_with_passkey(page), credential=answer, name="phone")
    assert len(re.search(r"<pre>(.*?)</pre>", page.text, re.DOTALL)[1].split()) == 10
    session = dict(bob.http.cookies)["ingot-session"]
    assert (await answer_of(world, session=session))[0]
    assert "as <strong>bob" in (await bob.get("/login")).text


async def test_an_app_opens_the_site(required):
    world, _, _ = required
    bob = Person(world, "bob")
    page = await bob.sign_in(await bob.get("/login"))
    number = len(forms(page.text)) - 2
    page = await bob.submit(page, number)
    assert '<button class="primary">Turn on</button>' in page.text
    secret = forms(page.text)[number][1]["secret"]
    wrong = await bob.submit(page, number, code="x")
    assert (wrong.status_code, secret in wrong.text) == (422, True)
    done = await bob.submit(wrong, number, code=code_of(secret))
    assert "recovery codes" in done.text
    assert "as <strong>bob" in (await bob.get("/login")).text
    assert (await bob.get("/login/second_factor")).url.path == "/login"


async def test_a_session_of_the_time_before_is_of_no_use(make_world):
    async with make_world() as before:
        await before.add_user("bob")
        bob = await signed_in(before, "bob")
        session = dict(bob.http.cookies)["ingot-session"]
        assert (await answer_of(before, session=session))[0]
        async with make_world(**REQUIRED) as world:
            assert await answer_of(world, session=session) == (0, True)


async def test_it_can_be_required_of_administrators_alone(make_world):
    async with make_world() as before:
        await before.add_user("bob")
        async with make_world(second_factor_required="administrators") as world:
            assert (await answer_of(world, name="bob", password=PASSWORD))[0]
            assert await answer_of(world, name="root", password=PASSWORD) == (0, True)


async def test_an_account_that_may_not_sign_in_does_not_enrol(make_world):
    async with make_world() as before:
        await before.add_user("bob")
        await before.call("PATCH", "/admin/users/bob", {"prohibit_login": True}, as_="root")
        async with make_world(**REQUIRED) as world:
            bob = Person(world, "bob")
            page = await bob.sign_in(await bob.get("/login"))
            assert (page.status_code, "may not sign in" in page.text) == (403, True)
