"""The conversation of an issue, as web requests it for a page."""

import msgspec
import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.repos.trackers import DEFAULT_TRACKER
from ingot_testing.service import count_statements

from ..builders import APP, repository
from ..scheduled_merges.test_scheduled_merges import schedule

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def ask(world, number=1, *, as_=1, query=""):
    headers = world.headers(as_) | {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    world.forget_grants()
    path = f"/internal/repos/ann/app/issues/{number}/conversation{query}"
    return await world.http.get(path, headers=headers)


async def conversation(world, number=1, **options):
    answer = await ask(world, number, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def parts(world, number=1, *, as_=1, query=""):
    """The same conversation by the routes of the API."""
    path = f"/issues/{number}"
    timeline = await world.call("GET", f"{path}/timeline{query}", as_=as_)
    lists = [
        (await world.call("GET", f"{path}/{name}", as_=as_)).json()
        for name in ("reactions/counts", "dependencies", "blocks")
    ]
    scheduled = await world.call("GET", f"/pulls/{number}/merge/scheduled", as_=as_)
    return {
        "timeline": timeline.json(),
        "total": int(timeline.headers["x-total-count"]),
        **dict(zip(("reactions", "blockers", "blocks"), lists, strict=True)),
        "scheduled_merge": scheduled.json() if scheduled.status_code == 200 else None,
    }


async def talk(world):
    """Let ann and bob talk about issue 1. An issue of a private repository refers to it and blocks it."""
    world.add_library(private=True)
    comment = await world.create("/issues/1/comments", {"body": "first"}, as_=2)
    await world.create("/issues/1/comments", {"body": "second"})
    await world.create("/issues/1/reactions", {"content": "heart"}, as_=2)
    await world.create(f"/issues/comments/{comment['id']}/reactions", {"content": "+1"})
    for title in ("blocker", "blocked"):
        await world.open_issue(title)
    await world.create("//repos/ann/lib/issues", {"title": "secret", "body": "see ann/app#1"})
    await world.create("/issues/1/dependencies", {"index": 2})
    await world.create("/issues/1/dependencies", {"index": 1, "owner": "ann", "repo": "lib"})
    await world.create("/issues/1/blocks", {"index": 3})


@pytest.mark.parametrize("reader", [1, 2, 3])
async def test_a_conversation_is_what_the_parts_of_the_api_say(world, reader):
    await world.open_issue()
    await talk(world)
    shown = await conversation(world, as_=reader)
    assert shown == await parts(world, as_=reader)
    assert all(shown[name] for name in ("timeline", "reactions", "blockers", "blocks"))


async def test_nothing_of_a_private_repository_is_told_to_strangers(world):
    await world.open_issue()
    await talk(world)
    own, other = await conversation(world), await conversation(world, as_=3)
    assert [one["title"] for one in own["blockers"]] == ["blocker", "secret"]
    assert [one["title"] for one in other["blockers"]] == ["blocker"]
    assert other["total"] < own["total"]
    assert "secret" not in str(other)


async def test_the_conversation_of_a_pull_request_is_its_timeline_too(world):
    await schedule(world)
    await talk(world)
    shown = await conversation(world, as_=3)
    assert shown["scheduled_merge"]["user"]["login"] == "bob"
    assert shown == await parts(world, as_=3)
    assert [one["body"] for one in shown["timeline"] if one["type"] == "comment"] == ["first", "second"]


async def test_a_long_conversation_has_pages(world):
    await world.open_issue()
    for number in range(5):
        await world.create("/issues/1/comments", {"body": f"number {number}"})
    query = "?page=2&limit=2"
    shown = await conversation(world, query=query)
    assert shown == await parts(world, query=query)
    assert ([one["body"] for one in shown["timeline"]], shown["total"]) == (["number 2", "number 3"], 5)


async def test_nothing_blocks_an_issue_where_dependencies_are_switched_off(world):
    await world.open_issue()
    await talk(world)
    tracker = msgspec.structs.replace(DEFAULT_TRACKER, enable_issue_dependencies=False)
    world.repos.repositories[APP] = repository(internal_tracker=tracker)
    shown = await conversation(world)
    assert (shown["blockers"], [one["title"] for one in shown["blocks"]]) == ([], ["blocked"])


async def test_a_missing_issue_has_no_conversation(world):
    assert (await ask(world, 9)).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)  # PostgreSQL prepares them
async def test_a_conversation_takes_as_many_statements_for_many_comments_as_for_few(world):
    await world.open_issue()
    counted = []
    for _ in range(2):
        for _ in range(3):
            await world.create("/issues/1/comments", {"body": "word"})
        with count_statements(world.db) as statements:
            await conversation(world)
        counted.append(len(statements))
    assert 0 < counted[0] == counted[1]
