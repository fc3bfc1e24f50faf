"""The refs that a pushing client gets, compared with git's own."""

from pathlib import Path

import pygit2
import pytest

from ingot_git.process.errors import RepositoryNotFound
from ingot_git.protocol.push_advertisement import advertise_for_push
from ingot_git.protocol.smart_http import advertise
from ingot_git.storage.storage import Storage

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)


async def test_it_is_what_git_says(tmp_path):
    storage = Storage(tmp_path)
    path = storage.create(1, "main")

    async def both(**options):
        said = await advertise_for_push(storage, 1, "version=2", **options)
        assert said == await advertise(path, "git-receive-pack", "version=2", **options)
        return said

    assert b"capabilities^{}" in await both()
    assert b"capabilities^{}" in await both(is_session=True)  # the second time git is not asked
    repo = pygit2.Repository(str(path))
    tree = repo.TreeBuilder().write()
    commit = str(repo.create_commit(None, ME, ME, "x", tree, []))
    repo.create_tag("v1", pygit2.Oid(hex=commit), pygit2.enums.ObjectType.COMMIT, ME, "one")
    for name in (
        "heads/main",
        "heads/a/b",
        "heads/a-b",
        "notes/commits",
        "pull/1/head",
        "scratch/x",
        "other/x",
    ):
        repo.references.create(f"refs/{name}", commit)
    repo.references.create("refs/heads/link", "refs/heads/main")
    repo.references.create("refs/heads/broken", "refs/heads/away")
    (Path(path) / "refs/heads/lost").write_text("1" * 40 + "\n")
    said = await both()
    assert [line.split(b"\0")[0].split(b" ")[-1] for line in said.split(b"\n")[1:-1]] == [
        *(f"refs/heads/{name}".encode() for name in ("a-b", "a/b", "link", "lost", "main")),
        b"refs/notes/commits",
        b"refs/tags/v1",
    ]
    assert await advertise_for_push(storage, 1, "version=1") == await advertise(
        path, "git-receive-pack", "version=1"
    )
    (Path(path) / "shallow").write_text(f"{commit}\n")
    assert f"shallow {commit}".encode() in await both()
    with pytest.raises(RepositoryNotFound):
        await advertise_for_push(storage, 2, None)
