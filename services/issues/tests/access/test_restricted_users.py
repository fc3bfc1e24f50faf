"""Restricted users: without a grant a public repository does not exist, in requests, lists and notices."""

import pytest

from ..builders import APP

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
RESTRICTED = {"as_": 3, "granted_only": True}
"""Cat, who was given nothing."""


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/1",
        "/1/comments",
        "/1/timeline",
        "/1/times",
        "/1/reactions",
        "/1/subscriptions",
        "/1/dependencies",
    ],
)
async def test_issues_of_a_public_repository_do_not_exist_without_a_grant(world, path):
    await world.open_issue()
    assert (
        await world.call("GET", f"/issues{path}", **RESTRICTED | {"granted_only": False})
    ).status_code == 200
    refused = await world.call("GET", f"/issues{path}", **RESTRICTED)
    absent = await world.call("GET", f"//repos/ann/nothing/issues{path}", **RESTRICTED)
    assert (refused.status_code, refused.text) == (404, absent.text)
    world.repos.levels[APP, 3] = "read"
    assert (await world.call("GET", f"/issues{path}", **RESTRICTED)).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/issues", {"title": "x"}),
        ("/issues/1/comments", {"body": "x"}),
        ("/issues/1/reactions", {"content": "+1"}),
    ],
)
async def test_nothing_is_written_without_a_grant(world, path, body):
    await world.open_issue()
    assert (await world.call("POST", path, body, **RESTRICTED)).status_code == 404
    world.repos.levels[APP, 3] = "read"
    assert (await world.call("POST", path, body, **RESTRICTED)).is_success


async def test_searches_and_lists_count_only_what_was_given(world):
    await world.open_issue()
    await world.call("POST", "/issues/1/assignees", {"assignees": ["cat"]})
    for path in ("//repos/issues/search", "//repos/issues/search?assigned=true", "//user/times"):
        answer = await world.call("GET", path, **RESTRICTED)
        assert (answer.json(), answer.headers["x-total-count"]) == ([], "0"), path
    world.repos.levels[APP, 3] = "read"
    answer = await world.call("GET", "//repos/issues/search", **RESTRICTED)
    assert ([one["number"] for one in answer.json()], answer.headers["x-total-count"]) == ([1], "1")


async def test_who_cannot_read_is_neither_assigned_nor_asked_for_a_review(world):
    world.repos.levels[APP, 3] = "none"  # repos answers so for a restricted user in a public repository
    await world.open_issue()
    assigned = await world.call("PATCH", "/issues/1", {"assignees": ["cat"]})
    assert assigned.status_code == 422
    await world.propose()
    answer = await world.call("POST", "/pulls/2/requested_reviewers", {"reviewers": ["cat"]})
    assert answer.status_code == 422
    world.repos.levels[APP, 3] = "read"
    answer = await world.call("POST", "/pulls/2/requested_reviewers", {"reviewers": ["cat"]})
    assert answer.status_code == 201


async def test_a_mention_notifies_no_restricted_user_without_a_grant(world):
    world.repos.levels[APP, 3] = "none"
    await world.open_issue(body="@cat, look")
    await world.workers.step()
    assert (await world.call("GET", "//notifications", **RESTRICTED)).json() == []
    world.repos.levels[APP, 3] = "read"
    await world.open_issue(body="@cat, look again")
    await world.workers.step()
    shown = (await world.call("GET", "//notifications", **RESTRICTED)).json()
    assert len(shown) == 1
    # What was noticed before the grant ended is hidden after it.
    world.repos.levels[APP, 3] = "none"
    hidden = await world.call("GET", "//notifications", **RESTRICTED)
    assert hidden.json() == []
    assert (await world.call("GET", "//notifications/new", **RESTRICTED)).json()["new"] == 0
    world.repos.levels[APP, 3] = "read"
    assert (await world.call("GET", "//notifications/new", **RESTRICTED)).json()["new"] == 1
