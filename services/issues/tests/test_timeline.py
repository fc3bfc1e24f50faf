"""What happened to an issue, in order; and what refers to it, for those who may see that."""

from typing import Any

import pytest

from ingot_contracts.identity import User, UserDeleted
from ingot_contracts.repos import RepositoryDeleted, RepositoryEdited
from ingot_issues.core.commits import MOST

from .builders import HEAD, JOINED, NEXT, comparison, history_commit, push, pushed_commit, repository
from .conftest import World
from .test_issues import open_issue, statements
from .test_pulls import propose


async def timeline(world: World, number: int = 1, *, as_: int = 1, query: str = "") -> list[dict[str, Any]]:
    answer = await world.call("GET", f"/issues/{number}/timeline{query}", as_=as_)
    assert answer.status_code == 200, answer.text
    assert query or int(answer.headers["x-total-count"]) == len(answer.json())
    return answer.json()


async def kinds(world: World, number: int = 1, *, as_: int = 1) -> list[str]:
    return [row["type"] for row in await timeline(world, number, as_=as_)]


async def elsewhere(world: World, *, private: bool = False) -> None:
    """Another repository of Ann, which Bob may read."""
    world.repos.repositories[9] = repository(9, name="lib", private=private)
    world.repos.levels |= {(9, 1): "owner", (9, 2): "read"}


async def test_everything_that_happens_is_kept_in_order(world: World) -> None:
    label = (await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})).json()
    milestone = (await world.call("POST", "/milestones", {"title": "one"})).json()
    await open_issue(world, "old")
    for method, path, body in (
        ("POST", "/issues/1/comments", {"body": "hello"}),
        ("POST", "/issues/1/labels", {"labels": [label["id"]]}),
        ("DELETE", "/issues/1/labels", None),
        ("PATCH", "/issues/1", {"milestone": milestone["id"]}),
        ("PATCH", "/issues/1", {"milestone": 0}),
        ("PATCH", "/issues/1", {"assignees": ["bob"]}),
        ("PATCH", "/issues/1", {"assignees": []}),
        ("PATCH", "/issues/1", {"title": "new"}),
        ("PATCH", "/issues/1", {"due_date": "2030-01-02T00:00:00Z"}),
        ("PATCH", "/issues/1", {"due_date": "2030-01-03T00:00:00Z"}),
        ("PATCH", "/issues/1", {"unset_due_date": True}),
        ("PUT", "/issues/1/lock", {"lock_reason": "heat"}),
        ("DELETE", "/issues/1/lock", None),
        ("POST", "/issues/1/times", {"time": 60}),
        ("PATCH", "/issues/1", {"state": "closed"}),
        ("PATCH", "/issues/1", {"state": "open"}),
    ):
        assert (await world.call(method, path, body)).status_code < 300, (method, path)
    rows = await timeline(world)
    assert [row["type"] for row in rows] == [
        "comment", "label", "label", "milestone", "milestone", "assignees", "assignees", "change_title",
        "added_deadline", "modified_deadline", "removed_deadline", "lock", "unlock", "add_time_manual", "close",
        "reopen",
    ]  # fmt: skip
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    said, put, taken, moved, left, given, freed, renamed, due, later, never, locked, _, tracked, *_ = rows
    assert (said["body"], said["user"]["login"]) == ("hello", "ann")
    assert (put["label"]["name"], put["body"], taken["body"]) == ("bug", "1", "")
    assert (moved["milestone"]["title"], moved["old_milestone"]) == ("one", None)
    assert (left["milestone"], left["old_milestone"]["title"]) == (None, "one")
    assert (given["assignee"]["login"], given["removed_assignee"]) == ("bob", False)
    assert (freed["assignee"]["login"], freed["removed_assignee"]) == ("bob", True)
    assert (renamed["old_title"], renamed["new_title"]) == ("old", "new")
    assert [row["body"] for row in (due, later, never)] == [
        "2030-01-02",
        "2030-01-03|2030-01-02",
        "2030-01-03",
    ]
    assert (locked["body"], tracked["tracked_time"]["time"]) == ("heat", 60)


async def test_changes_that_change_nothing_leave_no_trace(world: World) -> None:
    await open_issue(world, "same", assignees=["bob"], body="x")
    before = await kinds(world)
    for body in (
        {"title": "same"},
        {"assignees": ["bob"]},
        {"state": "open"},
        {"body": "x"},
        {"milestone": 0},
    ):
        await world.call("PATCH", "/issues/1", body)
    await world.call("DELETE", "/issues/1/lock")
    assert await kinds(world) == before == ["assignees"]


async def test_what_was_deleted_since_is_left_out(world: World) -> None:
    label = (await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})).json()
    milestone = (await world.call("POST", "/milestones", {"title": "one"})).json()
    await open_issue(world, labels=[label["id"]], milestone=milestone["id"])
    await world.call("DELETE", f"/labels/{label['id']}")
    await world.call("DELETE", f"/milestones/{milestone['id']}")
    assert [(row["label"], row["milestone"]) for row in await timeline(world)] == [(None, None)] * 2


async def test_a_timeline_is_paged_and_filtered_by_time(world: World) -> None:
    await open_issue(world)
    for n in range(5):
        await world.call("POST", "/issues/1/comments", {"body": f"{n}"})
    paged = await world.call("GET", "/issues/1/timeline?limit=2&page=2")
    assert [row["body"] for row in paged.json()] == ["2", "3"]
    assert (paged.headers["x-total-count"], 'rel="next"' in paged.headers["link"]) == ("5", True)
    for query, count in {
        "since=2999-01-01T00:00:00Z": 0,
        "before=2000-01-01T00:00:00Z": 0,
        "since=rubbish": 5,
        "since=2000-01-01T00:00:00Z": 5,
    }.items():
        assert len(await timeline(world, query=f"?{query}")) == count


async def test_an_unknown_issue_has_no_timeline(world: World) -> None:
    assert (await world.call("GET", "/issues/9/timeline")).status_code == 404


async def test_issues_comments_and_pull_requests_refer_to_issues(world: World) -> None:
    await open_issue(world, "target")
    await open_issue(world, "see #1", body="and #1, and ann/app#1")
    await world.call("POST", "/issues/2/comments", {"body": "as in #1"}, as_=3)
    await propose(world, title="about #1")
    from_issue, from_comment, from_pull = await timeline(world)
    assert [row["type"] for row in (from_issue, from_comment, from_pull)] == [
        "issue_ref",
        "comment_ref",
        "pull_ref",
    ]
    assert (from_issue["ref_issue"]["number"], from_issue["ref_action"]) == (2, "none")
    assert (from_comment["ref_comment"]["body"], from_comment["user"]["login"]) == ("as in #1", "cat")
    assert from_pull["ref_issue"]["pull_request"] is not None
    assert await kinds(world, 2) == ["comment"]


@pytest.mark.parametrize(
    "text", ["`#1`", "```\n#1\n```", "[#1](http://x)", "a#1", "##1", "#01", "#1x", "#99", "#2", "http://x/#1"]
)
async def test_what_is_no_reference_leaves_no_trace(world: World, text: str) -> None:
    await open_issue(world)
    await open_issue(world, "other", body=text)
    assert await kinds(world) == []


async def test_an_edit_adds_what_is_new(world: World) -> None:
    for n in range(3):
        await open_issue(world, f"number {n}")
    await world.call("PATCH", "/issues/3", {"body": "#1"})
    await world.call("PATCH", "/issues/3", {"body": "#1 #2"})
    comment = (await world.call("POST", "/issues/3/comments", {"body": "nothing"})).json()
    await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": "#2"})
    assert await kinds(world, 1) == ["issue_ref"]
    assert await kinds(world, 2) == ["issue_ref", "comment_ref"]
    await world.call("DELETE", f"/issues/comments/{comment['id']}")
    assert await kinds(world, 2) == ["issue_ref"]


async def test_a_text_refers_to_fifty_issues_at_most(world: World) -> None:
    for n in range(3):
        await open_issue(world, f"number {n}")
    many = " ".join(f"#{n}" for n in range(100, 149))
    await open_issue(world, "many", body=f"{many} #1 #2")
    assert (await kinds(world, 1), await kinds(world, 2)) == (["issue_ref"], [])


async def test_another_repository_is_referred_to_by_who_may_see_it(world: World) -> None:
    await elsewhere(world, private=True)
    await open_issue(world)
    for as_ in (3, 2):
        body = {"title": "see ann/lib#1"}
        assert (await world.call("POST", "//repos/ann/lib/issues", body, as_=1)).status_code == 201
        await world.call("POST", "/issues", {"title": "x", "body": "Fixes ann/lib#1"}, as_=as_)
    await world.workers.step()
    found = (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json()
    own, *others = found
    assert [row["type"] for row in found].count("issue_ref") == len(found)
    assert [row["user"]["login"] for row in others] == ["bob"]
    assert (others[0]["ref_issue"]["url"].split("/repos/")[1], others[0]["ref_action"]) == (
        "ann/app/issues/3",
        "closes",
    )
    assert (await world.call("GET", "//repos/ann/lib/issues/1")).json()["state"] == "open"
    assert own["ref_issue"]["number"] == 2


async def test_a_reference_from_a_private_repository_is_for_who_may_read_there(world: World) -> None:
    await elsewhere(world, private=True)
    await open_issue(world)
    await world.call("POST", "//repos/ann/lib/issues", {"title": "ann/app#1 leaks"})
    await world.workers.step()
    for as_, seen in {1: ["issue_ref"], 2: ["issue_ref"], 3: [], 0: []}.items():
        assert await kinds(world, as_=as_) == seen
    world.repos.repositories[9] = repository(9, name="lib")
    assert await kinds(world, as_=0) == ["issue_ref"]
    await world.hear(RepositoryEdited(repository=repository(9, name="tool"), sender=User(id=1, login="ann")))
    assert (await timeline(world))[0]["ref_issue"]["html_url"].endswith("/ann/tool/issues/1")
    await world.hear(RepositoryDeleted(repository=repository(9, name="tool"), sender=User(id=1, login="ann")))
    assert await kinds(world) == []


async def test_pushed_commits_refer_to_issues_and_on_the_default_branch_close_them(world: World) -> None:
    for n in range(4):
        await open_issue(world, f"number {n}", as_=3)
    commits = [
        pushed_commit("c" * 40, "Fixes #2\n\nand resolves: #9, closes #404"),
        pushed_commit("d" * 40, "see #1, fixed #3"),
    ]
    for _ in range(2):
        await world.hear(push("refs/heads/topic", commits=commits, total_commits=2))
    assert await kinds(world, 2) == ["commit_ref"]
    await world.hear(push(commits=commits, total_commits=2))
    assert await kinds(world, 1) == ["commit_ref"]
    assert await kinds(world, 2) == ["commit_ref", "close"]
    noted, closed = await timeline(world, 3)
    assert (noted["ref_commit_sha"], noted["user"]["login"]) == ("d" * 40, "bob")
    assert closed["user"]["login"] == "bob"
    assert [(await world.call("GET", f"/issues/{n}")).json()["state"] for n in (1, 2, 3, 4)] == [
        "open", "closed", "closed", "open",
    ]  # fmt: skip
    told = [event["action"] for event in await world.events("issues.issue.changed.v1")]
    assert told.count("closed") == 2
    await world.hear(push(commits=[pushed_commit("e" * 40, "reopen #2")], total_commits=1))
    assert (await world.call("GET", "/issues/2")).json()["state"] == "open"


async def test_the_messages_of_a_long_push_are_read_from_repos(world: World) -> None:
    await open_issue(world)
    world.repos.commits = [history_commit("e" * 40, "closes #1")]
    await world.hear(push(commits=[pushed_commit("f" * 40, "x")], total_commits=30))
    await world.workers.step()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"


async def test_of_a_long_push_as_many_commits_are_read_as_repos_gives_at_once(world: World) -> None:
    await open_issue(world)
    await open_issue(world)
    newest = [history_commit(f"{number:040x}", "x") for number in range(MOST - 1)]
    closing = [history_commit(f"{number:040x}", f"closes #{number}") for number in (1, 2)]
    world.repos.commits = newest + closing
    await world.hear(push(commits=[pushed_commit("f" * 40, "x")], total_commits=MOST + 1))
    await world.workers.step()
    states = [(await world.call("GET", f"/issues/{number}")).json()["state"] for number in (1, 2)]
    assert states == ["closed", "open"]


async def test_of_a_forced_push_only_what_its_event_tells_is_followed(world: World) -> None:
    """The commit it starts from belongs to no history any more, so repos tells nothing about it."""
    await open_issue(world)
    commits = [pushed_commit("e" * 40, "closes #1")]
    await world.hear(push(commits=commits, total_commits=100_000, forced=True))
    assert await world.workers.step() == 0
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"


async def test_a_pull_request_is_not_told_where_the_unit_is_off(world: World) -> None:
    await open_issue(world)
    await propose(world, title="secret, see #1")
    world.repos.pulls_enabled = False
    (row,) = await timeline(world)
    assert (row["type"], row["ref_issue"]) == ("pull_ref", None)


@pytest.mark.parametrize("unit", ["has_issues", "has_pull_requests"])
async def test_what_refers_from_elsewhere_is_not_told_where_its_unit_is_off(world: World, unit: str) -> None:
    await elsewhere(world)
    await open_issue(world)
    body = {"title": "secret, see ann/app#1", "head": "fix", "base": "main"}
    for kind in ("issues", "pulls"):
        assert (await world.call("POST", f"//repos/ann/lib/{kind}", body)).status_code == 201
    await world.workers.step()
    off = repository(9, name="lib", **{unit: False})
    await world.hear(RepositoryEdited(repository=off, sender=User(id=1, login="ann")))
    told = {row["type"]: row["ref_issue"] for row in await timeline(world)}
    hidden, shown = ("issue_ref", "pull_ref") if unit == "has_issues" else ("pull_ref", "issue_ref")
    assert (told[hidden], told[shown]["title"]) == (None, body["title"])


async def test_a_push_closes_nothing_where_the_unit_is_off(world: World) -> None:
    await open_issue(world)
    told = [pushed_commit("e" * 40, "closes #1")]
    await world.hear(push(of=repository(has_issues=False), commits=told, total_commits=1))
    assert (await world.call("GET", "/issues/1")).json()["state"] == "open"


async def test_a_mirror_closes_nothing(world: World) -> None:
    await open_issue(world)
    told = [pushed_commit("e" * 40, "closes #1")]
    await world.hear(push(of=repository(mirror=True), commits=told, total_commits=1))
    assert await kinds(world) == []


async def test_a_merge_closes_what_the_pull_request_fixes(world: World) -> None:
    await elsewhere(world)
    for n in range(3):
        await open_issue(world, f"number {n}")
    for as_ in (2, 1):
        await world.call("POST", "//repos/ann/lib/issues", {"title": "x"}, as_=as_)
    world.repos.levels[(9, 2)] = "read"
    await propose(world, title="Fixes #1", body="closes #2, see #3, resolves ann/lib#1, fixes ann/lib#2")
    assert (await world.call("POST", "/pulls/4/merge", as_=2)).status_code == 200
    await world.workers.step()
    assert [(await world.call("GET", f"/issues/{n}")).json()["state"] for n in (1, 2, 3)] == [
        "closed", "closed", "open",
    ]  # fmt: skip
    states = [(await world.call("GET", f"//repos/ann/lib/issues/{n}")).json()["state"] for n in (1, 2)]
    assert states == ["closed", "open"], "Bob wrote the first, and may only read the second"
    assert await kinds(world, 4) == ["merge_pull"]
    assert (await timeline(world, 4))[0]["ref_commit_sha"] == JOINED
    await world.hear(push(after=JOINED, merged_pull=4))
    assert await kinds(world, 1) == ["pull_ref", "close"]


async def test_nothing_follows_elsewhere_from_what_a_restricted_token_did(world: World) -> None:
    await elsewhere(world)
    world.repos.levels[(9, 2)] = "owner"
    await open_issue(world)
    await world.call("POST", "//repos/ann/lib/issues", {"title": "x"})
    told = [pushed_commit("e" * 40, "closes #1, closes ann/lib#1")]
    await world.hear(push(commits=told, total_commits=1, confined=True))
    headers = {"ingot-principal": world.identity.statement(1, confined_to=[repository().id])}
    path, said = "/api/v1/repos/ann/app/issues/1/comments", {"body": "see ann/lib#1"}
    assert (await world.http.post(path, json=said, headers=headers)).status_code == 201
    await world.workers.step()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"
    other = await world.call("GET", "//repos/ann/lib/issues/1")
    assert other.json()["state"] == "open"
    assert (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json() == []


async def test_nothing_is_closed_in_an_archived_repository_or_without_the_unit(world: World) -> None:
    await elsewhere(world)
    await world.call("POST", "//repos/ann/lib/issues", {"title": "x"})
    await propose(world, title="fixes ann/lib#1")
    world.repos.repositories[9] = repository(9, name="lib", archived=True)
    await world.call("POST", "/pulls/1/merge")
    await world.workers.step()
    assert (await world.call("GET", "//repos/ann/lib/issues/1")).json()["state"] == "open"


async def test_a_push_to_the_head_is_in_the_timeline(world: World) -> None:
    await propose(world)
    await world.workers.step()
    world.repos.compared = comparison(head_sha=NEXT)
    await world.hear(push("refs/heads/fix"))
    await world.workers.step()
    (row,) = await timeline(world)
    assert (row["type"], row["old_ref"], row["new_ref"]) == ("pull_push", HEAD, NEXT)


async def test_a_timeline_takes_as_many_statements_for_many_rows_as_for_few(world: World) -> None:
    label = (await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})).json()["id"]
    milestone = (await world.call("POST", "/milestones", {"title": "one"})).json()["id"]
    await open_issue(world, labels=[label], milestone=milestone, assignees=["bob"])
    await world.call("POST", "/issues/1/times", {"time": 5})
    seen = []
    for count in (2, 8):
        for n in range(count):
            await open_issue(world, f"#1 again {n}")
            await world.call("POST", "/issues/2/comments", {"body": f"#1 {n}"}, as_=3)
        seen.append(await statements(world, "/issues/1/timeline?limit=50"))
    assert seen[0] == seen[1] <= 12


async def test_a_deleted_person_is_the_ghost_of_what_they_did(world: World) -> None:
    await open_issue(world, assignees=["bob"])
    await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=3)
    await world.hear(UserDeleted(user_id=2, login="bob"))
    await world.hear(UserDeleted(user_id=3, login="cat"))
    given, said = await timeline(world)
    assert (given["assignee"]["id"], said["user"]["id"]) == (-1, -1)
