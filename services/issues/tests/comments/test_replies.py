"""Replies by mail: comments under the rules of the API, each stored once."""

import asyncio

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.issues.events import CommentChanged
from ingot_testing.service import emitted_events

from ..builders import APP, repository

MAIL, WEB = SigningKey.generate(), SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"mail": MAIL.x, "web": WEB.x}}


async def reply(world, *, as_=3, issue_id=1, key="k1", body="By mail", peer="mail", **principal):
    world.forget_grants()
    own = ServiceIdentity(peer, MAIL if peer == "mail" else WEB)
    headers = {SERVICE_HEADER: own.token("issues")}
    headers |= world.headers(as_, **{"via": "mail", "scopes": ["write:issue"]} | principal)
    path = f"/internal/issues/{issue_id}/replies"
    return await world.http.post(path, json={"key": key, "body": body}, headers=headers)


async def bodies(world):
    return [one["body"] for one in (await world.call("GET", "/issues/1/comments")).json()]


async def test_a_reply_is_a_comment_of_its_sender(world):
    await world.open_issue()
    answer = await reply(world)
    assert answer.status_code == 200
    (comment,) = (await world.call("GET", "/issues/1/comments")).json()
    assert (comment["id"], comment["user"]["login"]) == (answer.json()["comment_id"], "cat")
    assert comment["body"] == "By mail"


async def test_a_reply_is_announced_like_a_comment(world):
    await world.open_issue()
    await reply(world, body="See #1 and @bob")
    (event,) = await emitted_events(world.db, CommentChanged)
    assert (event.action, event.sender.login, event.comment.body) == ("created", "cat", "See #1 and @bob")


async def test_a_reply_to_a_pull_request(world):
    await world.propose()
    assert (await reply(world)).status_code == 200
    assert await bodies(world) == ["By mail"]


async def test_a_message_that_comes_again_stores_nothing(world):
    await world.open_issue()
    first, second = await reply(world), await reply(world)
    assert first.json() == second.json()
    assert await bodies(world) == ["By mail"]


async def test_a_message_that_comes_twice_at_once_is_one_comment(world):
    await world.open_issue()
    answers = await asyncio.gather(*(reply(world) for _ in range(5)))
    assert len({answer.text for answer in answers}) == 1
    assert await bodies(world) == ["By mail"]


async def test_a_stored_reply_is_returned_after_the_conversation_was_locked(world):
    await world.open_issue()
    first = await reply(world)
    await world.call("PUT", "/issues/1/lock", {})
    assert (await reply(world)).json() == first.json()


async def test_the_comment_of_a_reply_that_was_deleted_does_not_come_back(world):
    await world.open_issue()
    comment_id = (await reply(world)).json()["comment_id"]
    await world.call("DELETE", f"/issues/comments/{comment_id}")
    await reply(world)
    assert await bodies(world) == []


async def test_a_reader_cannot_reply_to_a_locked_conversation(world):
    await world.open_issue()
    await world.call("PUT", "/issues/1/lock", {})
    answer = await reply(world)
    assert (answer.status_code, answer.json()["message"]) == (403, "the conversation is locked")
    assert (await reply(world, as_=2)).status_code == 200


async def test_a_blocked_person_cannot_reply(world):
    await world.open_issue()
    world.identity.blocks.add((1, 3))
    assert (await reply(world)).status_code == 403


async def test_a_reply_to_an_archived_repository_is_refused(world):
    await world.open_issue()
    world.repos.repositories[APP] = repository(archived=True)
    assert (await reply(world)).status_code == 403


async def test_who_may_not_read_the_issue_gets_the_answer_of_a_missing_one(world):
    await world.open_issue()
    world.repos.repositories[APP] = repository(private=True)
    hidden, missing = await reply(world), await reply(world, issue_id=999)
    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)
    assert hidden.status_code == 404


async def test_a_token_without_the_scope_cannot_reply(world):
    await world.open_issue()
    assert (await reply(world, scopes=["read:issue"])).status_code == 403


async def test_a_reply_without_a_principal_is_refused(world):
    await world.open_issue()
    assert (await reply(world, as_=0)).status_code == 401


@pytest.mark.parametrize("body", ["", " \n "])
async def test_an_empty_reply_is_refused(world, body):
    await world.open_issue()
    assert (await reply(world, body=body)).status_code == 422


@pytest.mark.parametrize(("key", "body"), [("", "x"), ("k" * 65, "x"), ("k1", "x" * 65_537)])
async def test_a_request_beyond_the_limits_is_refused(world, key, body):
    await world.open_issue()
    assert (await reply(world, key=key, body=body)).status_code in (400, 422)


async def test_only_mail_replies(world):
    await world.open_issue()
    assert (await reply(world, peer="web")).status_code == 404
