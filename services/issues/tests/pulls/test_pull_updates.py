"""Updating the head of a pull request from its base.

Bob (2) may write to the repository, Dan (4) owns the fork.
"""

import pytest

from ingot_contracts.repos.merges import UpdateBranch

from ..builders import APP, FORK, HEAD, repository


async def update(world, query="", *, as_=2):
    return await world.call("POST", f"/pulls/1/update{query}", as_=as_)


@pytest.mark.parametrize(
    ("query", "fields", "style"),
    [
        ("", {}, "merge"),
        ("?style=rebase", {}, "rebase"),
        ("", {"default_update_style": "rebase"}, "rebase"),
        ("", {"default_update_style": "odd"}, "merge"),
    ],
)
async def test_the_base_comes_into_the_head_in_the_style_asked_for(world, query, fields, style):
    world.repos.repositories[APP] = repository(**fields)
    await world.propose()
    answer = await update(world, query)
    assert (answer.status_code, answer.content) == (200, b"")
    [request] = world.repos.bodies("update-branch", UpdateBranch)
    assert (request.head_branch, request.head_sha, request.base_branch) == ("fix", HEAD, "main")
    assert (request.base_repository_id, request.style) == (APP, style)


async def test_the_head_of_a_fork_is_updated_by_its_writers(world):
    world.repos.branches[FORK, "fix"] = HEAD
    await world.propose(head="dan:fix", as_=4)
    assert (await update(world, as_=2)).status_code == 403
    assert (await update(world, as_=4)).status_code == 200
    assert (APP, "fix") in world.repos.branches
    assert world.repos.branches[FORK, "fix"] != HEAD


@pytest.mark.parametrize(
    ("query", "fields", "failure", "status"),
    [
        ("?style=squash", {}, None, 422),
        ("?style=rebase", {"allow_rebase_update": False}, None, 403),
        ("", {"allow_merge_update": False}, None, 403),
        ("", {}, (409, "the branches conflict"), 409),
        ("", {}, (404, "there is no such branch"), 404),
        ("", {}, (503, "not now"), 503),
    ],
)
async def test_an_update_that_cannot_be_is_refused(world, query, fields, failure, status):
    world.repos.repositories[APP] = repository(**fields)
    await world.propose()
    if failure:
        world.repos.failures["update-branch"] = failure
    assert (await update(world, query)).status_code == status


async def test_a_closed_pull_request_is_not_updated(world):
    await world.propose()
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await update(world)).status_code == 422
