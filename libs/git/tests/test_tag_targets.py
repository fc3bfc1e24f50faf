"""Targets of tags."""

import subprocess

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_git.process.errors import RepositoryDamaged
from ingot_git.refs.tag_targets import DEEPEST, commit_of, target_of
from ingot_git.testing.builders import commit


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


def tag(repo, target, kind):
    text = f"object {target}\ntype {kind}\ntag t\ntagger A <a> 1 +0000\n\nm\n"
    return str(repo.odb.write(ObjectType.TAG, text.encode()))


def peeled_by_git(repo, oid):
    command = ["git", "--git-dir", repo.path, "rev-parse", "--verify", f"{oid}^{{}}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_chain_of_tags_leads_to_what_git_says(repo):
    oid = commit(repo, {"a": b"1"})
    targets = {"commit": oid, "tree": str(repo[oid].tree_id), "blob": str(repo[oid].tree["a"].id)}
    for kind, target in targets.items():
        at = target
        for depth in range(DEEPEST + 1):
            assert target_of(repo, at) == (ObjectType[kind.upper()], target)
            assert commit_of(repo, at) == (target if kind == "commit" else None)
            assert peeled_by_git(repo, at) == target
            at = tag(repo, at, "tag" if depth else kind)
        assert target_of(repo, at) is None
        assert commit_of(repo, at) is None


def test_an_object_that_is_missing_is_damage(repo):
    lost = tag(repo, "1" * 40, "commit")
    for oid in (lost, tag(repo, lost, "tag"), "2" * 40):
        with pytest.raises(RepositoryDamaged):
            target_of(repo, oid)
