"""Who may write where: locked issues, archived repositories, units switched off, assignees, many writers at once."""

import asyncio

from .builders import account, repository
from .conftest import World
from .test_issues import open_issue
from .test_pulls import PULL, propose

WRITERS, ISSUES = 64, 2_000


async def test_a_locked_issue_is_for_writers_to_comment_on(world: World) -> None:
    await open_issue(world, as_=3)
    comment = (await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=3)).json()
    for as_, status in ((3, 403), (0, 401), (2, 204), (2, 204)):
        answer = await world.call("PUT", "/issues/1/lock", {"lock_reason": "heat"}, as_=as_)
        assert (answer.status_code, as_) == (status, as_)
    assert (await world.call("GET", "/issues/1", as_=0)).json()["is_locked"] is True
    for as_, status in ((3, 403), (4, 403), (0, 401), (2, 201)):
        for path in ("/issues/1/comments", "/issue/1/comments"):
            assert (await world.call("POST", path, {"body": "y"}, as_=as_)).status_code == status
    edited = await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": "z"}, as_=3)
    assert edited.status_code == 200
    assert (await world.call("DELETE", "/issues/1/lock", as_=3)).status_code == 403
    assert (await world.call("DELETE", "/issues/1/lock", as_=2)).status_code == 204
    assert (await world.call("POST", "/issues/1/comments", {"body": "y"}, as_=3)).status_code == 201
    told = [told["action"] for told in await world.events("issues.issue.changed.v1")]
    assert told == ["opened", "locked", "unlocked"]


async def test_a_lock_needs_no_body_and_an_issue(world: World) -> None:
    await open_issue(world)
    assert (await world.call("PUT", "/issues/9/lock")).status_code == 404
    assert (await world.call("PUT", "/issues/1/lock", {"lock_reason": 5})).status_code in (400, 422)
    assert (await world.call("PUT", "/issues/1/lock")).status_code == 204


async def test_pull_requests_are_locked_the_same_way(world: World) -> None:
    await propose(world)
    assert (await world.call("PUT", "/issues/1/lock")).status_code == 204
    assert (await world.call("GET", "/pulls/1")).json()["is_locked"] is True
    assert (await world.events("issues.pull.changed.v1"))[-1]["action"] == "locked"


async def test_nothing_changes_in_an_archived_repository(world: World) -> None:
    await open_issue(world)
    await propose(world)
    comment = (await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"]
    world.repos.repositories[7] = repository(archived=True)
    before = await world.events()
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
    assert await world.events() == before
    assert (await world.call("GET", "/issues/1")).status_code == 200
    assert (await world.call("GET", "/pulls/2.diff")).status_code == 200


async def test_without_the_unit_pull_requests_are_nowhere(world: World) -> None:
    await open_issue(world)
    await propose(world)
    comment = (await world.call("POST", "/issues/2/comments", {"body": "x"})).json()["id"]
    world.repos.pulls_enabled = False
    for path in (
        "/pulls", "/pulls/2", "/pulls/2.diff", "/pulls/2/commits", "/pulls/2/files", "/pulls/2/merge",
        "/issues/2", "/issues/2/comments", "/issue/2/comments", "/issues/2/timeline", "/issues/2/labels",
        "/issues/2/times", f"/issues/comments/{comment}",
    ):  # fmt: skip
        assert (await world.call("GET", path)).status_code == 404, path
    listed = await world.call("GET", "/issues")
    assert ([issue["number"] for issue in listed.json()], listed.headers["x-total-count"]) == ([1], "1")
    pulls = await world.call("GET", "/issues?type=pulls")
    assert (pulls.json(), pulls.headers["x-total-count"]) == ([], "0")
    comments = await world.call("GET", "/issues/comments")
    assert (comments.json(), comments.headers["x-total-count"]) == ([], "0")


async def test_assignees_have_access(world: World) -> None:
    world.repos.repositories[7] = repository(private=True)
    assert (await world.call("POST", "/issues", {"title": "x", "assignee": "cat"})).status_code == 422
    await open_issue(world, assignees=["bob", "ann", "BOB"])
    answer = await world.call("PATCH", "/issues/1", {"assignees": ["bob", "cat"]})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "assignee")
    kept = (await world.call("GET", "/issues/1")).json()
    assert [user["login"] for user in kept["assignees"]] == ["bob", "ann"]
    assert kept["assignee"]["login"] == "bob"
    assert (await world.call("PATCH", "/issues/1", {"assignees": ["ann", "bob"]})).status_code == 201
    world.repos.levels[(7, 2)] = "none"
    assert (await world.call("PATCH", "/issues/1", {"assignees": ["bob"]})).status_code == 201, "is on it"


async def test_an_organization_is_nobody_to_assign(world: World) -> None:
    world.identity.accounts[9] = account(1, login="org", kind="organization")
    assert (await world.call("POST", "/issues", {"title": "x", "assignee": "org"})).status_code == 422


async def test_more_than_ten_assignees_are_refused(world: World) -> None:
    names = ["bob"] * 11
    assert (await world.call("POST", "/issues", {"title": "x", "assignees": names})).status_code == 201
    many = [f"user{n}" for n in range(11)]
    assert (await world.call("POST", "/issues", {"title": "x", "assignees": many})).status_code == 422


async def test_sixty_four_writers_at_once_number_two_thousand_issues(world: World) -> None:
    waiting = iter(range(ISSUES))
    numbers: list[int] = []

    async def write(writer: int) -> None:
        for n in waiting:
            answer = await world.call("POST", "/issues", {"title": f"{n}"}, as_=1 + writer % 4)
            assert answer.status_code == 201, answer.text
            numbers.append(answer.json()["number"])

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    assert sorted(numbers) == list(range(1, ISSUES + 1))
    assert (await world.call("GET", "/issues?limit=1")).headers["x-total-count"] == str(ISSUES)
