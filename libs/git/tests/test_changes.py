"""The files that commits change, and the budget for reading them."""

import subprocess

import pygit2
import pytest

from ingot_git.history.changes import ReadBudget, changes_of
from ingot_git.history.commits import signature
from ingot_git.history.reachability import only_in
from ingot_git.refs.refs import ZERO_OID
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, commit


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def between(repo, before, after, limit=10, **budget):
    """The commits; the budget is unlimited except for the named amounts."""
    amounts = {"texts": 10**9, "paths": 10**9, "entries": 10**9} | budget
    oids = only_in(repo, after, [] if before == ZERO_OID else [before], most=limit)
    return changes_of(repo, oids, ReadBudget(len, **amounts), lambda info: info)


def test_commits_between_are_newest_first_with_their_files(repo):
    one = commit(repo, {"a": b"1", "b": b"2"})
    two = commit(repo, {"a": b"1!", "c/d": b"3"}, [one])
    three = commit(repo, {"a": b"1!"}, [two])
    changes = between(repo, one, three)
    assert [(c.commit.oid, c.added, c.modified, c.removed) for c in changes] == [
        (three, (), (), ("c/d",)),
        (two, ("c/d",), ("a",), ("b",)),
    ]
    everything = between(repo, ZERO_OID, three)
    assert everything[-1].added == ("a", "b")


def test_paths_beyond_the_budget_are_counted(repo):
    one = commit(repo, {"long-name": b"1", "b": b"2", "c/d/e": b"3", "f": b"4"})
    (change,) = between(repo, ZERO_OID, one, paths=7)
    assert (change.added, change.omitted) == (("b", "c/d/e", "f"), 1)
    (change,) = between(repo, ZERO_OID, one, paths=0)
    assert (change.added, change.omitted) == ((), 4)


def test_commits_beyond_the_budget_are_not_listed(repo):
    one = commit(repo, {"a": b"1"})
    two = commit(repo, {"a": b"2"}, [one])
    assert [c.commit.oid for c in between(repo, ZERO_OID, two, texts=1)] == [two]
    assert between(repo, ZERO_OID, two, texts=0) == []
    assert between(repo, ZERO_OID, two, entries=0) == []


def test_changes_of_kind_are_those_that_git_lists(repo, tmp_path):
    """Every change between file, link, folder and submodule, compared with git's own list."""
    blob = repo.create_blob(b"x")
    link, run, plain, module = 0o120000, 0o100755, 0o100644, 0o160000

    def tree(**entries):
        builder = repo.TreeBuilder()
        for name, (mode, oid) in entries.items():
            builder.insert(name, oid, mode)
        return builder.write()

    folder = tree(inside=(plain, blob))
    other_module = pygit2.Oid(hex="1" * 40)
    kinds = [(plain, blob), (run, blob), (link, blob), (module, other_module), (0o040000, folder)]
    pairs = [(f"p{a}{b}", kinds[a], kinds[b]) for a in range(5) for b in range(5)]
    before = tree(**{name: old for name, old, _ in pairs}, old=kinds[0], old_folder=kinds[4])
    after = tree(**{name: new for name, _, new in pairs}, new=kinds[0], new_folder=kinds[4])
    who = signature(AUTHOR)
    one = repo.create_commit(None, who, who, "one", before, [])
    two = repo.create_commit(None, who, who, "two", after, [one])
    (change,) = between(repo, str(one), str(two))
    output = subprocess.run(
        ["git", "-C", repo.path, "diff-tree", "-r", "--name-status", "-z", "--no-renames", str(one),
         str(two)],
        check=True, capture_output=True, text=True,
    ).stdout.split("\0")[:-1]  # fmt: skip
    expected = {"A": set(), "D": set(), "M": set()}
    for status, name in zip(output[::2], output[1::2], strict=True):
        for letter in "DA" if status == "T" else status:
            expected[letter].add(name)
    assert (set(change.added), set(change.removed), set(change.modified)) == (
        expected["A"], expected["D"], expected["M"],
    )  # fmt: skip


def test_trees_of_billions_of_paths_are_read_in_bounded_time(repo):
    oid, mode = repo.create_blob(b"x"), 0o100644
    for _ in range(40):
        builder = repo.TreeBuilder()
        for number in range(10):
            builder.insert(f"n{number}", oid, mode)
        oid, mode = builder.write(), 0o040000
    who = signature(AUTHOR)
    bomb = repo.create_commit(None, who, who, "bomb", oid, [])
    (change,) = between(repo, ZERO_OID, str(bomb), paths=100, entries=10_000)
    assert change.omitted > 100


def test_a_path_that_no_file_system_allows_is_counted(repo):
    oid, mode = repo.create_blob(b"x"), 0o100644
    for _ in range(5000):
        builder = repo.TreeBuilder()
        builder.insert("n", oid, mode)
        oid, mode = builder.write(), 0o040000
    who = signature(AUTHOR)
    deep = repo.create_commit(None, who, who, "deep", oid, [])
    (change,) = between(repo, ZERO_OID, str(deep))
    assert (change.added, change.omitted) == ((), 1)
