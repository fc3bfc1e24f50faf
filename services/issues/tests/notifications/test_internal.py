"""Notices for mail: who is announced and why, and the content as one reader may see it at that time."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.issues.events import PeopleNotified
from ingot_testing.service import emitted_events

from ..builders import APP, HEAD, NEXT, push, repository

MAIL = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"mail": MAIL.x}}


async def notice(world, issue_id=1, **query):
    world.forget_grants()
    headers = {SERVICE_HEADER: ServiceIdentity("mail", MAIL).token("issues")}
    parameters = {"user": 3, "actor": 1} | query
    answer = await world.http.get(f"/internal/issues/{issue_id}/notice", params=parameters, headers=headers)
    return answer.json() if answer.status_code == 200 else answer.status_code


async def announced(world):
    """The latest announcement: each person with the reason."""
    await world.work()
    event = (await emitted_events(world.db, PeopleNotified))[-1]
    return {person.account_id: person.reason for person in event.people}


async def test_each_person_is_announced_with_the_strongest_reason(world):
    world.repos.watchers[APP] = [2, 4]
    await world.open_issue(as_=2)
    await world.create("/issues/1/comments", {"body": "see @cat"})
    assert await announced(world) == {2: "participating", 3: "mentioned", 4: "watching", 1: "own"}


async def test_who_may_not_read_is_not_announced(world):
    world.repos.repositories[APP] = repository(private=True)
    await world.open_issue()
    await world.create("/issues/1/comments", {"body": "see @cat"})
    assert await announced(world) == {1: "own"}


async def test_a_notice_of_a_comment_has_its_text_as_it_is_now(world):
    await world.open_issue(as_=2)
    comment = await world.create("/issues/1/comments", {"body": "first"})
    await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": "second"})
    content = await notice(world, comment=comment["id"])
    assert (content["text"], content["title"], content["number"]) == ("second", "It burns", 1)
    assert (content["full_name"], content["state"], content["actor"]) == ("ann/app", "open", "ann")
    assert content["url"].endswith(f"/ann/app/issues/1#issuecomment-{comment['id']}")


async def test_a_notice_of_a_pull_request_has_its_last_pushed_head(world):
    await world.propose_many("fix")
    assert (await notice(world, user=1))["head_sha"] == HEAD
    await world.deliver(push("refs/heads/fix", after=NEXT))
    assert (await notice(world, user=1))["head_sha"] == NEXT


async def test_a_notice_of_a_deleted_comment_is_not_found(world):
    await world.open_issue(as_=2)
    comment = await world.create("/issues/1/comments", {"body": "first"})
    await world.call("DELETE", f"/issues/comments/{comment['id']}")
    assert await notice(world, comment=comment["id"]) == 404


async def test_a_comment_of_another_issue_is_not_found(world):
    await world.open_issue(as_=2)
    await world.open_issue(as_=2)
    comment = await world.create("/issues/2/comments", {"body": "first"})
    assert await notice(world, comment=comment["id"]) == 404


async def test_a_reader_who_lost_access_finds_nothing(world):
    await world.open_issue(as_=2)
    assert (await notice(world))["number"] == 1
    world.repos.repositories[APP] = repository(private=True)
    assert await notice(world) == 404
    assert await notice(world, issue_id=999) == 404
