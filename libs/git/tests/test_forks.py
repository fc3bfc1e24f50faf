"""Files on disk that a fork shares with its parent, and files that it does not get."""

import subprocess
from datetime import timedelta

import pytest

from ingot_git.process.errors import RepositoryDamaged
from ingot_git.refs.refs import list_refs, set_ref
from ingot_git.storage.packs import check_repository, pack_repository
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import LINES, commit, set_branches

DAY = timedelta(days=1)


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path / "root")


@pytest.fixture
def repo(storage):
    """Has the branch main with two commits."""
    storage.create(1, "main")
    repo = storage.open(1)
    first = commit(repo, {"a": LINES})
    set_branches(repo, main=commit(repo, {"a": LINES, "b": b"b"}, [first]))
    return repo


def fork(storage):
    """The path of a fork, which is whole."""
    path = storage.fork(1, 2)
    assert check_repository(path) == ""
    assert list_refs(storage.open(2)).keys() == {"refs/heads/main"}
    return path


def objects(path):
    said = subprocess.run(
        ["git", "-C", path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(said.stdout.split())


def packs(path):
    return {file.stat().st_ino for file in path.glob("objects/pack/*.pack")}


def test_a_fork_shares_the_pack_of_its_parent_and_not_what_waits_there_to_be_pruned(storage, repo):
    secret = commit(repo, {"secret": b"x"})
    pack_repository(storage.path(1), grace=DAY)
    path = fork(storage)
    assert packs(path) < packs(storage.path(1))
    assert objects(storage.path(1)) - objects(path) > {secret}


def test_a_fork_has_nothing_of_the_pull_requests_of_its_parent(storage, repo):
    before = objects(storage.path(1))
    set_ref(repo, "refs/pull/1/head", commit(repo, {"proposal": b"x"}))
    pack_repository(storage.path(1), grace=DAY)
    assert objects(fork(storage)) == before


def test_a_fork_gets_no_ref_that_looks_like_an_id(storage, repo):
    """Its parent may have such refs from earlier; what only they need stays there as well."""
    before = objects(storage.path(1))
    hidden = commit(repo, {"hidden": b"x"})
    for name in ("a" * 40, "B" * 40, "c" * 64, f"topic/{'d' * 40}"):
        for folder in ("heads", "tags"):
            repo.references.create(f"refs/{folder}/{name}", hidden)
    pack_repository(storage.path(1), grace=DAY)
    assert objects(fork(storage)) == before


def test_a_fork_has_what_its_refs_need_also_where_it_waited_to_be_pruned(storage, repo):
    tip = commit(repo, {"again": b"x"})
    pack_repository(storage.path(1), grace=DAY)
    set_branches(repo, main=tip)
    assert tip in objects(fork(storage))


def test_a_fork_knows_of_its_commits_what_its_parent_knows(storage, repo):
    pack_repository(storage.path(1), grace=DAY)
    assert list(fork(storage).glob("objects/info/commit-graph*"))


def test_a_fork_shares_what_its_parent_knows_of_the_commits_that_both_have(storage, repo):
    pack_repository(storage.path(1), grace=DAY)
    graphs = [(path / "objects/info/commit-graph").stat().st_ino for path in (storage.path(1), fork(storage))]
    assert graphs[0] == graphs[1]


def test_a_fork_knows_of_no_commit_that_it_has_not(storage, repo):
    set_ref(repo, "refs/pull/1/head", commit(repo, {"proposal": b"x"}))
    pack_repository(storage.path(1), grace=DAY)
    subprocess.run(["git", "commit-graph", "verify"], cwd=fork(storage), check=True)


def test_a_parent_that_lacks_an_object_has_no_fork(storage, repo):
    blob = repo[commit(repo, {"lost": b"lost"})].tree["lost"]
    set_branches(repo, main=commit(repo, {"lost": b"lost"}))
    (storage.path(1) / "objects" / str(blob.id)[:2] / str(blob.id)[2:]).unlink()
    with pytest.raises(RepositoryDamaged):
        storage.fork(1, 2)
    assert not storage.exists(2)


def test_a_parent_that_lacks_a_commit_has_no_fork_although_its_graph_knows_the_commit(storage, repo):
    first = commit(repo, {"a": LINES})
    lost = commit(repo, {"a": LINES, "b": b"b"}, [first])
    set_branches(repo, main=commit(repo, {"a": LINES, "b": b"b", "c": b"c"}, [lost]))
    path = storage.path(1)
    subprocess.run(["git", "commit-graph", "write", "--reachable"], cwd=path, check=True)
    repo.create_blob(b"of a deleted branch")  # as many objects too many as too few
    (path / "objects" / str(lost)[:2] / str(lost)[2:]).unlink()
    with pytest.raises(RepositoryDamaged):
        storage.fork(1, 2)
    assert not storage.exists(2)
