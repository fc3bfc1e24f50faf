"""Issues that block others."""

import msgspec
import pytest

from ingot_contracts.repos.trackers import DEFAULT_TRACKER

from ..builders import APP, new_commit, push, repository

SQLITE = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)

LIBRARY = "//repos/ann/lib"


async def numbers(world, path, *, as_=1):
    answer = await world.call("GET", path, as_=as_)
    assert int(answer.headers["x-total-count"]) == len(answer.json())
    return [f"{one['repository']['name']}#{one['number']}" for one in answer.json()]


async def test_a_blocked_issue_is_closed_after_what_blocks_it(world):
    for _ in range(2):
        await world.open_issue()
    for _ in range(2):
        added = await world.call("POST", "/issues/1/dependencies", {"index": 2})
        assert (added.status_code, added.json()["number"]) == (201, 1)
    assert await numbers(world, "/issues/1/dependencies") == ["app#2"]
    assert await numbers(world, "/issues/2/blocks") == ["app#1"]
    refused = await world.call("PATCH", "/issues/1", {"state": "closed", "title": "other"})
    assert refused.status_code == 412
    assert refused.json()["message"] == "it is blocked by 1 open issue"
    assert (await world.call("GET", "/issues/1")).json()["title"] == "It burns"
    assert (await world.call("PATCH", "/issues/2", {"state": "closed"})).status_code == 201
    assert (await world.call("PATCH", "/issues/1", {"state": "closed"})).status_code == 201
    rows = await world.timeline()
    assert [row["type"] for row in rows] == ["add_dependency", "close"]
    assert rows[0]["dependent_issue"]["number"] == 2
    await world.call("DELETE", "/issues/1/dependencies", {"index": 2})
    rows = await world.timeline(2)
    assert [row["type"] for row in rows] == ["add_dependency", "close", "remove_dependency"]
    assert [rows[at]["dependent_issue"]["number"] for at in (0, 2)] == [1, 1]


async def test_a_blocked_pull_request_is_not_merged(world):
    await world.propose_many("fix")
    await world.open_issue()
    await world.call("POST", "/issues/2/blocks", {"index": 1, "owner": "ANN", "repo": "App"})
    refused = await world.call("POST", "/pulls/1/merge")
    assert (refused.status_code, refused.headers["x-error-message"]) == (405, "it is blocked by 1 open issue")
    await world.call("DELETE", "/issues/2/blocks", {"index": 1})
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200


async def test_a_commit_does_not_close_what_is_blocked(world):
    for _ in range(2):
        await world.open_issue()
    await world.call("POST", "/issues/1/dependencies", {"index": 2})
    await world.deliver(push(commits=[new_commit("e" * 40, "closes #1")], total_commits=1))
    await world.workers.step()
    assert await world.issue_states(1, 2) == ["open", "open"]
    await world.deliver(push(commits=[new_commit("f" * 40, "closes #2")], total_commits=1))
    await world.workers.step()
    assert await world.issue_states(1, 2) == ["open", "closed"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"index": 1}, 422),
        ({"index": 99}, 404),
        ({"index": 2, "repo": "none"}, 404),
        ({"index": 1, "owner": "ann", "repo": "lib"}, 404),
        ({}, 422),
        ({"index": -1}, 404),
    ],
)
async def test_what_cannot_block_is_refused(world, body, status):
    world.add_library(private=True)
    await world.create(f"{LIBRARY}/issues", {"title": "secret"})
    await world.open_issue()
    del world.repos.levels[9, 2]
    for kind in ("dependencies", "blocks"):
        for method in ("POST", "DELETE"):
            answer = await world.call(method, f"/issues/1/{kind}", body, as_=2)
            expected = 200 if (method, status) == ("DELETE", 422) and body else status
            assert answer.status_code == expected, (kind, method, answer.text)


async def test_two_issues_do_not_block_each_other(world):
    for _ in range(2):
        await world.open_issue()
    await world.call("POST", "/issues/1/dependencies", {"index": 2})
    assert (await world.call("POST", "/issues/2/dependencies", {"index": 1})).status_code == 422
    assert (await world.call("POST", "/issues/1/blocks", {"index": 2})).status_code == 422


async def test_a_blocking_issue_of_another_repository_is_for_its_readers(world):
    world.add_library(private=True)
    await world.create(f"{LIBRARY}/issues", {"title": "secret"})
    await world.open_issue()
    added = await world.call("POST", "/issues/1/dependencies", {"index": 1, "owner": "ann", "repo": "lib"})
    assert added.status_code == 201
    assert await numbers(world, "/issues/1/dependencies", as_=2) == ["lib#1"]
    assert await numbers(world, "/issues/1/dependencies", as_=3) == []
    assert await numbers(world, f"{LIBRARY}/issues/1/blocks", as_=2) == ["app#1"]
    assert [row["dependent_issue"]["title"] for row in await world.timeline(as_=2)] == ["secret"]
    assert await world.timeline(as_=3) == []


async def test_to_block_an_issue_takes_write_access_to_its_repository(world):
    world.add_library()
    await world.create(f"{LIBRARY}/issues", {"title": "x"})
    await world.open_issue()
    body = {"index": 1, "owner": "ann", "repo": "lib"}
    assert (await world.call("POST", "/issues/1/blocks", body, as_=2)).status_code == 403
    assert (await world.call("POST", "/issues/1/dependencies", body, as_=2)).status_code == 201


def switch_off(world):
    tracker = msgspec.structs.replace(DEFAULT_TRACKER, enable_issue_dependencies=False)
    world.repos.repositories[APP] = repository(internal_tracker=tracker)


@SQLITE
async def test_nothing_is_blocked_where_dependencies_are_off(world):
    await world.propose_many("fix")
    for number in (2, 3):
        await world.open_issue()
        await world.call("POST", f"/issues/{number}/blocks", {"index": 1})
    await world.call("POST", "/issues/2/dependencies", {"index": 3})
    switch_off(world)
    assert (await world.call("GET", "/issues/2/dependencies")).status_code == 404
    assert await numbers(world, "/issues/3/blocks") == ["app#1", "app#2"]
    assert (await world.call("PATCH", "/issues/2", {"state": "closed"})).status_code == 201
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200


@SQLITE
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_dependencies_that_are_off_are_not_changed(world, method):
    """The repository of the issue that waits decides."""
    world.add_library()
    await world.create(f"{LIBRARY}/issues", {"title": "x"})
    await world.open_issue()
    switch_off(world)
    body = {"index": 1, "owner": "ann", "repo": "lib"}
    refused = await world.call(method, "/issues/1/dependencies", body)
    assert (refused.status_code, "no dependencies" in refused.json()["message"]) == (404, True)
    assert (await world.call(method, "/issues/1/blocks", {"index": 1})).status_code == 404
    refused = await world.call(
        method, f"{LIBRARY}/issues/1/blocks", {"index": 1, "owner": "ann", "repo": "app"}
    )
    assert refused.status_code == 404
    assert (await world.call(method, "/issues/1/blocks", body)).status_code in (200, 201)


@SQLITE
async def test_dependencies_that_were_just_switched_on_are_obeyed(world):
    for _ in range(2):
        await world.open_issue()
    switch_off(world)
    await world.call("GET", "/issues/1")
    world.repos.repositories[APP] = repository()
    added = await world.call("POST", "/issues/1/dependencies", {"index": 2}, remember=True)
    assert added.status_code == 201
