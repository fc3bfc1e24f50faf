"""Pushes that are refused: git prints what may not be done and why, and nothing of them stays."""

from pathlib import Path

import pytest
from tests.e2e.conftest import MAX_FILE_BYTES
from tests.e2e.history import GitFailed, commit_file, git

from .people import Key, run_git


async def damaged_commit(work: Path) -> str:
    """A commit whose folder has two files of one name."""
    file = bytes.fromhex(await git("rev-parse", "HEAD:a.txt", cwd=work))
    (work / "tree").write_bytes((b"100644 a.txt\0" + file) * 2)
    tree = await git("hash-object", "-t", "tree", "-w", "--literally", "tree", cwd=work)
    return (await git("commit-tree", "-p", "HEAD", "-m", "damaged", tree.strip(), cwd=work)).strip()


async def test_git_prints_why_a_ref_does_not_move(ann, app):
    await ann.call("POST", f"{app.path}/branch_protections", {"rule_name": "main", "enable_push": False})
    damaged = await damaged_commit(app.work)
    await commit_file(app.work, "b.txt", b"new\n", "Add b")
    await git("checkout", "-q", "-b", "large", cwd=app.work)
    await commit_file(app.work, "large.bin", bytes(MAX_FILE_BYTES + 1), "Add a large file")
    size = f"the file large.bin has {MAX_FILE_BYTES + 1} bytes; {MAX_FILE_BYTES} are allowed"
    refusals = {
        "main": "the rule 'main' protects the branch 'main'",
        "large": size,
        f"{damaged}:refs/heads/damaged": "duplicateEntries",
        "main:refs/heads/-x": "a branch cannot have this name",
        "main:refs/heads/@": "a branch cannot have this name",
        "main:refs/heads/HEAD": "a branch cannot have this name",
        "main:refs/tags/-x": "a tag cannot have this name",
        "main:refs/pull/1/head": "deny updating a hidden ref",
        "main:refs/for/nothing": "there is no branch 'nothing'",
    }
    for refspec, reason in refusals.items():
        output = await ann.refusal("push", app.url, refspec, cwd=app.work)
        assert reason in output, refspec
        assert "! [remote rejected]" in output, refspec
    assert await ann.refs(app.repository) == {"refs/heads/main": app.commits[-1]}


async def read_only(ann, app, folder):
    """A URL and a key with which one may only fetch, and what git prints of that."""
    if ann.transport == "ssh":
        key = Key(folder, "robot")
        await ann.call("POST", f"{app.path}/keys", key.body)
        return app.url, key, "the deploy key may only read"
    body = {"name": "robot", "scopes": ["read:repository"]}
    token = await ann.call("POST", f"users/{ann.login}/tokens", body)
    return ann.url(app.repository, token["sha1"]), ann.key, "the token lacks the scope"


async def test_git_prints_why_a_repository_takes_no_push(ann, bob, app, tmp_path):
    await commit_file(app.work, "b.txt", b"new\n", "Add b")
    url, key, reason = await read_only(ann, app, tmp_path)
    await run_git("fetch", "-q", url, "main", cwd=app.work, key=key)
    with pytest.raises(GitFailed, match=reason):
        await run_git("push", url, "main", cwd=app.work, key=key)
    url = bob.url(app.repository)
    output = await bob.refusal("push", url, "main", cwd=app.work)
    assert "refs/heads/main: needs write access to the repository" in output
    await ann.call("PATCH", app.path, {"private": True})
    for command in (("push", url, "main"), ("ls-remote", url)):
        absent = (command[0], url.replace("/app.git", "/nothing.git"), *command[2:])
        hidden = await bob.refusal(*command, cwd=app.work)
        assert hidden == (await bob.refusal(*absent, cwd=app.work)).replace("nothing", "app")
    await ann.call("PATCH", app.path, {"archived": True})
    assert "the repository is archived" in await ann.refusal("push", "origin", "main", cwd=app.work)
    assert await ann.refs(app.repository) == {"refs/heads/main": app.commits[-1]}
