"""Copies of a repository, while git and requests continue to use it."""

import os
import subprocess

import pygit2
import pytest

from ingot_git.storage import copies
from ingot_git.storage.storage import Storage

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)


@pytest.fixture
def path(tmp_path):
    storage = Storage(tmp_path / "root")
    path = storage.create(7, "main")
    repo = storage.open(7)
    for number in range(2):
        parents = [repo.head.target] if number else []
        repo.create_commit("refs/heads/main", ME, ME, f"{number}", repo.TreeBuilder().write(), parents)
        pack(path, "-d")
    for name in ("scratch/1a2b", "scratch/proposals/1", "pull/1/head"):
        repo.references.create(f"refs/{name}", repo.head.target)
    return path


def pack(path, *options):
    subprocess.run(["git", "-C", str(path), "repack", "-q", *options], capture_output=True, check=True)


def packs(path):
    return {f"objects/pack/{file.name}" for file in (path / "objects" / "pack").glob("pack-*.pack")}


def test_packs_are_listed_that_replace_others_meanwhile(path, monkeypatch):
    before, scandir = packs(path), os.scandir
    assert len(before) == 2

    def repacked_meanwhile(folder):
        if folder != path / "objects" / "pack":
            return scandir(folder)
        entries = list(scandir(folder))
        monkeypatch.undo()
        pack(path, "-a", "-d")
        return entries

    monkeypatch.setattr(os, "scandir", repacked_meanwhile)
    listed = {file.path for file in copies.read_contents(path).files}
    assert {name for name in listed if name.endswith(".pack")} == packs(path) != before


def test_refs_of_requests_are_not_copied(path):
    names = [ref.name for ref in copies.read_contents(path).refs]
    assert names == [b"refs/heads/main", b"refs/pull/1/head", b"refs/scratch/proposals/1"]


def test_one_walk_looks_for_what_all_new_refs_need(path, monkeypatch):
    runs, run_git = [], copies.run_git
    monkeypatch.setattr(copies, "run_git", lambda *args, **options: runs.append(run_git(*args, **options)))
    repo = pygit2.Repository(str(path))
    tree = repo.TreeBuilder().write()
    tips = [str(repo.create_commit(None, ME, ME, f"{number}", tree, [])) for number in range(501)]
    refs = [copies.Ref(b"refs/heads/%d" % number, tip) for number, tip in enumerate(tips)]
    assert (copies.check_new_refs(path, refs), len(runs)) == ("", 1)
    assert "1" * 40 in copies.check_new_refs(path, [*refs, copies.Ref(b"refs/heads/x", "1" * 40)])
