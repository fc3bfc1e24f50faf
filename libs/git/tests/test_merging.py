"""Merging refs of a remote: only a side that lost no commit follows the other one."""

import pygit2
import pytest

from ingot_git.remote.merging import merge_refs

BRANCH = "refs/heads/main"
PULL = "refs/pull/7/head"


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path), bare=True)


@pytest.fixture
def history(repo):
    """Return three commits, each on top of the one before."""
    author, tree = pygit2.Signature("a", "a@example.com"), repo.TreeBuilder().write()
    commits = []
    for message in ("first", "second", "third"):
        commits.append(str(repo.create_commit(None, author, author, message, tree, commits[-1:])))
    return commits


def merged(repo, here, theirs, base, name=BRANCH):
    """Return the new value of a ref, the field of its conflict, and its new base."""
    repo.references.create(name, here)
    result = merge_refs(repo, {name: theirs}, {name: base} if base else {})
    [new] = [change.after for change in result.changes] or [None]
    return new, result.conflicts.get(name), result.bases.get(name)


def test_a_branch_that_was_moved_back_here_stays(repo, history):
    first, second, third = history
    assert merged(repo, first, third, second) == (None, "commits", None)


def test_a_branch_that_was_moved_back_at_the_remote_and_forward_here_stays(repo, history):
    first, second, third = history
    assert merged(repo, third, first, second) == (None, "commits", None)


def test_a_branch_that_got_commits_here_and_more_of_them_at_the_remote_follows(repo, history):
    first, second, third = history
    assert merged(repo, second, third, first) == (third, None, third)


def test_a_branch_with_all_commits_of_the_remote_is_no_conflict(repo, history):
    first, second, third = history
    assert merged(repo, third, second, first) == (None, None, second)


@pytest.mark.parametrize("is_ahead", [False, True])
def test_of_a_branch_without_a_base_the_longer_history_wins(repo, history, is_ahead):
    first, second, _ = history
    here, theirs = (second, first) if is_ahead else (first, second)
    assert merged(repo, here, theirs, None) == (None if is_ahead else second, None, theirs)


def test_a_pull_request_without_a_base_may_be_another_one(repo, history):
    first, second, _ = history
    assert merged(repo, first, second, None, name=PULL) == (None, "commits", None)


def test_a_pull_request_with_a_base_follows(repo, history):
    first, second, third = history
    assert merged(repo, second, third, first, name=PULL) == (third, None, third)
