"""States of the checks of commits in many repositories, as issues requests them."""

import pytest

from ingot_repos.commits.store import statuses

pytestmark = pytest.mark.both_databases
PATH = "/internal/commit-states"


async def states(person, *commits, peer="issues"):
    body = {"commits": [{"repository_id": id_, "sha": sha} for id_, sha in commits]}
    answer = await person.call("POST", PATH, body, peer=peer)
    if answer.status_code != 200:
        return answer.status_code
    return {(one["repository_id"], one["sha"]): one["state"] for one in answer.json()["commits"]}


async def add_statuses(ann, name, *contexts):
    """Return the id of a new repository, and its commit, which has these statuses."""
    created = await ann.create(name, private=name == "secret", auto_init=True)
    for context, state in contexts:
        added = await ann.post(f"/repos/ann/{name}/statuses/master", {"state": state, "context": context})
        assert added.status_code == 201, added.text
    branch = (await ann.get(f"/repos/ann/{name}/branches/master")).json()
    return created["id"], branch["commit"]["id"]


@pytest.mark.parametrize(
    ("contexts", "state"),
    [
        ([("a", "failure"), ("a", "success"), ("b", "skipped")], "success"),
        ([("a", "success"), ("b", "pending")], "pending"),
        ([("a", "pending"), ("b", "error")], "failure"),
    ],
)
async def test_the_newest_status_of_each_context_counts_as_in_the_interface(ann, contexts, state):
    commit = await add_statuses(ann, "app", *contexts)
    assert await states(ann, commit) == {commit: state}
    combined = (await ann.get("/repos/ann/app/commits/master/status")).json()
    assert combined["state"] == state


async def test_each_state_of_a_commit_is_read_once(world, ann):
    contexts = [(f"job {number}", state) for number in range(5) for state in ("success", "pending")]
    distinct = [(f"{name} {state}", state) for name, state in contexts]
    id_, sha = await add_statuses(ann, "app", *distinct)
    async with world.database.read() as db:
        rows = await statuses.newest_states(db, [id_], [sha])
    assert sorted(row.state for row in rows) == ["pending", "success"]


async def test_commits_without_checks_and_of_no_repository_are_left_out(ann):
    id_, sha = await add_statuses(ann, "app", ("a", "success"))
    assert await states(ann, (id_, "1" * 40), (999, sha)) == {}
    assert await states(ann) == {}


async def test_of_what_the_caller_may_not_read_nothing_is_told(world, ann, bob):
    shown, hidden = [await add_statuses(ann, name, ("a", "failure")) for name in ("app", "secret")]
    assert await states(ann, shown, hidden) == {shown: "failure", hidden: "failure"}
    assert await states(bob, shown, hidden) == {shown: "failure"}
    assert await states(world.user(0, ""), shown, hidden) == {shown: "failure"}


async def test_too_many_commits_and_other_callers_are_refused(ann):
    assert await states(ann, *[(1, "1" * 40)] * 201) == 400
    for peer in ("", "web", "hooks"):
        assert await states(ann, (1, "1" * 40), peer=peer) == 404
