"""Sessions of browsers: for whom the gateway gets a principal, the list, and what ends them."""

from datetime import timedelta

from sqlalchemy import select, update

from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.sessions.store import browser_session
from ingot_identity.two_factors.components import TwoFactorComponents

from ..applications import Person
from ..world import PASSWORD


async def start(world, name="ann", **where):
    """The secret of a new session."""
    async with world.database.transaction() as tx:
        account = await accounts.get_by_login(tx, name)
        return await browser_sessions.start(tx, account.id, stamp_of(account.password_hash), **where)


async def holder(world, secret):
    """The id of the account for which the gateway gets a principal."""
    return (await world.authenticate(session=secret)).json()["user_id"]


async def call(world, secret, method, path):
    """A request that came with a session."""
    headers = {"ingot-principal": (await world.authenticate(session=secret)).json()["statement"]}
    return await world.http.request(method, f"/api/v1{path}", headers=headers)


async def test_a_session_is_a_principal_with_all_rights_of_the_account(world):
    ann = await world.add_user("ann")
    secret = await start(world)
    assert await holder(world, secret) == ann
    assert await holder(world, secret[::-1]) == 0
    assert (await call(world, secret, "GET", "/users/ann/tokens")).status_code == 200


async def test_the_list_shows_where_each_began_and_which_one_asks(world):
    await world.add_user("ann")
    await start(world, address="192.0.2.1", user_agent="Firefox")
    secret = await start(world, address="192.0.2.2", user_agent="x" * 1000)
    await start(world, "root")
    answer = await call(world, secret, "GET", "/user/sessions")
    shown = [(one["address"], one["user_agent"], one["current"]) for one in answer.json()]
    assert shown == [("192.0.2.2", "x" * 255, True), ("192.0.2.1", "Firefox", False)]
    assert answer.headers["X-Total-Count"] == "2"
    assert secret not in answer.text


async def test_the_list_takes_the_same_statements_for_any_number(world):
    await world.add_user("ann")
    counts = []
    for _ in range(2):
        await start(world)
        await world.call("GET", "/user/sessions", as_="ann")
        with world.count_statements() as statements:
            await world.call("GET", "/user/sessions", as_="ann")
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_a_deleted_session_lets_nobody_in(world):
    ann = await world.add_user("ann")
    secret, other = await start(world), await start(world)
    id_ = (await world.call("GET", "/user/sessions", as_="ann")).json()[1]["id"]
    assert (await world.call("DELETE", f"/user/sessions/{id_}", as_="root")).status_code == 404
    assert await holder(world, secret) == ann
    assert (await world.call("DELETE", f"/user/sessions/{id_}", as_="ann")).status_code == 204
    assert (await world.call("DELETE", f"/user/sessions/{id_}", as_="ann")).status_code == 404
    assert (await holder(world, secret), await holder(world, other)) == (0, ann)
    assert await world.emitted(CredentialsRevoked) == [CredentialsRevoked(user_id=ann)]


async def test_a_session_ends_after_its_lifetime(world):
    ann = await world.add_user("ann")
    secret = await start(world)
    before_end = browser_sessions.LIFETIME - timedelta(hours=1)
    for passed, is_there in ((before_end, True), (timedelta(hours=1), False)):
        async with world.database.transaction() as tx:
            expires_at = (await tx.execute(select(browser_session.c.expires_at))).scalar()
            await tx.execute(update(browser_session).values(expires_at=expires_at - passed))
        assert await holder(world, secret) == (ann if is_there else 0)
        answer = await world.call("GET", "/user/sessions", as_="ann")
        assert [one["address"] for one in answer.json()] == [""] * is_there


async def test_signing_out_is_known_everywhere(world):
    ann = await world.add_user("ann")
    secret = await start(world)
    async with world.database.transaction() as tx:
        await browser_sessions.end(tx, secret)
        await browser_sessions.end(tx, secret)
    assert await holder(world, secret) == 0
    assert await world.emitted(CredentialsRevoked) == [CredentialsRevoked(user_id=ann)]


async def test_a_new_password_ends_all_sessions(world):
    await world.add_user("ann")
    secrets = [await start(world), await start(world)]
    await world.call("PATCH", "/admin/users/ann", {"password": PASSWORD + "!"}, as_="root")
    assert [await holder(world, secret) for secret in secrets] == [0, 0]


async def test_a_password_that_is_changed_while_it_is_checked_signs_nobody_in(world, monkeypatch):
    await world.add_user("ann")
    passwords, person = world.part(TwoFactorComponents).sign_ins.passwords, Person(world, "ann")
    page, matches = await person.get("/login"), passwords.matches

    async def matches_and_is_changed(password, password_hash):
        is_right = await matches(password, password_hash)
        edited = await world.call("PATCH", "/admin/users/ann", {"password": PASSWORD + "!"}, as_="root")
        assert (is_right, edited.status_code) == (True, 200)
        return is_right

    monkeypatch.setattr(passwords, "matches", matches_and_is_changed)
    answer = await person.sign_in(page)
    assert (answer.status_code, "changed meanwhile" in answer.text) == (403, True)
    async with world.database.read() as db:
        assert (await db.execute(select(browser_session))).all() == []
    monkeypatch.undo()
    assert "as <strong>ann" in (await person.sign_in(answer, PASSWORD + "!")).text


async def test_who_may_not_sign_in_has_no_session(world):
    await world.add_user("ann")
    secret = await start(world)
    await world.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    assert await holder(world, secret) == 0


def test_a_form_token_is_for_one_browser_and_each_is_another():
    cookie = browser_sessions.new_secret()
    one, other = browser_sessions.form_token(cookie), browser_sessions.form_token(cookie)
    assert one.split(".")[0] != other.split(".")[0]
    assert one.split(".")[1] != other.split(".")[1]
    assert browser_sessions.is_form_token(one, cookie)
    assert browser_sessions.is_form_token(other, cookie)
    with_other_nonce = f"{other.split('.')[0]}.{one.split('.')[1]}"
    for token in (with_other_nonce, one.split(".")[1], one + "0", f".{one}", ""):
        assert not browser_sessions.is_form_token(token, cookie)
    for another in (browser_sessions.new_secret(), ""):
        assert not browser_sessions.is_form_token(one, another)
