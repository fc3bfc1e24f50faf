"""Accounts that are named before their events arrive, and what is copied of them."""

import msgspec
import pytest

from ingot_contracts.identity.accounts import Profile, User
from ingot_contracts.identity.events import UserDeleted, UserEdited
from ingot_issues.accounts import store as accounts
from ingot_issues.accounts.rules import (
    UNKNOWN_LOGIN_SECONDS,
    MentionedUsers,
    fill_profiles,
    find_users,
)
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.mentions import rules as mentions

from ..builders import THEN, account

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
    for at, count in ((0, 1), (UNKNOWN_LOGIN_SECONDS - 1, 1), (UNKNOWN_LOGIN_SECONDS, 2)):
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


PROFILE = Profile(
    html_url="http://forge/ann", created=THEN, description="mends", website="http://a", location="Rome"
)


async def test_people_of_issues_and_pull_requests_have_their_profile(world):
    for account_id in (1, 2):
        edited = account(account_id, profile=PROFILE)
        await world.deliver(UserEdited(account=edited, previous_login=edited.login))
    await world.open_issue(assignees=["ann", "bob"])
    pull = await world.propose(as_=2, reviewers=["ann"])
    issue = (await world.call("GET", "/issues/1", as_=0)).json()
    comment = await world.create("/issues/1/comments", {"body": "x"})
    [event, *_] = await world.payloads("issues.issue.changed.v1")
    for user in (
        issue["user"],
        *issue["assignees"],
        pull["user"],
        *pull["requested_reviewers"],
        comment["user"],
        event["sender"],
    ):
        assert set(user) == set(User.__struct_fields__)
        assert user.items() >= msgspec.to_builtins(PROFILE).items()
        assert (user["is_admin"], user["last_login"]) == (False, "0001-01-01T00:00:00Z")


async def test_copies_that_are_older_than_profiles_are_filled(world):
    """A copy of a deleted account stays as it is."""
    for account_id in (1, 2):
        await world.deliver(UserEdited(account=account(account_id), previous_login="x"))
    world.identity.accounts[1] = msgspec.structs.replace(world.identity.accounts[1], profile=PROFILE)
    del world.identity.accounts[2]
    await world.open_issue(assignees=["bob"])
    await fill_profiles(world.db, world.components.identity)
    issue = (await world.call("GET", "/issues/1")).json()
    assert (issue["user"]["location"], issue["assignee"]["html_url"]) == ("Rome", "")
