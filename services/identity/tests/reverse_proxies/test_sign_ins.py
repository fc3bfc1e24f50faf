"""Sign-ins of users whom a reverse proxy has identified, and attempts to get another account by them."""

from contextlib import asynccontextmanager

import pytest
from sqlalchemy import func, select

from ingot_chassis.security.principal import ANONYMOUS
from ingot_identity.emails import store as emails
from ingot_identity.passkeys.store import passkey
from ingot_identity.reverse_proxies import store

from ..applications import Person, forms
from ..passkeys.authenticator import USER_PRESENT, add_passkey
from ..two_factors.test_two_factors import enrol
from ..world import GATEWAY, PASSWORD, REPOS

ANN = {"user": "ann", "email": "ann@example.com", "name": "Ann", "address": "192.0.2.1", "user_agent": "F"}


@pytest.fixture
async def creating(make_world):
    async with make_world(proxy_first_sign_in="create") as world:
        yield world


async def sign_in(world, **fields):
    """The secret of the session; empty without one."""
    headers = GATEWAY.headers(ANONYMOUS, peer="gateway")
    user = fields.get("user", "ann")
    body = ANN | {"email": f"{user.lower()}@example.com"} | fields
    answer = await world.http.post("/internal/proxy-sign-ins", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["secret"]


async def user_of(world, secret, proxy_user="ann"):
    """The id of the account that a session opens for a user of the proxy; 0 without one."""
    return (await world.authenticate(session=secret, proxy_user=proxy_user)).json()["user_id"]


async def test_the_account_of_the_same_name_is_signed_in(world):
    ann = await world.add_user("ann")
    secret = await sign_in(world)
    assert await user_of(world, secret) == ann
    assert await user_of(world, await sign_in(world)) == ann


async def test_without_an_account_of_that_name_there_is_no_session(world):
    assert await sign_in(world) == ""


async def test_the_link_stays_with_the_account_when_names_change(world):
    ann = await world.add_user("ann")
    await sign_in(world)
    await world.call("POST", "/admin/users/ann/rename", {"new_username": "anna"}, as_="root")
    assert await user_of(world, await sign_in(world)) == ann


async def test_an_administrator_is_not_linked_by_its_name(world):
    assert await sign_in(world, user="root") == ""
    await world.call("POST", "/orgs", {"username": "acme"}, as_="root")
    assert await sign_in(world, user="acme") == ""


async def test_an_account_belongs_to_one_user(world):
    await world.add_user("ann")
    assert await sign_in(world) != ""
    assert await sign_in(world, user="ANN") == ""


async def test_a_session_opens_nothing_for_another_user_of_the_proxy(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    secret, _ = await sign_in(world), await sign_in(world, user="bob")
    for other in ("bob", "eve", "ANN"):
        assert await user_of(world, secret, other) == 0
    assert await user_of(world, secret) > 0


async def test_a_user_who_may_not_sign_in_gets_no_session(world):
    await world.add_user("ann")
    secret = await sign_in(world)
    await world.call("PATCH", "/admin/users/ann", {"active": False}, as_="root")
    assert await sign_in(world) == ""
    refused = await world.authenticate(session=secret, proxy_user="ann")
    assert refused.json().get("user_id", 0) == 0


async def own_session(world, name):
    """The secret of a session that began on the page of the sign-in."""
    person = Person(world, name)
    await person.sign_in(await person.get("/login"))
    return dict(person.http.cookies)["ingot-session"]


async def test_a_second_factor_is_not_passed_by(world):
    """The account signs in with the factor, and is linked then."""
    ann = await world.add_user("ann")
    secret = await own_session(world, "ann")
    await enrol(world, "ann")
    assert await sign_in(world) == ""
    await world.call("POST", "/admin/users/ann/rename", {"new_username": "anna"}, as_="root")
    assert await user_of(world, secret) == ann
    await world.add_user("bob")
    assert await user_of(world, await own_session(world, "bob")) == 0


async def test_an_account_without_a_link_signs_in_by_its_own_means(world):
    secret = await own_session(world, "root")
    assert await sign_in(world, user="root") == ""
    assert await user_of(world, secret, "Root") == 1
    assert await user_of(world, secret, "ann") == 0


async def test_an_account_that_existed_before_signs_in_by_its_own_means(creating):
    ann = await creating.add_user("ann")
    assert await sign_in(creating) == ""
    assert await user_of(creating, await own_session(creating, "ann")) == ann


@pytest.mark.parametrize("mode", ["link", "link_or_create"])
@pytest.mark.parametrize("email", ["", "ann@corp.example", "mallory@example.com", "claimed@example.com"])
async def test_an_account_of_another_person_with_that_name_is_not_linked(make_world, mode, email):
    """Mallory may have registered it. Claims of addresses prove nothing."""
    async with make_world(proxy_first_sign_in=mode) as world:
        await world.add_user("ann")
        await world.add_user("mallory")
        await world.call("POST", "/user/emails", {"emails": ["claimed@example.com"]}, as_="ann")
        assert await sign_in(world, email=email) == ""
        async with world.database.read() as db:
            assert await store.get_account(db, "ann") is None


async def test_any_confirmed_address_links_the_account(world):
    ann = await world.add_user("ann")
    async with world.database.transaction() as tx:
        more = {"ann@corp.example": "Ann@Corp.example"}
        await emails.add(tx, ann, more, is_primary=False, confirmed=True)
    assert await user_of(world, await sign_in(world, email="Ann@corp.Example")) == ann


async def test_a_new_account_is_made_if_the_setting_says_so(creating):
    secret = await sign_in(creating, email="ann@corp.example")
    shown = (await creating.call("GET", "/users/ann", as_="root")).json()
    assert (shown["full_name"], shown["email"], shown["is_admin"]) == ("Ann", "ann@corp.example", False)
    assert await user_of(creating, secret) == shown["id"]
    assert (await creating.authenticate(name="ann", password="")).json()["user_id"] == 0


async def test_an_account_that_exists_is_not_taken_by_a_new_one(creating):
    await creating.add_user("ann")
    assert await sign_in(creating) == ""
    assert await sign_in(creating, user="nora", email="ann@example.com") == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "a b"},
        {"user": "ann/../root"},
        {"user": "user"},
        {"user": "x" * 200},
        {"user": "' OR 1=1 --"},
        {"email": ""},
        {"email": "no address"},
        {"email": "a@x.io, b@x.io"},
    ],
)
async def test_a_name_or_address_that_no_account_can_have_makes_none(creating, fields):
    assert await sign_in(creating, **fields) == ""
    assert (await creating.call("GET", "/admin/users", as_="root")).headers["x-total-count"] == "1"


async def needs_proof(world, secret):
    """True if forms that change access ask the person of the session for a proof."""
    principal = {"ingot-principal": (await world.authenticate(session=secret)).json()["statement"]}
    return (await world.http.get("/api/v1/user/proof", headers=principal)).json()["needed"]


async def test_the_proxy_proves_nothing_to_forms_that_ask_for_the_password(world):
    await world.add_user("ann")
    secret = await sign_in(world)
    assert await needs_proof(world, secret)
    person = Person(world, "ann")
    person.http.cookies["ingot-session"] = secret
    page = await person.get("/login/confirm", {"to": "/"})
    await person.submit(page, password=PASSWORD)
    assert not await needs_proof(world, secret)
    assert not await needs_proof(world, await own_session(world, "ann"))


async def test_an_account_without_a_password_is_asked_for_none(creating):
    assert not await needs_proof(creating, await sign_in(creating))


async def test_only_the_gateway_signs_people_in(world):
    await world.add_user("ann")
    headers = REPOS.headers(ANONYMOUS, peer="repos")
    assert (await world.http.post("/internal/proxy-sign-ins", json=ANN, headers=headers)).status_code == 404
    assert (await world.http.post("/internal/proxy-sign-ins", json=ANN)).status_code == 404


async def test_a_session_without_a_proxy_counts_as_before(world):
    ann = await world.add_user("ann")
    secret = await sign_in(world)
    assert (await world.authenticate(session=secret)).json()["user_id"] == ann
    assert (await world.authenticate(name="ann", password=PASSWORD)).json()["user_id"] == ann


@pytest.fixture
async def with_passkeys(make_world):
    """Makes a world whose gateway signs people in for the proxy, or no longer does."""

    @asynccontextmanager
    async def make(*, is_on):
        url = "http://localhost:3000/"
        async with make_world(proxy_first_sign_in="create", proxy_sign_ins=is_on, public_url=url) as world:
            person = Person(world, "ann")
            person.http.cookies["ingot-session"] = await sign_in(world)
            yield world, person

    return make


async def count_passkeys(world):
    async with world.database.read() as db:
        return (await db.execute(select(func.count()).select_from(passkey))).scalar_one()


async def test_a_person_of_the_proxy_may_have_a_simple_security_key(with_passkeys):
    """It follows the sign-in of the proxy, so it need not replace it."""
    async with with_passkeys(is_on=True) as (world, person):
        _, added = await add_passkey(person, flags=USER_PRESENT)
        assert added.status_code == 200, added.text
        assert await count_passkeys(world) == 1


async def test_after_the_proxy_is_off_a_key_must_sign_in_alone(with_passkeys):
    async with with_passkeys(is_on=False) as (world, person):
        _, refused = await add_passkey(person, flags=USER_PRESENT)
        assert (refused.status_code, await count_passkeys(world)) == (403, 0)


@pytest.mark.parametrize(("is_on", "status", "left"), [(True, 200, 0), (False, 409, 1)])
async def test_the_last_passkey_stays_only_without_the_proxy(with_passkeys, is_on, status, left):
    async with with_passkeys(is_on=is_on) as (world, person):
        _, added = await add_passkey(person)
        assert added.status_code == 200, added.text
        page = await person.get("/login/passkeys")
        number = next(n for n, (_, fields) in enumerate(forms(page.text)) if "id" in fields)
        answer = await person.submit(page, number, do="delete")
        assert (answer.status_code, await count_passkeys(world)) == (status, left)
