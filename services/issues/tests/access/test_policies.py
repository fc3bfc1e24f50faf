"""Access to a repository: before the body is read, by cached grants, renames, units, archives."""

import pytest

from ..builders import APP, repository
from ..world import PULL


async def test_a_remembered_grant_allows_and_never_refuses(world):
    label = {"name": "bug", "color": "#ff0000"}
    assert (await world.call("GET", "/labels", as_=3)).status_code == 200
    world.repos.levels[APP, 3] = "write"
    assert (await world.call("POST", "/labels", label, as_=3, remember=True)).status_code == 201
    world.repos.calls.clear()
    assert (await world.call("GET", "/labels", as_=3, remember=True)).status_code == 200
    assert world.repos.calls == []


@pytest.mark.parametrize(
    ("path", "private", "enabled", "as_", "status"),
    [
        ("/issues", True, True, 0, 404),
        ("/issues", True, True, 3, 404),
        ("/issues", False, False, 0, 404),
        ("/issues", False, False, 3, 404),
        ("/issues", False, True, 0, 401),
        ("/issues", False, True, 3, 422),
        ("/labels", False, False, 0, 401),
        ("/labels", False, True, 3, 403),
        ("/labels", False, True, 2, 422),
    ],
)
async def test_access_is_decided_before_the_body(world, path, private, enabled, as_, status):
    world.repos.repositories[7] = repository(private=private, has_issues=enabled)
    assert (await world.call("POST", path, {}, as_=as_)).status_code == status


async def test_a_former_name_of_the_repository_leads_to_the_present_one(world):
    world.repos.repositories[7] = repository(name="new")
    world.former_names["ann/app"] = "ann/new"
    listed = await world.call("GET", "/issues?state=all")
    assert (listed.status_code, listed.headers["location"]) == (
        302,
        "/api/v1/repos/ann/new/issues?state=all",
    )
    opened = await world.call("POST", "/issues", {"title": ""})
    assert (opened.status_code, opened.headers["location"]) == (307, "/api/v1/repos/ann/new/issues")


async def test_a_merge_asks_which_styles_are_allowed_now(world):
    await world.propose()
    assert (await world.call("GET", "/pulls/1")).status_code == 200
    world.repos.repositories[7] = repository(allow_squash_merge=False)
    refused = await world.call("POST", "/pulls/1/merge", {"Do": "squash"}, remember=True)
    assert (refused.status_code, "squash" in refused.headers["x-error-message"]) == (405, True)
    world.repos.repositories[7] = repository(allow_squash_merge=True)
    merged = await world.call("POST", "/pulls/1/merge", {"Do": "squash"}, remember=True)
    assert merged.status_code == 200, merged.text


async def test_nothing_changes_in_an_archived_repository(world):
    await world.open_issue()
    await world.propose()
    comment = (await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"]
    world.repos.repositories[7] = repository(archived=True)
    before = await world.payloads()
    for method, path, body in (
        ("POST", "/issues", {"title": "x"}),
        ("PATCH", "/issues/1", {"title": "y"}),
        ("POST", "/issues/1/comments", {"body": "x"}),
        ("PATCH", f"/issues/comments/{comment}", {"body": "y"}),
        ("DELETE", f"/issues/comments/{comment}", None),
        ("POST", "/issues/1/labels", {"labels": []}),
        ("PUT", "/issues/1/lock", {}),
        ("POST", "/labels", {"name": "x", "color": "#ffffff"}),
        ("POST", "/milestones", {"title": "x"}),
        ("POST", "/issues/1/times", {"time": 1}),
        ("POST", "/pulls", PULL | {"base": "other"}),
        ("PATCH", "/pulls/2", {"title": "y"}),
        ("POST", "/pulls/2/merge", {}),
    ):
        assert (await world.call(method, path, body)).status_code == 403, (method, path)
        assert (await world.call(method, path, body, as_=0)).status_code == 401, (method, path)
    assert await world.payloads() == before
    assert (await world.call("GET", "/issues/1")).status_code == 200
    assert (await world.call("GET", "/pulls/2.diff")).status_code == 200


async def test_without_the_unit_no_route_shows_pull_requests(world):
    await world.open_issue()
    await world.propose()
    comment = (await world.call("POST", "/issues/2/comments", {"body": "x"})).json()["id"]
    world.repos.repositories[7] = repository(has_pull_requests=False)
    for path in (
        "/pulls", "/pulls/2", "/pulls/2.diff", "/pulls/2/commits", "/pulls/2/files", "/pulls/2/merge",
        "/issues/2", "/issues/2/comments", "/issue/2/comments", "/issues/2/timeline",
        "/issues/2/timeline/ids", "/issues/2/labels",
        "/issues/2/times", f"/issues/comments/{comment}",
    ):  # fmt: skip
        assert (await world.call("GET", path)).status_code == 404, path
    listed = await world.call("GET", "/issues")
    assert ([issue["number"] for issue in listed.json()], listed.headers["x-total-count"]) == ([1], "1")
    pulls = await world.call("GET", "/issues?type=pulls")
    assert (pulls.json(), pulls.headers["x-total-count"]) == ([], "0")
    comments = await world.call("GET", "/issues/comments")
    assert (comments.json(), comments.headers["x-total-count"]) == ([], "0")
