"""Issues that a merge or a commit closes."""

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.merge_rules import MergeRule

from ..builders import APP, JOINED, history_commit, new_commit, push, repository


async def test_a_push_closes_nothing_where_the_unit_is_off(world):
    await world.open_issue()
    commits = [new_commit("e" * 40, "closes #1")]
    world.repos.repositories[APP] = repository(has_issues=False)
    await world.deliver(push(repository=repository(has_issues=False), commits=commits, total_commits=1))
    await world.work()
    world.repos.repositories[APP] = repository()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "open"


async def test_a_merge_closes_the_issues_that_the_pull_request_fixes(world):
    world.add_library()
    for n in range(3):
        await world.open_issue(f"number {n}")
    for as_ in (2, 1):
        await world.call("POST", "//repos/ann/lib/issues", {"title": "x"}, as_=as_)
    world.repos.levels[(9, 2)] = "read"
    await world.propose(title="Fixes #1", body="closes #2, see #3, resolves ann/lib#1, fixes ann/lib#2")
    assert (await world.call("POST", "/pulls/4/merge", as_=2)).status_code == 200
    await world.workers.step()
    assert [(await world.call("GET", f"/issues/{n}")).json()["state"] for n in (1, 2, 3)] == [
        "closed", "closed", "open",
    ]  # fmt: skip
    states = [(await world.call("GET", f"//repos/ann/lib/issues/{n}")).json()["state"] for n in (1, 2)]
    assert states == ["closed", "open"], "Bob wrote the first, and may only read the second"
    assert await world.kinds(4) == ["merge_pull"]
    assert (await world.timeline(4))[0]["ref_commit_sha"] == JOINED
    await world.deliver(push(after=JOINED, merged_pull=4))
    assert await world.kinds(1) == ["pull_ref", "close"]


async def test_nothing_is_closed_in_an_archived_repository_or_without_the_unit(world):
    world.add_library()
    await world.call("POST", "//repos/ann/lib/issues", {"title": "x"})
    await world.propose(title="fixes ann/lib#1")
    world.repos.repositories[9] = repository(9, name="lib", archived=True)
    await world.call("POST", "/pulls/1/merge")
    await world.workers.step()
    assert (await world.call("GET", "//repos/ann/lib/issues/1")).json()["state"] == "open"


async def state_of_library(world):
    """The state of ann/lib#1, and how many references it has."""
    issue = (await world.call("GET", "//repos/ann/lib/issues/1")).json()
    rows = (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json()
    return issue["state"], sum(row["type"].endswith("_ref") for row in rows)


@pytest.mark.parametrize(
    ("level", "outcome"),
    [(None, ("open", 0)), ("read", ("open", 1)), ("write", ("closed", 1))],
)
@pytest.mark.parametrize("edited", [False, True])
async def test_a_text_closes_issues_elsewhere_only_where_its_author_may(world, level, outcome, edited):
    """Dan proposes from his fork, and Ann merges, who owns ann/lib."""
    world.repos.add(repository(9, name="lib", private=True), {4: level} if level else {})
    await world.call("POST", "//repos/ann/lib/issues", {"title": "secret"})
    text = "closes ann/lib#1"
    await world.propose(as_=4, head="dan:fix", body="" if edited else text)
    if edited:
        assert (await world.call("PATCH", "/pulls/1", {"body": text}, as_=4)).status_code == 201
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.work()
    assert await state_of_library(world) == outcome


@pytest.mark.parametrize("field", ["title", "body"])
@pytest.mark.parametrize("later", [None, {"title": "better"}, {"body": "closes ann/lib#1, really"}])
@pytest.mark.parametrize("level", [None, "write"])
async def test_a_text_closes_issues_elsewhere_only_where_its_editors_may(world, field, later, level):
    """Dan edits the pull request of Bob, who may write to ann/lib; Bob may edit it again, and Ann merges."""
    world.repos.levels[APP, 4] = "write"
    world.repos.add(repository(9, name="lib", private=True), {2: "write"} | ({4: level} if level else {}))
    await world.call("POST", "//repos/ann/lib/issues", {"title": "secret"})
    await world.propose()
    edits = [({field: "closes ann/lib#1"}, 4)] + ([(later, 2)] if later else [])
    for edit, as_ in edits:
        assert (await world.call("PATCH", "/pulls/1", edit, as_=as_)).status_code == 201
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.work()
    closes = level and "closes" in pull["title"] + pull["body"]
    assert (await state_of_library(world))[0] == ("closed" if closes else "open")


@pytest.mark.parametrize(("merged_pull", "author"), [(1, "dan"), (1, "bob"), (0, "ann"), (0, "dan"), (0, "")])
@pytest.mark.parametrize("long", [False, True])
async def test_a_message_closes_issues_nowhere_else(world, merged_pull, author, long):
    """Anybody may write the address of Ann or Bob into a commit, which Ann pushes or merges.

    Ann and Bob may close the issue.
    """
    world.repos.add(repository(9, name="lib", private=True), {2: "write"})
    await world.call("POST", "//repos/ann/lib/issues", {"title": "secret"})
    await world.propose()
    text = "closes ann/lib#1\n"
    world.repos.commits = [history_commit("e" * 40, text, author)]
    commits = [] if long else [new_commit("e" * 40, text, author)]
    more = {"commits": commits, "total_commits": 1, "merged_pull": merged_pull}
    await world.deliver(push(after=JOINED, pusher=User(id=1, login="ann"), **more))
    await world.work()
    assert (await state_of_library(world))[0] == "open"


@pytest.mark.parametrize(("level", "state"), [("none", "open"), ("read", "open"), ("write", "closed")])
@pytest.mark.parametrize("way", ["merge", "schedule", "event"])
async def test_a_merge_closes_no_issue_that_its_merger_may_not_write(world, level, state, way):
    """Carl may write to the code. Dan, who may only read, proposes."""
    await world.open_issue()
    await world.propose(as_=4, head="dan:fix", body="closes #1")
    world.repos.levels[APP, 3] = AccessLevel(level="write", units={"issues": level})
    if way == "event":
        carl = User(id=3, login="carl")
        await world.deliver(push(after=JOINED, merged_pull=2, pusher=carl))
    else:
        if way == "schedule":
            world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", missing_checks=["ci"])
        body = {"merge_when_checks_succeed": way == "schedule"}
        answer = await world.call("POST", "/pulls/2/merge", body, as_=3)
        assert answer.status_code == (201 if way == "schedule" else 200), answer.text
        if way == "schedule":
            await world.work()
            world.repos.merge_rules.clear()
            await world.scheduled_merges.step()
    await world.work()
    assert (await world.call("GET", "/pulls/2/merge")).status_code == 204
    assert (await world.call("GET", "/issues/1")).json()["state"] == state
