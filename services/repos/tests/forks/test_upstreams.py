"""Following the parent of a fork."""

from base64 import b64encode
from types import SimpleNamespace

import pytest

from ingot_git.changes import merge
from ingot_git.history.heads import BorrowedHead
from ingot_repos.forks.rules import upstreams

from ..protection.test_protections import protect

U = "/repos/bob/app/merge-upstream"


async def write(person, repository, path, text="x"):
    body = {"content": b64encode(text.encode()).decode(), "message": f"add {path}"}
    answer = await person.post(f"/repos/{repository}/contents/{path}", body)
    assert answer.status_code == 201, answer.text
    return answer.json()["commit"]["sha"]


async def tip(person, repository, branch="master"):
    return (await person.get(f"/repos/{repository}/branches/{branch}")).json()["commit"]["id"]


@pytest.fixture
async def fork(world, ann, bob):
    """bob/app, a fork of ann/app."""
    await ann.create("app", auto_init=True)
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()


async def test_a_fork_follows_its_parent(world, ann, bob, fork):
    assert (await bob.post(U)).json() == {"merge_type": "up-to-date"}
    newest = await write(ann, "ann/app", "one.txt")
    answer = await bob.post(U, {"branch": "master", "ff_only": True})
    assert (answer.status_code, answer.json()) == (200, {"merge_type": "fast-forward"})
    assert await tip(bob, "bob/app") == newest
    assert (await world.events("push"))[-1]["after"] == newest

    own = await write(bob, "bob/app", "own.txt")
    assert (await bob.post(U)).json() == {"merge_type": "up-to-date"}
    newest = await write(ann, "ann/app", "two.txt")
    assert (await bob.post(U, {"ff_only": True})).status_code == 409
    assert await tip(bob, "bob/app") == own
    assert (await bob.post(U)).json() == {"merge_type": "merge"}
    shown = (await bob.get(f"/repos/bob/app/git/commits/{await tip(bob, 'bob/app')}")).json()
    assert [parent["sha"] for parent in shown["parents"]] == [own, newest]


async def test_of_what_does_not_follow_nothing_stays(world, ann, bob, fork):
    await write(ann, "ann/app", "same.txt", "theirs")
    await write(bob, "bob/app", "same.txt", "ours")
    path = world.components.storage.path((await bob.get("/repos/bob/app")).json()["id"])
    before = sorted(path.rglob("*"))
    for options in ({}, {"ff_only": True}):
        assert (await bob.post(U, options)).status_code == 409
        assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"enable_push": False}, 403),
        ({"enable_push": True, "require_signed_commits": True}, 403),
        ({"enable_push": True, "protected_file_patterns": "new/*"}, 403),
        ({"enable_push": True, "protected_file_patterns": "old/*"}, 200),
    ],
)
async def test_of_what_a_rule_refuses_nothing_comes(world, ann, bob, fork, rule, status):
    """Otherwise writers of the fork could read it there by its id."""
    await write(bob, "bob/app", "own.txt")
    newest = await write(ann, "ann/app", "new/file.txt")
    await protect(bob, "master", repository="bob/app", **rule)
    storage, fork_id = world.components.storage, (await bob.get("/repos/bob/app")).json()["id"]
    path = storage.path(fork_id)
    before = sorted(path.rglob("*"))
    assert (await bob.post(U)).status_code == status
    assert (sorted(path.rglob("*")) == before) is (status == 403)
    assert await storage.call(fork_id, lambda repo: newest in repo) is (status == 200)


async def test_what_the_parent_gets_after_the_rules_were_asked_does_not_come(
    world, ann, bob, fork, monkeypatch
):
    """The rules are asked about one commit, which is made once."""
    await write(bob, "bob/app", "own.txt")
    judged = await write(ann, "ann/app", "new/file.txt")
    await protect(bob, "master", repository="bob/app", enable_push=True, protected_file_patterns="later.*")
    later, commits = [], []

    async def publish_later(*args, publish=BorrowedHead.copy_commit):
        later.append(await write(ann, "ann/app", "later.txt"))
        await publish(*args)

    def follow(*args, **options):
        commits.append(merge.follow(*args, **options))
        return commits[-1]

    monkeypatch.setattr(BorrowedHead, "copy_commit", publish_later)
    monkeypatch.setattr(upstreams, "merge", SimpleNamespace(follow=follow))
    assert (await bob.post(U)).json() == {"merge_type": "merge"}
    assert commits == [await tip(bob, "bob/app")]
    shown = (await bob.get(f"/repos/bob/app/git/commits/{commits[0]}")).json()
    assert shown["parents"][1]["sha"] == judged
    fork_id = (await bob.get("/repos/bob/app")).json()["id"]
    assert await world.components.storage.call(fork_id, lambda repo: later[0] in repo) is False


async def test_what_does_not_follow_says_why(world, ann, bob, fork):
    assert (await ann.post("/repos/ann/app/merge-upstream")).status_code == 400
    assert (await bob.post(U, {"branch": "none"})).status_code == 404
    assert (await bob.post(U, {"branch": "a..b"})).status_code == 404
    await write(ann, "ann/app", "same.txt", "theirs")
    own = await write(bob, "bob/app", "same.txt", "ours")
    assert (await bob.post(U)).status_code == 409
    assert await tip(bob, "bob/app") == own
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.post(U)).status_code == 404
