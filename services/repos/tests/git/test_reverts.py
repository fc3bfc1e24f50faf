"""Commits are taken back by the API, as git does it, or it is said why not."""

import pytest

from ingot_git.changes import tree_merges
from ingot_git.testing.builders import commit, costly_merge, set_branches

from ..changes.test_files import files_of, text_of
from ..code_world import opened, repository_with_history


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


def path_of(sha):
    return f"/api/v1/repos/ann/app/commits/{sha}/revert"


async def test_a_commit_is_taken_back_on_its_branch_and_announced_like_a_push(world, ann, app):
    """Also where later commits changed other files, links, modes and binary ones."""
    answer = await ann.call("POST", path_of(app["second"][:10]), {})
    assert answer.status_code == 201, answer.text
    reverted = answer.json()["commit"]
    assert reverted["message"] == f'Revert "second"\n\nThis reverts commit {app["second"]}.\n'
    assert [parent["sha"] for parent in reverted["parents"]] == [app["third"]]
    files = {path: content for path, (_, content) in files_of(world, app).items()}
    assert files == {"README.md": b"# app\n\nmore\n", "src/deep/x.txt": b"x\n", "src/main.py": b"print(1)\n"}
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == (
        "refs/heads/master",
        app["third"],
        reverted["sha"],
    )
    assert await world.rows("push") == []


async def test_a_commit_is_taken_back_on_a_new_branch_with_a_message_of_the_callers(world, ann, app):
    body = {"new_branch": "back", "message": "Say less", "branch": "master"}
    answer = await ann.call("POST", path_of("master"), body)
    assert (answer.status_code, answer.json()["commit"]["message"]) == (201, "Say less\n")
    assert await text_of(ann, "README.md", "back") == "# app\n"
    assert await text_of(ann, "README.md") == "# app\n\nmore\n"
    taken = await ann.call("POST", path_of("master"), body)
    assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "new_branch")


async def test_a_merge_is_taken_back_to_its_first_parent(world, ann, app):
    repo = opened(world, app["id"])
    merged = commit(repo, {"a": b"1", "b": b"2"}, [app["third"], app["side"]], "merge\n")
    set_branches(repo, merged=merged)
    answer = await ann.call("POST", path_of(merged), {"branch": "merged"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["commit"]["message"] == (
        f'Revert "merge"\n\nThis reverts commit {merged}, reversing\nchanges made to {app["third"]}.\n'
    )
    assert files_of(world, app, "merged") == files_of(world, app)


async def test_the_subject_is_behind_blank_lines(world, ann, app):
    repo = opened(world, app["id"])
    set_branches(repo, blank=commit(repo, {"a": b"1"}, [app["third"]], "\n\n \nsubject\n\nbody\n"))
    answer = await ann.call("POST", path_of("blank"), {"branch": "blank"})
    assert answer.json()["commit"]["message"].startswith('Revert "subject"\n\nThis')


async def test_what_would_take_too_long_to_take_back_is_said(world, ann, app, monkeypatch):
    monkeypatch.setattr(tree_merges, "CPU_SECONDS", 0.2)
    repo = opened(world, app["id"])
    ours, theirs = costly_merge(repo)
    set_branches(repo, ours=ours, theirs=theirs)
    answer = await ann.call("POST", path_of(theirs), {"branch": "ours"})
    assert (answer.status_code, "computing time" in answer.text) == (409, True)


async def test_what_cannot_be_taken_back_is_said_and_moves_nothing(world, ann, app):
    repo = opened(world, app["id"])
    hidden = commit(repo, {"README.md": b"hidden"}, [app["third"]])
    await ann.call("POST", path_of("master"), {"new_branch": "back"})
    before = sorted(world.components.storage.path(app["id"]).rglob("*"))
    for sha, body, status, words in (
        (app["third"], {"branch": "back"}, 409, "the branch 'back' has nothing of what the commit changed"),
        (app["first"], {}, 409, "later commits changed the same in README.md, src/main.py"),
        (app["third"], {"branch": "none"}, 404, "there is no branch 'none'"),
        (hidden, {}, 404, "Not found."),
        ("9" * 40, {}, 404, "Not found."),
        ("x" * 3000, {}, 404, "Not found."),
        ("a b", {}, 404, "Not found."),
    ):
        answer = await ann.call("POST", path_of(sha), body)
        assert (answer.status_code, answer.json()["message"]) == (status, words)
    assert (await world.user(7, "eve").call("POST", path_of(app["third"]), {})).status_code == 403
    assert str(repo.references["refs/heads/master"].target) == app["third"]
    assert sorted(world.components.storage.path(app["id"]).rglob("*")) == before


async def test_the_first_commit_of_all_is_taken_back_too(world, ann, app):
    repo = opened(world, app["id"])
    set_branches(repo, begun=app["first"])
    answer = await ann.call("POST", path_of(app["first"]), {"branch": "begun"})
    assert (answer.status_code, files_of(world, app, "begun")) == (201, {})
