"""Changing one's own password, and that sessions do not guess it."""

from ingot_chassis.http.paging import Page
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.sessions import store as browser_sessions

from ..world import PASSWORD

NEW = "battery staple"


async def change(world, account_id, old_password, new_password=NEW):
    """As ann, with the session of a browser."""
    principal = Principal(id=account_id, name="ann", via="session", session_id=1)
    headers = {"ingot-principal": await world.principal_token(principal)}
    body = {"old_password": old_password, "new_password": new_password}
    return await world.http.post("/api/v1/user/password", json=body, headers=headers)


async def test_who_knows_the_password_changes_it_and_every_session_ends(world):
    account_id = await world.add_user("ann")
    await world.start_session("ann")
    token = (await world.call("POST", "/users/ann/tokens", {"name": "t"}, as_="ann")).json()["sha1"]
    for old, new, field in (
        ("wrong password", NEW, "old_password"),
        (PASSWORD, "short", "new_password"),
        (PASSWORD, "", "new_password"),
        (PASSWORD, "x" * 2000, "new_password"),
    ):
        answer = await change(world, account_id, old, new)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await world.call("POST", "/user/password", {}, token=token)).status_code == 401

    answer = await change(world, account_id, PASSWORD)
    assert (answer.status_code, answer.content) == (204, b"")
    for password, id_ in ((PASSWORD, 0), (NEW, account_id)):
        assert (await world.authenticate(name="ann", password=password)).json()["user_id"] == id_
    assert (await world.authenticate(token=token)).json()["user_id"] == account_id
    async with world.database.read() as db:
        assert (await browser_sessions.list_page(db, account_id, Page(1, 1)))[1] == 0
    assert CredentialsRevoked(user_id=account_id) in await world.emitted(CredentialsRevoked)


async def test_a_password_is_not_guessed_by_a_session(world):
    account_id = await world.add_user("ann")
    answers = [(await change(world, account_id, f"guess {number}")).status_code for number in range(12)]
    assert (answers[0], answers[-1]) == (422, 429)
    assert (await change(world, account_id, PASSWORD)).status_code == 429
