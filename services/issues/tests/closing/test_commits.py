"""Messages of pushed commits: references and closing keywords, even if the event lacks some messages."""

import pytest

from ingot_contracts.limits import Omitted
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_issues.closing.rules.commits import MOST
from ingot_issues.markdown.rules.rendering import LARGEST

from ..builders import APP, BASE, NEXT, history_commit, new_commit, push, repository


@pytest.mark.parametrize(
    ("ref", "fields", "base"),
    [
        ("main", {}, BASE),
        ("main", {"before": NO_COMMIT}, ""),
        ("main", {"forced": True}, ""),
        ("topic", {"before": NO_COMMIT}, ""),
    ],
)
async def test_a_message_that_the_event_cuts_is_read_from_repos(world, ref, fields, base):
    await world.open_issue()
    message = "x " * 10_000 + "closes #1"
    world.repos.commits = [history_commit("e" * 40, message)]
    commits = [new_commit("e" * 40, message[:8_000])]
    omitted = Omitted(characters=len(message) - 8_000)
    await world.deliver(
        push(f"refs/heads/{ref}", commits=commits, total_commits=1, omitted=omitted, **fields)
    )
    await world.work()
    assert world.histories() == [(base, NEXT)]
    assert await world.kinds() == (["commit_ref", "close"] if ref == "main" else ["commit_ref"])


async def test_of_a_forced_push_only_its_own_commits_are_read_from_repos(world):
    for _ in range(2):
        await world.open_issue()
    world.repos.commits = [history_commit("e" * 40, "closes #1"), history_commit("f" * 40, "closes #2")]
    commits, omitted = [new_commit("e" * 40, "clo")], Omitted(characters=6)
    await world.deliver(push(commits=commits, total_commits=1, forced=True, omitted=omitted))
    await world.workers.step()
    states = [(await world.call("GET", f"/issues/{number}")).json()["state"] for number in (1, 2)]
    assert states == ["closed", "open"]


async def test_of_a_message_only_the_first_128_k_characters_count(world):
    await world.open_issue()
    world.repos.commits = [history_commit("e" * 40, "x" * LARGEST + " closes #1")]
    commits, omitted = [new_commit("e" * 40, "x" * 8_000)], Omitted(characters=LARGEST)
    await world.deliver(push(commits=commits, total_commits=1, omitted=omitted))
    await world.workers.step()
    assert await world.kinds() == []


async def test_commits_refer_to_issues_and_on_the_default_branch_close_them(world):
    for n in range(4):
        await world.open_issue(f"number {n}", as_=3)
    commits = [
        new_commit("c" * 40, "Fixes #2\n\nand resolves: #9, closes #404"),
        new_commit("d" * 40, "see #1, fixed #3"),
    ]
    for _ in range(2):
        await world.deliver(push("refs/heads/topic", commits=commits, total_commits=2))
    assert await world.kinds(2) == ["commit_ref"]
    await world.deliver(push(commits=commits, total_commits=2))
    await world.work()
    assert await world.kinds(1) == ["commit_ref"]
    assert await world.kinds(2) == ["commit_ref", "close"]
    noted, closed = await world.timeline(3)
    assert (noted["ref_commit_sha"], noted["user"]["login"]) == ("d" * 40, "bob")
    assert closed["user"]["login"] == "bob"
    assert [(await world.call("GET", f"/issues/{n}")).json()["state"] for n in (1, 2, 3, 4)] == [
        "open", "closed", "closed", "open",
    ]  # fmt: skip
    actions = await world.actions()
    assert actions.count("closed") == 2
    await world.deliver(push(commits=[new_commit("e" * 40, "reopen #2")], total_commits=1))
    await world.work()
    assert (await world.call("GET", "/issues/2")).json()["state"] == "open"


@pytest.mark.parametrize(("level", "state"), [("none", "open"), ("read", "open"), ("write", "closed")])
@pytest.mark.parametrize("total", [1, 30])
async def test_a_pusher_who_may_not_write_issues_closes_none(world, level, state, total):
    await world.open_issue()
    world.repos.levels[APP, 2] = AccessLevel(level="none", units={"code": "write", "issues": level})
    world.repos.commits = [history_commit("e" * 40, "closes #1")]
    await world.deliver(push(commits=[new_commit("e" * 40, "closes #1")], total_commits=total))
    await world.work()
    assert (await world.call("GET", "/issues/1")).json()["state"] == state


async def test_the_messages_of_a_long_push_are_read_from_repos(world):
    await world.open_issue()
    world.repos.commits = [history_commit("e" * 40, "closes #1")]
    await world.deliver(push(commits=[new_commit("f" * 40, "x")], total_commits=30))
    await world.workers.step()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"


async def test_of_a_long_push_the_newest_thousand_commits_are_read(world):
    await world.open_issue()
    await world.open_issue()
    newest = [history_commit(f"{number:040x}", "x") for number in range(MOST - 1)]
    closing = [history_commit(f"{number:040x}", f"closes #{number}") for number in (1, 2)]
    world.repos.commits = newest + closing
    await world.deliver(push(commits=[new_commit("f" * 40, "x")], total_commits=MOST + 1))
    await world.workers.step()
    states = [(await world.call("GET", f"/issues/{number}")).json()["state"] for number in (1, 2)]
    assert states == ["closed", "open"]


async def test_of_a_forced_push_only_the_commits_of_its_event_count(world):
    """The commit it starts from belongs to no history any more, so repos tells nothing about it."""
    await world.open_issue()
    commits = [new_commit("e" * 40, "closes #1")]
    await world.deliver(push(commits=commits, total_commits=100_000, forced=True))
    await world.work()
    assert world.histories() == []
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"


async def test_a_mirror_closes_nothing(world):
    await world.open_issue()
    commits = [new_commit("e" * 40, "closes #1")]
    await world.deliver(push(repository=repository(mirror=True), commits=commits, total_commits=1))
    assert await world.kinds() == []
