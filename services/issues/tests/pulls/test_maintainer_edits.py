"""``allow_maintainer_edit`` of pull requests: who may set it, and what is announced."""

import pytest

from ..builders import APP, repository

FORK = 8


async def allows(world, number=1):
    return (await world.call("GET", f"/pulls/{number}")).json()["allow_maintainer_edit"]


async def events(world):
    payloads = await world.payloads("issues.pull.changed.v1")
    return [(one["action"], one["pull_request"]["allow_maintainer_edit"]) for one in payloads]


@pytest.mark.parametrize("sent", [None, False, True])
@pytest.mark.parametrize("default", [False, True])
async def test_the_author_allows_it_or_the_repository_does_by_default(world, sent, default):
    world.repos.repositories[APP] = repository(default_allow_maintainer_edit=default)
    fields = {} if sent is None else {"allow_maintainer_edit": sent}
    opened = await world.propose(as_=4, head="dan:fix", **fields)
    assert opened["allow_maintainer_edit"] == (default if sent is None else sent)
    assert await allows(world) == opened["allow_maintainer_edit"]


async def test_only_who_may_write_to_the_head_allows_it(world):
    opened = await world.propose(as_=2, head="dan:fix", allow_maintainer_edit=True)
    assert opened["allow_maintainer_edit"] is False
    answer = await world.call("PATCH", "/pulls/1", {"allow_maintainer_edit": True}, as_=2)
    assert answer.status_code == 403
    assert await allows(world) is False


async def test_only_the_author_changes_it(world):
    await world.propose(as_=4, head="dan:fix")
    assert (await world.call("PATCH", "/pulls/1", {"allow_maintainer_edit": True})).status_code == 403
    assert (await world.call("PATCH", "/pulls/1", {"allow_maintainer_edit": False})).status_code == 201
    for allow in (True, True, False):
        answer = await world.call("PATCH", "/pulls/1", {"allow_maintainer_edit": allow}, as_=4)
        assert (answer.status_code, answer.json()["allow_maintainer_edit"]) == (201, allow)
    assert await events(world) == [("opened", False), ("edited", True), ("edited", False)]


async def test_a_deleted_pull_request_is_announced(world):
    opened = await world.propose(as_=4, head="dan:fix", allow_maintainer_edit=True)
    assert (await world.call("DELETE", "/issues/1")).status_code == 204
    (event,) = await world.payloads("issues.issue.deleted.v1")
    assert event["pull_id"] == opened["id"]
