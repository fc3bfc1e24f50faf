"""Refs read from files, compared with git's own."""

import subprocess

import pygit2
import pytest

from ingot_git.process.errors import RepositoryDamaged
from ingot_git.refs.ref_files import raw_refs

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)


@pytest.fixture
def repo(tmp_path):
    """A repository with refs of each kind: packed, loose, both, and a tag object."""
    repo = pygit2.init_repository(str(tmp_path / "app.git"), bare=True)
    one, two = (str(repo.create_commit(None, ME, ME, text, repo.TreeBuilder().write(), [])) for text in "12")
    repo.create_tag("v1", pygit2.Oid(hex=one), pygit2.enums.ObjectType.COMMIT, ME, "one")
    for name in ("heads/main", "heads/a/b", "heads/a-b", "pull/1/head"):
        repo.references.create(f"refs/{name}", one)
    subprocess.run(["git", "-C", repo.path, "pack-refs", "--all"], check=True)
    for name in ("heads/a/b", "heads/new", "tags/light"):
        repo.references.create(f"refs/{name}", two, force=True)
    return repo


def by_git(repo, *folders):
    command = ["git", "-C", repo.path, "for-each-ref", "--format=%(refname) %(objectname)", *folders]
    lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    return [tuple(line.split(b" ")) for line in lines]


@pytest.mark.parametrize(
    "folders", [("refs/",), ("refs/heads/",), ("refs/tags/", "refs/pull/"), ("refs/x/",)]
)
def test_they_are_those_that_git_lists_in_its_order(repo, tmp_path, folders):
    assert list(raw_refs(tmp_path / "app.git", *folders)) == by_git(repo, *folders)


def test_the_list_of_packed_refs_may_be_in_any_order(repo, tmp_path):
    path = tmp_path / "app.git"
    listed, packed = by_git(repo), (path / "packed-refs").read_text().splitlines()
    refs = [line for line in packed if line[0] not in "#^"]
    (path / "packed-refs").write_text("".join(f"{line}\n" for line in reversed(refs)))
    assert list(raw_refs(path, "refs/")) == listed


def test_a_symbolic_ref_has_its_name_and_what_is_no_ref_is_left_out(repo, tmp_path):
    path = tmp_path / "app.git"
    repo.references.create("refs/heads/link", "refs/heads/main")
    for name in ("empty", "short", "half.lock"):
        (path / "refs/heads" / name).write_text("1" * 39 if name == "short" else "")
    names = dict(raw_refs(path, "refs/heads/"))
    assert names.pop(b"refs/heads/link") == b"ref: refs/heads/main"
    assert sorted(names) == [b"refs/heads/a-b", b"refs/heads/a/b", b"refs/heads/main", b"refs/heads/new"]


@pytest.mark.parametrize("line", ["1" * 40 + " refs/heads/x", "x\n", "1" * 39 + " refs/heads/x\n"])
def test_a_list_of_packed_refs_that_is_damaged_is_not_read_in_part(repo, tmp_path, line):
    with (tmp_path / "app.git/packed-refs").open("a") as file:
        file.write(line)
    with pytest.raises(RepositoryDamaged):
        list(raw_refs(tmp_path / "app.git", "refs/"))
