"""Issues that a merge or a commit closes."""

from .builders import JOINED, new_commit, push, repository


async def test_a_push_closes_nothing_where_the_unit_is_off(world):
    await world.open_issue()
    commits = [new_commit("e" * 40, "closes #1")]
    await world.deliver(push(repository=repository(has_issues=False), commits=commits, total_commits=1))
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
