"""Issues through the API: numbers, lists, editing, and what is told about it."""

import asyncio
from typing import Any

import msgspec
import pytest

from ingot_contracts.identity import User
from ingot_contracts.repos import RepositoryAccess, RepositoryDeleted

from .builders import fill, repository
from .conftest import World


async def open_issue(world: World, title: str = "It burns", *, as_: int = 1, **fields: Any) -> dict[str, Any]:
    answer = await world.call("POST", "/issues", {"title": title, **fields}, as_=as_)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_an_opened_issue_has_the_declared_shape(world: World) -> None:
    opened = await open_issue(world, "  It burns ", body="help", as_=3)
    assert opened["number"] == 1
    assert opened["title"] == "It burns"
    assert opened["user"]["login"] == "cat"
    assert opened["url"] == "http://127.0.0.1:3000/api/v1/repos/ann/app/issues/1"
    assert (opened["labels"], opened["milestone"], opened["assignee"]) == ([], None, None)
    assert opened["pull_request"] is None
    assert (await world.call("GET", "/issues/1", as_=0)).json() == opened | {
        "user": opened["user"] | {"email": ""}
    }


async def test_an_opened_issue_is_told(world: World) -> None:
    await open_issue(world)
    [opened] = await world.events()
    assert (opened["action"], opened["issue"]["number"], opened["sender"]["login"]) == ("opened", 1, "ann")
    assert opened["repository"]["full_name"] == "ann/app"


async def test_issues_opened_at_once_get_numbers_without_gap_or_clash(world: World) -> None:
    await asyncio.gather(*(open_issue(world, f"number {n}", as_=1 + n % 3) for n in range(12)))
    listed = (await world.call("GET", "/issues")).json()
    assert [issue["number"] for issue in listed] == list(range(12, 0, -1))


async def test_a_refused_issue_takes_no_number(world: World) -> None:
    assert (await world.call("POST", "/issues", {"title": " "})).status_code == 422
    assert (await open_issue(world))["number"] == 1


async def test_issues_closed_at_once_are_counted_right(world: World) -> None:
    for n in range(6):
        await open_issue(world, f"number {n}")
    await asyncio.gather(*(world.call("PATCH", f"/issues/{n}", {"state": "closed"}) for n in range(1, 6)))
    assert await world.counted() == (1, 0)


async def test_counts_are_told_once_for_all_that_changed_them(world: World) -> None:
    for repository_id in (7, 8):
        world.repos.repositories[repository_id] = repository(repository_id, name=f"r{repository_id}")
        for _ in range(3):
            await world.call("POST", f"//repos/ann/r{repository_id}/issues", {"title": "x"})
    assert [await world.counting.step() for _ in range(2)] == [2, 0]
    told = await world.events("issues.open.counted.v1")
    assert [(one["repository_id"], one["open_issues"]) for one in told] == [(7, 3), (8, 3)]
    await world.call("PATCH", "//repos/ann/r8/issues/2", {"state": "closed"})
    assert await world.counting.step() == 1
    assert (await world.events("issues.open.counted.v1"))[-1]["open_issues"] == 2


async def test_counts_are_told_at_once_by_one_of_many(world: World) -> None:
    await open_issue(world)
    assert sorted(await asyncio.gather(*(world.counting.step() for _ in range(4)))) == [0, 0, 0, 1]


async def test_a_deleted_repository_is_forgotten_and_not_counted(world: World) -> None:
    await open_issue(world)
    await world.hear(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))
    assert await world.counting.step() == 0
    assert await world.events("issues.repository.forgotten.v1") == [
        {"type": "issues.repository.forgotten.v1", "repository_id": repository().id}
    ]


async def test_closing_twice_tells_once(world: World) -> None:
    await open_issue(world)
    for _ in range(2):
        answer = await world.call("PATCH", "/issues/1", {"state": "closed"})
        assert (answer.status_code, answer.json()["state"]) == (201, "closed")
    told = [told["action"] for told in await world.events("issues.issue.changed.v1")]
    assert told == ["opened", "closed"]


async def test_reopening_clears_the_closing_time(world: World) -> None:
    await open_issue(world, closed=True)
    assert (await world.call("GET", "/issues/1")).json()["closed_at"]
    assert (await world.call("PATCH", "/issues/1", {"state": "open"})).json()["closed_at"] is None


async def test_a_reader_sets_neither_assignee_nor_label_nor_state_when_opening(world: World) -> None:
    opened = await open_issue(world, as_=3, assignee="nobody", labels=[1], milestone=5, closed=True)
    assert (opened["assignee"], opened["state"]) == (None, "open")


async def test_a_writer_naming_an_unknown_assignee_is_refused(world: World) -> None:
    answer = await world.call("POST", "/issues", {"title": "x", "assignee": "nobody"}, as_=2)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "assignee"


async def test_assignees_are_set_and_cleared(world: World) -> None:
    opened = await open_issue(world, assignees=["bob", "Cat"])
    assert [user["login"] for user in opened["assignees"]] == ["bob", "cat"]
    cleared = (await world.call("PATCH", "/issues/1", {"assignee": ""})).json()
    assert cleared["assignees"] == []
    told = [told["action"] for told in await world.events("issues.issue.changed.v1")]
    assert told == ["opened", "unassigned"]


async def test_editing_tells_the_former_text(world: World) -> None:
    await open_issue(world, "old", body="was")
    edited = await world.call("PATCH", "/issues/1", {"title": "new", "body": "is"})
    assert (edited.json()["title"], edited.json()["body"]) == ("new", "is")
    told = (await world.events("issues.issue.changed.v1"))[-1]
    assert told["action"] == "edited"
    assert told["changes"] == {"title": {"from": "old"}, "body": {"from": "was"}}


async def test_only_author_and_writers_edit(world: World) -> None:
    await open_issue(world, as_=3)
    assert (await world.call("PATCH", "/issues/1", {"title": "a"}, as_=3)).status_code == 201
    assert (await world.call("PATCH", "/issues/1", {"title": "b"}, as_=2)).status_code == 201
    assert (await world.call("PATCH", "/issues/1", {"title": "c"}, as_=4)).status_code == 403
    assert (await world.call("PATCH", "/issues/1", {"title": "d"}, as_=0)).status_code == 401


async def test_lists_filter(world: World) -> None:
    await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})
    milestone = (await world.call("POST", "/milestones", {"title": "one"})).json()["id"]
    await open_issue(world, "first fire", labels=["bug"])
    await open_issue(world, "second", as_=3, body="FIRE")
    await open_issue(world, "third", assignee="bob", milestone=milestone)
    await open_issue(world, "fourth", closed=True)
    for query, numbers in {
        "": [3, 2, 1],
        "state=closed": [4],
        "state=all": [4, 3, 2, 1],
        "state=strange": [3, 2, 1],
        "q=fire": [2, 1],
        "labels=bug": [1],
        "labels=none": [],
        f"milestones={milestone}": [3],
        "milestones=ONE": [3],
        "created_by=cat": [2],
        "assigned_by=bob": [3],
        "type=pulls": [],
        "type=issues&sort=oldest": [1, 2, 3],
        "since=2000-01-01T00:00:00Z": [3, 2, 1],
        "since=2999-01-01T00:00:00Z": [],
        "since=rubbish": [3, 2, 1],
    }.items():
        answer = await world.call("GET", f"/issues?{query}")
        assert [issue["number"] for issue in answer.json()] == numbers, query
        assert answer.headers["x-total-count"] == str(len(numbers)), query


async def test_lists_are_paged(world: World) -> None:
    for n in range(5):
        await open_issue(world, f"number {n}")
    answer = await world.call("GET", "/issues?limit=2&page=2&state=open")
    assert [issue["number"] for issue in answer.json()] == [3, 2]
    assert 'rel="next"' in answer.headers["link"]
    assert "state=open" in answer.headers["link"]


async def statements(world: World, path: str) -> int:
    """How many SQL statements one GET takes."""
    return len(await sql(world, path))


async def sql(world: World, path: str) -> list[str]:
    """The SQL statements of one GET."""
    with world.statements() as counted:
        assert (await world.call("GET", path)).status_code == 200
    return counted


async def test_a_list_takes_as_many_statements_for_1000_rows_as_for_10(world: World) -> None:
    await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})
    await world.call("POST", "/milestones", {"title": "one"})
    paths = ["/issues", "/pulls", "/milestones", "/labels", "/issues/comments"]
    seen: list[list[int]] = []
    for first, count in ((1, 10), (11, 990)):
        await fill(world.db, first, count)
        seen.append([await statements(world, f"{path}?limit=50") for path in paths])
    assert seen[0] == seen[1]
    assert max(seen[0]) <= 3
    assert "compare" not in world.repos.asked


async def test_what_is_remembered_lets_in_and_never_refuses(world: World) -> None:
    world.repos.lately = RepositoryAccess(repository=repository(), level="read")
    assert (
        await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"}, as_=2)
    ).status_code == 201
    asked = len(world.repos.asked)
    assert (await world.call("GET", "/labels", as_=2)).status_code == 200
    assert len(world.repos.asked) == asked


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
async def test_access_is_decided_before_the_body(
    world: World, path: str, private: bool, enabled: bool, as_: int, status: int
) -> None:
    world.repos.repositories[7] = repository(private=private)
    world.repos.issues_enabled = enabled
    assert (await world.call("POST", path, {}, as_=as_)).status_code == status


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/issues", {"title": "\x00"}),
        ("POST", "/issues", {"title": "x" * 256}),
        ("POST", "/issues", {"title": 5}),
        ("POST", "/issues", {"title": "x", "labels": ["\x00"]}),
        ("POST", "/issues", {"title": "x", "labels": [2**70]}),
        ("POST", "/issues", {"title": "x", "milestone": -1}),
        ("POST", "/issues", {"title": "x", "due_date": "0001-01-01T00:00:00+14:00"}),
        ("POST", "/issues", {"title": "x", "due_date": "9999-12-31T23:59:59-14:00"}),
        ("POST", "/issues", []),
        ("PATCH", "/issues/1", {"milestone": 2**62}),
        ("PATCH", "/issues/1", {"assignees": [""]}),
        ("PATCH", "/issues/0", {}),
        ("GET", f"/issues/{2**63}", None),
        ("GET", "/issues/abc", None),
        ("GET", "/issues?q=%00&labels=%00,%F0%28&created_by=%00&milestones=%00", None),
        ("GET", "/issues?labels=99999999999999999999&milestones=-1&page=-1&limit=zzz", None),
        ("GET", "/issues?since=0001-01-01T00:00:00%2B14:00", None),
        ("GET", "/issues?q=%25_%5C'", None),
        ("GET", "/labels/%00", None),
        ("GET", "/labels/99999999999999999999", None),
        ("POST", "/labels", {"name": "x", "color": "#12345"}),
        ("POST", "/milestones", {"title": "x", "due_on": "never"}),
        ("PATCH", "/issues/comments/1", {"body": ""}),
        ("GET", "/pulls/1.exe", None),
        ("GET", "/pulls/\u0663", None),
        ("POST", "/issues/1/times", {"time": 2**62}),
        ("POST", "/issues", {"title": "x", "assignees": "ann"}),
        ("POST", "/issues", {"title": "x", "assignees": [None, 5]}),
        ("POST", "/issues", {"title": "x", "assignees": ["\x00", "a/b", "../c"]}),
        ("POST", "/issues", {"title": "x", "labels": {"a": 1}}),
        ("POST", "/issues", {"title": "x", "body": "#" * 50_000}),
        ("POST", "/issues", {"title": "x", "body": "ann/app#1 " * 10_000}),
        ("POST", "/issues", {"title": "x", "body": f"#{2**63} #{10**17} a/b#1 ../..#1"}),
        ("PATCH", "/issues/1", {"state": 7}),
        ("PUT", "/issues/1/lock", []),
        ("PUT", f"/issues/{2**63}/lock", {}),
        ("GET", "/issues/1/timeline?since=%00", None),
        ("GET", "/issues/1/timeline?since=9999-99-99&before=x&page=1e9&limit=-1", None),
        ("GET", f"/issues/{10**30}/timeline", None),
        ("GET", "/issues/comments?since=2020-13-01T00:00:00Z&string=x", None),
        ("GET", f"/issues/comments/{2**63}", None),
        ("GET", "/pulls/1/commits?page=99999999999999999999", None),
        ("PATCH", "/pulls/1", {"base": "\x00"}),
        ("PATCH", "/pulls/1", {"base": "../../x", "state": "x"}),
        ("POST", "/pulls", {"title": "x", "head": "a" * 10_000, "base": "main"}),
        ("POST", "/pulls", {"title": "x", "head": "dan:" + "a" * 10_000, "base": "main"}),
        ("POST", "/pulls/1/merge", {"do": "manually-merged"}),
        ("POST", "/pulls/1/merge", {"head_commit_id": 5, "delete_branch_after_merge": "yes"}),
        ("GET", f"/times/{'a' * 300}", None),
        ("GET", "/issues?created_by=a%2Fb&assigned_by=%27&sort=drop&type=x&milestones=,,&labels=,", None),
    ],
)
async def test_bad_input_is_never_a_crash(world: World, method: str, path: str, body: Any) -> None:
    await open_issue(world)
    assert (await world.call(method, path, body)).status_code < 500


async def test_a_body_over_the_limit_is_refused(world: World) -> None:
    headers = {"ingot-principal": world.identity.statement(1), "content-type": "application/json"}
    body = b'{"title": "' + b"x" * 20_000_000 + b'"}'
    for path in ("issues", "issues/1/comments", "pulls", "labels"):
        answer = await world.http.post(f"/api/v1/repos/ann/app/{path}", content=body, headers=headers)
        assert answer.status_code == 413, path
        assert answer.json()["message"]


async def test_a_refused_change_leaves_everything_as_it_was(world: World) -> None:
    before = await open_issue(world, "old", body="was")
    edits: list[dict[str, Any]] = [
        {"title": "x" * 256, "body": "new"},
        {"title": "new", "milestone": 999},
        {"title": "new", "assignees": ["nobody"]},
        {"title": "new", "due_date": "never"},
    ]
    for edit in edits:
        assert (await world.call("PATCH", "/issues/1", edit)).status_code == 422, edit
    assert (await world.call("GET", "/issues/1")).json() == before


async def test_labels_and_milestones_of_another_repository_are_unknown(world: World) -> None:
    world.repos.repositories[9] = repository(9, name="lib")
    world.repos.levels[(9, 1)] = "owner"
    label = (await world.call("POST", "//repos/ann/lib/labels", {"name": "x", "color": "#ffffff"})).json()[
        "id"
    ]
    milestone = (await world.call("POST", "//repos/ann/lib/milestones", {"title": "x"})).json()["id"]
    opened = await open_issue(world, labels=[label], milestone=milestone)
    assert (opened["labels"], opened["milestone"]) == ([], None)
    assert (await world.call("PATCH", "/issues/1", {"milestone": milestone})).status_code == 422
    for issues in ("issue", "issues"):
        path = f"/{issues}/1/labels"
        assert (await world.call("POST", path, {"labels": [label]})).json() == []
        assert (await world.call("DELETE", f"{path}/{label}")).status_code == 422
    for path in (f"/labels/{label}", f"/milestones/{milestone}"):
        assert (await world.call("GET", path)).status_code == 404
        assert (await world.call("PATCH", path, {"name": "y", "title": "y"})).status_code == 404
        assert (await world.call("DELETE", path)).status_code == 204
        assert (await world.call("GET", f"//repos/ann/lib{path}")).status_code == 200


async def test_a_former_name_of_the_repository_leads_to_the_present_one(world: World) -> None:
    moved = msgspec.structs.replace(repository(), name="new", full_name="ann/new")
    world.repos.lately = RepositoryAccess(repository=moved, level="owner")
    listed = await world.call("GET", "/issues?state=all")
    assert (listed.status_code, listed.headers["location"]) == (
        302,
        "/api/v1/repos/ann/new/issues?state=all",
    )
    opened = await world.call("POST", "/issues", {"title": ""})
    assert (opened.status_code, opened.headers["location"]) == (307, "/api/v1/repos/ann/new/issues")
