"""Accounts that are named before their events arrive, and what is copied of them."""

import pytest

from ingot_contracts.identity import UserDeleted
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.core import mentions
from ingot_issues.core.logins import NOBODY_SECONDS, MentionedUsers, find_users
from ingot_issues.store import accounts

from .builders import account

NOTIFICATIONS = "//notifications"


async def copies(world, *ids):
    async with world.db.read() as db:
        return {id_: person.login for id_, person in (await accounts.get_people(db, ids)).items()}


def questions(world):
    """The logins that identity was asked for."""
    paths = [path for path in world.identity.paths if "/by-name/" in path]
    return [path.rpartition("/")[2] for path in paths]


async def test_a_mention_makes_no_copy_and_is_listed_all_the_same(world):
    await world.open_issue(body="@cat look")
    await world.work()
    assert await copies(world, 3) == {}
    listed = await world.call("GET", NOTIFICATIONS, as_=3)
    assert [thread["subject"]["title"] for thread in listed.json()] == ["It burns"]


@pytest.mark.parametrize("event", ["deleted", "renamed"])
async def test_an_answer_that_an_event_overtakes_changes_no_copy(world, monkeypatch, event):
    ask = HttpIdentity.account_by_name

    async def slow(self, login):
        answer = await ask(self, login)
        async with world.db.transaction() as tx:
            await accounts.save(tx, account(3, login="kitty"))
        if event == "deleted":
            await world.deliver(UserDeleted(user_id=3, login="kitty"))
        return answer

    monkeypatch.setattr(HttpIdentity, "account_by_name", slow)
    await world.open_issue(body="@cat look")
    await world.work()
    assert await copies(world, 3) == ({} if event == "deleted" else {3: "kitty"})
    if event == "renamed":
        assert await find_users(world.db, world.components.identity, ["cat"]) == {"cat": 3}
        assert await copies(world, 3) == {3: "kitty"}


async def test_identity_is_asked_once_in_a_minute_for_a_name_that_nobody_has(world):
    seconds = [0.0]
    users = MentionedUsers(world.db, world.components.identity, clock=lambda: seconds[0])
    for at, count in ((0, 1), (NOBODY_SECONDS - 1, 1), (NOBODY_SECONDS, 2)):
        seconds[0] = at
        assert await users.find(["Nobody"]) == {}
        assert questions(world) == ["nobody"] * count
    async with world.db.transaction() as tx:
        await accounts.save(tx, account(3, login="nobody"))
    assert await users.find(["nobody"]) == {"nobody": 3}, "its event has arrived"


async def test_a_review_asks_for_no_more_names_than_one_text(world):
    await world.propose(as_=1)
    await world.work()
    first, second = (" ".join(f"@{who}{number}" for number in range(49)) for who in "xy")
    comment = {"path": "a", "body": second, "new_position": 1}
    written = await world.call(
        "POST", "/pulls/1/reviews", {"event": "COMMENT", "body": first, "comments": [comment]}
    )
    assert written.status_code == 200, written.text
    world.identity.paths.clear()
    await world.work()
    assert len(questions(world)) == mentions.MOST
