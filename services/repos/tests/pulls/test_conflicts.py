"""Conflicts of a pull request, and the merge that resolves them, for issues."""

import pytest

from ingot_git.testing.builders import commit, set_branches

from ..code_world import opened
from ..protection.test_protections import protect


@pytest.fixture
async def sides(world, base):
    """The tips of topic and master of ann/app, which conflict in one file."""
    repo = opened(world, base)
    root = str(repo.branches["master"].target)
    head, tip = (commit(repo, {"f": word, "a.txt": b"one\n"}, [root]) for word in (b"ours\n", b"theirs\n"))
    set_branches(repo, topic=head, master=tip)
    return head, tip


def question(base, head):
    return {"head_branch": "topic", "head_sha": head, "base_repository_id": base, "base_branch": "master"}


def resolution(base, head, tip, *, path="f", text="both\n"):
    files = [{"path": path, "text": text}]
    return {
        "head_branch": "topic", "base_repository_id": base, "base_branch": "master",
        "resolution": {"head_sha": head, "base_sha": tip, "files": files},
    }  # fmt: skip


async def test_conflicts_are_resolved_by_a_merge_that_is_announced_as_a_push(world, ann, base, sides):
    head, tip = sides
    answered = (await ann.internal("POST", f"{base}/conflicts", question(base, head))).json()
    assert answered == {
        "head_sha": head, "base_sha": tip, "obstacle": "",
        "files": [{
            "path": "f", "deleted": "", "obstacle": "",
            "parts": [{"text": "", "is_conflict": True, "base": "", "ours": "ours\n", "theirs": "theirs\n"}],
        }],
    }  # fmt: skip
    answer = await ann.internal("POST", f"{base}/resolutions", resolution(base, head, tip))
    assert answer.status_code == 200, answer.text
    sha = answer.json()["sha"]
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"]) == ("refs/heads/topic", sha)
    merged = opened(world, base)[sha]
    assert [str(one) for one in merged.parent_ids] == [head, tip]
    assert (merged.author.name, merged.tree["f"].data) == ("Ann", b"both\n")
    assert merged.message == "Merge branch 'master' into topic\n"
    assert (await ann.internal("POST", f"{base}/conflicts", question(base, sha))).json()["files"] == []


async def test_only_who_may_move_the_head_branch_resolves_conflicts(bob, base, sides):
    head, tip = sides
    for path, body in (("conflicts", question(base, head)), ("resolutions", resolution(base, head, tip))):
        assert (await bob.internal("POST", f"{base}/{path}", body)).status_code == 403


@pytest.mark.parametrize(
    "rule", [{"enable_push": False}, {"enable_push": True, "protected_file_patterns": "f"}]
)
async def test_a_rule_of_the_head_branch_refuses_a_resolution(world, ann, bob, base, sides, rule):
    head, tip = sides
    await protect(ann, "topic", repository="ann/app", **rule)
    answer = await ann.internal("POST", f"{base}/resolutions", resolution(base, head, tip))
    assert answer.status_code == 403
    assert str(opened(world, base).branches["topic"].target) == head


async def test_conflicts_with_another_repository_are_resolved_in_the_fork(world, ann, bob, base, sides):
    head, _ = sides
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    repo = opened(world, base)
    tip = commit(repo, {"f": b"newer\n"}, [str(repo.branches["master"].target)])
    set_branches(repo, master=tip)
    answered = (await bob.internal("POST", f"{fork}/conflicts", question(base, head))).json()
    assert (answered["base_sha"], [one["path"] for one in answered["files"]]) == (tip, ["f"])
    answer = await bob.internal("POST", f"{fork}/resolutions", resolution(base, head, tip))
    assert answer.status_code == 200, answer.text
    assert tip in opened(world, fork)


@pytest.mark.parametrize("moved", ["topic", "master"])
async def test_a_branch_that_moved_meanwhile_refuses_the_resolution(world, ann, base, sides, moved):
    head, tip = sides
    repo = opened(world, base)
    newer = commit(repo, {"f": b"newer\n"}, [head if moved == "topic" else tip])
    set_branches(repo, **{moved: newer})
    answer = await ann.internal("POST", f"{base}/resolutions", resolution(base, head, tip))
    words = "one of the branches has moved; look at the conflicts again"
    assert (answer.status_code, answer.json()["message"]) == (409, words)


@pytest.mark.parametrize(
    ("change", "status"),
    [({"path": "g"}, 409), ({"path": "../f"}, 409), ({"text": "x" * 400_001}, 422), ({"text": 1}, 422)],
)
async def test_a_resolution_of_other_files_is_refused(ann, base, sides, change, status):
    answer = await ann.internal("POST", f"{base}/resolutions", resolution(base, *sides, **change))
    assert answer.status_code == status, answer.text


async def test_missing_branches_and_repositories_are_not_found(ann, base, sides):
    head, _ = sides
    for change in ({"base_branch": "nothing"}, {"base_repository_id": 999}):
        answer = await ann.internal("POST", f"{base}/conflicts", question(base, head) | change)
        assert answer.status_code == 404
