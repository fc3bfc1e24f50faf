"""What no visible ref leads to, such as commits of deleted branches: no route shows it, and no push takes it from elsewhere."""

import hashlib

import pytest

from ingot_repos.git.refs import ZERO_OID, set_ref
from ingot_repos.git.tags import write_tag

from .code_world import opened, repository_with_history
from .git_builders import AUTHOR, commit

R = "/repos/ann/app"
FILES = {"secret.txt": b"the secret\n", ".editorconfig": b"root = true\n[*]\nindent_size = 3\n"}
READS = (
    "raw/{commit}/secret.txt", "raw/secret.txt?ref={commit}", "media/secret.txt?ref={commit}",
    "archive/{commit}.zip", "archive/{commit}.tar.gz", "archive/{commit}.bundle", "archive/{short}.zip",
    "contents?ref={commit}", "contents/secret.txt?ref={commit}", "contents-ext?ref={commit}",
    "contents-ext/secret.txt?ref={commit}", "file-contents?ref={commit}&body=%7B%22files%22:%5B%22secret.txt%22%5D%7D",
    "blame/secret.txt?ref={commit}", "editorconfig/secret.txt?ref={commit}",
    "commits?sha={commit}", "commits?sha={short}", "commits?sha={later}", "commits?not={commit}",
    "commits/{commit}/status", "commits/{commit}/statuses", "statuses/{commit}",
    "git/commits/{commit}", "git/commits/{short}", "git/commits/{commit}.diff", "git/commits/{commit}.patch",
    "git/trees/{commit}", "git/trees/{tree}", "git/trees/{commit}:", "git/blobs/{blob}", "git/tags/{tag}", "git/notes/{commit}",
    "compare/master...{commit}", "compare/{commit}...master", "compare/master..{commit}?output=diff",
    "compare/master...{commit}?output=patch", "compare/master...{commit}?output=diff&page=1",
)  # fmt: skip
WRITES = (
    ("POST", "branches", {"new_branch_name": "again", "old_ref_name": "{commit}"}),
    ("PUT", "branches/master", {"new_commit_id": "{commit}", "force": True}),
    ("POST", "tags", {"tag_name": "again", "target": "{commit}"}),
    ("POST", "releases", {"tag_name": "again", "target_commitish": "{commit}"}),
    ("POST", "statuses/{commit}", {"state": "success"}),
    ("POST", "contents/new.txt", {"content": "", "branch": "{commit}", "new_branch": "again"}),
)


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


@pytest.fixture
def repo(world, app):
    return opened(world, app["id"])


@pytest.fixture
def hidden(repo, app):
    """Ids of two commits, a tag and what is in them: none of a visible ref, one of a ref of the service."""
    oid = commit(repo, FILES, [app["third"]], "nobody reads this\n")
    later = commit(repo, {**FILES, "b": b"b"}, [oid], "nor this\n")
    set_ref(repo, "refs/scratch/x", later)
    who = repo[oid].author
    repo.create_note("a note\n", who, who, oid, "refs/notes/commits")
    blob = str(repo[oid].tree["secret.txt"].id)
    tree = str(repo[oid].tree_id)
    tag = write_tag(repo, "old", oid, "a tag", AUTHOR)
    return {"commit": oid, "short": oid[:12], "later": later, "tree": tree, "blob": blob, "tag": tag}


NOTHING = {name: f"{number}" * 40 for number, name in enumerate(("commit", "later", "tree", "blob", "tag"), 1)} | {
    "short": "1" * 12
}  # fmt: skip


def filled(value, ids):
    if isinstance(value, dict):
        return {name: filled(one, ids) for name, one in value.items()}
    return value.format(**ids) if isinstance(value, str) else value


async def answers(person, ids, method, path, body=None):
    """Status and text, without the ids."""
    answer = await person.call(method, f"/api/v1{R}/{filled(path, ids)}", filled(body, ids))
    text = answer.text
    for oid in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(oid, "")
    return answer.status_code, text


async def test_every_route_answers_as_for_what_is_not_there_until_a_ref_leads_to_it(
    ann, bob, repo, app, hidden
):
    for path in READS:
        for person in (bob, ann):
            shown = await answers(person, hidden, "GET", path)
            assert shown == await answers(person, NOTHING, "GET", path), path
            assert shown[0] == 404, path
    for method, path, body in WRITES:
        refused = await answers(ann, hidden, method, path, body)
        assert refused == await answers(ann, NOTHING, method, path, body), path
        assert refused[0] in (404, 422), (path, refused)
    set_ref(repo, "refs/heads/shown", hidden["later"])
    set_ref(repo, "refs/tags/shown", hidden["tag"])
    for path in READS:
        assert (await answers(bob, hidden, "GET", path))[0] == 200, path
    for method, path, body in WRITES[2:5]:
        assert (await answers(ann, hidden, method, path, body))[0] == 201, path


async def push_by_hand(person, repository, name, oid):
    """What git answers to a client that only names an object: the pack is empty."""
    command = f"{ZERO_OID} {oid} {name}\0report-status".encode()
    pack = b"PACK" + (2).to_bytes(4) + bytes(4)
    checksum = hashlib.sha1(pack, usedforsecurity=False).digest()
    answer = await person.call(
        "POST",
        f"/{repository}.git/git-receive-pack",
        content=b"%04x%b0000%b%b" % (len(command) + 4, command, pack, checksum),
        headers={"Content-Type": "application/x-git-receive-pack-request"},
    )
    return answer.text


async def test_only_whoever_may_push_makes_an_old_commit_a_branch_again(ann, bob, app, hidden):
    assert "ok refs/heads/again" not in await push_by_hand(
        bob, "ann/app", "refs/heads/again", hidden["commit"]
    )
    assert (await bob.get(f"{R}/branches/again")).status_code == 404
    assert "ok refs/heads/again" in await push_by_hand(ann, "ann/app", "refs/heads/again", hidden["commit"])
    assert (await bob.get(f"{R}/branches/again")).json()["commit"]["id"] == hidden["commit"]


async def test_what_was_compared_with_a_private_fork_is_not_taken_from_it_by_a_push(
    world, ann, bob, app, repo
):
    fork = (await bob.post(f"{R}/forks")).json()["id"]
    await world.components.workers.step()
    assert (await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})).status_code == 200
    theirs = opened(world, fork)
    first = commit(theirs, {"secret.txt": b"the secret\n"}, [app["second"]], "first of bob's\n")
    tip = commit(theirs, {"secret.txt": b"the secret\n", "b": b"b\n"}, [first], "second of bob's\n")
    set_ref(theirs, "refs/heads/bobs", tip)
    compared = (await bob.get(f"{R}/compare/master...bob:bobs")).json()
    assert [one["sha"] for one in compared["commits"]] == [tip, first]
    assert [one["filename"] for one in compared["commits"][0]["files"]] == ["b"]
    for query in ("output=diff", "output=diff&page=1", "output=patch"):
        for dots in ("..", "..."):
            text = await bob.get(f"{R}/compare/master{dots}bob:bobs?{query}")
            assert (text.status_code, "+the secret" in text.text) == (200, True), query
    question = {"base_branch": "master", "head_branch": "bobs", "head_repository_id": fork}
    counted = await bob.internal("POST", f"{app['id']}/compare", question)
    assert (counted.json()["commits"], counted.json()["head_sha"]) == (2, tip)
    assert counted.json()["counts"]["changed_files"] > 0
    for oid in (tip, first):
        assert oid not in repo
        for repository, person in (("ann/app", ann), ("bob/app", ann)):
            assert "ok refs/heads/mine" not in await push_by_hand(person, repository, "refs/heads/mine", oid)
    assert (await ann.get(f"{R}/branches/mine")).status_code == 404
    # Under the number of a pull request it is kept: whoever opened that has shown it.
    await bob.internal("POST", f"{app['id']}/compare", question | {"number": 7})
    assert (await ann.get(f"{R}/git/commits/{tip}")).status_code == 200
