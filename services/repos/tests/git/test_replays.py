"""Rebases give the histories of git-rebase(1), also where commit dates run backwards."""

import os
import random
import resource
import subprocess
import time
from functools import partial

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_git.changes import merge as merges
from ingot_git.changes.merge import merge, update
from ingot_git.changes.tree_merges import CPU_SECONDS, JOB_CPU_SECONDS
from ingot_git.history.objects import read_blob
from ingot_git.process.errors import MergeConflict, MergeTooExpensive
from ingot_git.refs.refs import list_refs
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import (
    AUTHOR,
    LINES,
    commit,
    commit_of_tree,
    costly_merge,
    million_files,
    numbers,
    set_branches,
)
from ingot_git.testing.work_trees import ENVIRONMENT, run_in_work_tree

from ..signing_keys import read_keys, ssh_key

YOUNG, OLD = 2_000_000_000, 1_000_000_000


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def dated(repo, files, parents, when, message="x\n"):
    """The id of a commit with a date."""
    tree = repo[commit(repo, files)].tree_id
    who = pygit2.Signature("Ann", "ann@example.org", when, 0)
    return str(repo.create_commit(None, who, who, message, tree, list(parents)))


def backwards(repo):
    """main, which reverts two young commits and continues with old dates; and a head that changes only g."""
    first = dated(repo, {"f": b"0\n", "g": LINES}, [], YOUNG)
    young = dated(repo, {"f": b"1\n", "g": LINES}, [first], YOUNG + 1)
    main = dated(repo, {"f": b"0\n", "g": LINES}, [young], OLD)
    for number in range(8):
        main = dated(repo, {"f": b"0\n", "g": LINES, "n": b"%d" % number}, [main], OLD + number)
    head = dated(repo, {"f": b"1\n", "g": LINES + b"topic\n"}, [young], OLD + 100)
    set_branches(repo, main=main, topic=head)
    return main, head


def rebased(repo, main, head, style="rebase"):
    return merge(
        repo, base_ref="refs/heads/main", expected_base=main, head=head, style=style, message="merged\n",
        author=AUTHOR, committer=AUTHOR,
    )  # fmt: skip


def updated(repo, main, head):
    return update(
        repo, main, head_ref="refs/heads/topic", expected_head=head, style="rebase", message="m\n", who=AUTHOR
    )


def tree_of_git(repo, folder, main, head):
    return run_in_work_tree(repo.path, folder, head, "rebase", "-q", main)


@pytest.mark.parametrize("act", [rebased, updated])
def test_a_rebase_takes_nothing_back_where_dates_run_backwards(repo, tmp_path, act):
    main, head = backwards(repo)
    expected, count = tree_of_git(repo, tmp_path, main, head)
    new = act(repo, main, head)
    assert read_blob(repo, new, "f", max_bytes=9).data == b"0\n"
    assert (str(repo[new].tree_id), [str(one) for one in repo[new].parent_ids], count) == (
        expected,
        [main],
        1,
    )


def test_a_merge_among_the_commits_of_the_head_changes_nothing_of_that(repo, tmp_path):
    """A head that is no line of commits: git lists what is to be replayed."""
    main, head = backwards(repo)
    young = str(repo[head].parent_ids[0])
    side = dated(repo, {"f": b"1\n", "g": LINES, "side": b"1"}, [young], OLD + 101)
    both = dated(repo, {"f": b"1\n", "g": LINES + b"topic\n", "side": b"1"}, [head, side], OLD + 102)
    set_branches(repo, topic=both)
    expected, count = tree_of_git(repo, tmp_path, main, both)
    new = rebased(repo, main, both)
    assert (str(repo[new].tree_id), count) == (expected, 2)
    assert read_blob(repo, new, "f", max_bytes=9).data == b"0\n"


@pytest.mark.parametrize("with_merge", [False, True])
@pytest.mark.parametrize("act", [rebased, updated])
def test_a_change_that_both_took_back_is_replayed_where_dates_run_backwards(repo, act, with_merge):
    """git takes the young commit for one of the base alone: the base merges it again, past old commits."""
    young = dated(repo, {"f": b"1\n"}, [dated(repo, {"f": b"0\n"}, [], YOUNG)], YOUNG + 1)
    ancestor = young
    for number in range(9):
        ancestor = dated(repo, {"f": b"1\n", "n": b"%d" % number}, [ancestor], OLD + number)
    main = dated(repo, {"f": b"1\n", "n": b"8", "g": LINES}, [ancestor, young], YOUNG + 2)
    back = dated(repo, {"f": b"0\n", "n": b"8"}, [ancestor], YOUNG + 3)
    head = dated(repo, {"f": b"1\n", "n": b"8"}, [back], YOUNG + 4)
    if with_merge:
        side = dated(repo, {"f": b"0\n", "n": b"8", "side": b"1"}, [back], YOUNG + 5)
        head = dated(repo, {"f": b"1\n", "n": b"8", "side": b"1"}, [head, side], YOUNG + 6)
    set_branches(repo, main=main, topic=head)
    assert read_blob(repo, act(repo, main, head), "f", max_bytes=9).data == b"1\n"


@pytest.mark.parametrize("act", [rebased, updated])
def test_a_root_is_replayed(repo, tmp_path, act):
    """Its changes are those against no files."""
    main = commit(repo, {"a": b"main\n"})
    root = commit(repo, {"b": b"root\n"}, message="root\n")
    head = commit(repo, {"b": b"root\n", "c": b"c\n"}, [root], "second\n")
    set_branches(repo, main=main, topic=head)
    expected, count = tree_of_git(repo, tmp_path, main, head)
    new = act(repo, main, head)
    assert (str(repo[new].tree_id), count) == (expected, 2)
    assert sorted(entry.name for entry in repo[new].tree) == ["a", "b", "c"]


def test_a_commit_that_the_base_has_and_took_back_is_not_replayed(repo, tmp_path):
    """As git-rebase(1): the base knew the change, whatever it made of it."""
    base = commit(repo, {"a": LINES, "b": LINES})
    picked = commit(repo, {"a": LINES + b"topic\n", "b": LINES}, [base], "picked\n")
    main = commit(repo, {"a": LINES, "b": LINES}, [picked], "taken back\n")
    first = commit(repo, {"a": LINES + b"topic\n", "b": LINES}, [base], "first\n")
    head = commit(repo, {"a": LINES + b"topic\n", "b": LINES + b"topic\n"}, [first], "second\n")
    set_branches(repo, main=main, topic=head)
    expected, count = tree_of_git(repo, tmp_path, main, head)
    new = rebased(repo, main, head)
    assert (str(repo[new].tree_id), count) == (expected, 1)
    assert read_blob(repo, new, "a", max_bytes=999).data == LINES


def test_a_commit_without_changes_is_replayed_also_if_the_base_has_one(repo, tmp_path):
    base = commit(repo, {"a": LINES})
    main = commit(repo, {"a": LINES}, [base], "nothing in main\n")
    first = commit(repo, {"a": LINES}, [base], "nothing\n")
    head = commit(repo, {"a": LINES, "b": LINES}, [first], "second\n")
    set_branches(repo, main=main, topic=head)
    expected, count = tree_of_git(repo, tmp_path, main, head)
    new = rebased(repo, main, head)
    assert (str(repo[new].tree_id), count) == (expected, 2)
    assert [one.message for one in repo.walk(new)][:2] == ["second\n", "nothing\n"]


def test_files_that_both_sides_change_are_merged_in_each_replayed_commit(repo, tmp_path):
    base = commit(repo, {"a": LINES})
    main = commit(repo, {"a": b"main\n" + LINES}, [base])
    first = commit(repo, {"a": LINES + b"one\n"}, [base], "first\n")
    head = commit(repo, {"a": LINES + b"one\ntwo\n", "b": b"1"}, [first], "second\n")
    set_branches(repo, main=main, topic=head)
    before = set(map(str, repo))
    expected, _ = tree_of_git(repo, tmp_path, main, head)
    new = rebased(repo, main, head)
    assert str(repo[new].tree_id) == expected
    needed = set(
        subprocess.run(
            ["git", "rev-list", "--objects", "--no-object-names", new, f"^{main}", f"^{head}"],
            cwd=repo.path, env=ENVIRONMENT, capture_output=True, text=True, check=True,
        ).stdout.split()
    )  # fmt: skip
    assert set(map(str, repo)) - before == needed - before


def test_a_change_that_the_base_has_in_other_white_space_is_not_replayed(repo, tmp_path):
    base = commit(repo, {"a": LINES, "b": b"1"})
    main = commit(repo, {"a": LINES + b"new  line\n", "b": b"1"}, [base])
    first = commit(repo, {"a": LINES + b"new line\n", "b": b"1"}, [base])
    head = commit(repo, {"a": LINES + b"new line\n", "b": b"2"}, [first])
    set_branches(repo, main=main, topic=head)
    tree, _ = tree_of_git(repo, tmp_path / "work", main, head)
    tip = repo[rebased(repo, main, head)]
    assert (str(tip.tree_id), [str(oid) for oid in tip.parent_ids]) == (tree, [main])


def test_one_process_replays_a_change_of_a_file_that_the_base_changed_otherwise(repo, git_log):
    """It needs no search for equal changes, and no commits but one for the merge base."""
    base = commit(repo, {"a": LINES})
    main = commit(repo, {"a": b"main\n" + LINES}, [base])
    head = commit(repo, {"a": LINES + b"topic\n"}, [base])
    set_branches(repo, main=main, topic=head)
    git_log.clear()
    tip = rebased(repo, main, head)
    assert read_blob(repo, tip, "a", max_bytes=1000).data == b"main\n" + LINES + b"topic\n"
    assert [word for words in git_log for word in words if word in ("rev-list", "merge-tree")] == [
        "merge-tree"
    ]


def test_a_conflict_in_a_later_commit_leaves_nothing(repo):
    base = commit(repo, {"a": LINES, "b": LINES})
    main = commit(repo, {"a": b"main\n" + LINES, "b": b"main\n" + LINES}, [base])
    first = commit(repo, {"a": LINES + b"topic\n", "b": LINES}, [base])
    head = commit(repo, {"a": LINES + b"topic\n", "b": b"topic\n" + LINES}, [first])
    set_branches(repo, main=main)
    before = set(repo)
    with pytest.raises(MergeConflict) as caught:
        rebased(repo, main, head)
    assert caught.value.paths == ("b",)
    assert (set(repo), list_refs(repo)) == (before, {"refs/heads/main": main})


def line_of(repo, count, parent, change):
    """The tip of that many commits, each with the files of `change`, which gets its number."""
    for number in range(count):
        parent = commit(repo, change(number), [parent])
    return parent


def test_commits_that_are_compared_with_those_of_the_base_share_the_cpu_time(repo, unflushed, monkeypatch):
    """git compares the changes of commits that change the same files. Here each is a long diff."""
    monkeypatch.setattr(merges, "CPU_SECONDS", 0.3)
    chance = random.Random()
    texts = [b"".join(b"%d\n" % chance.randrange(30) for _ in range(30_000)) for _ in range(2)]
    first = commit(repo, {"f": texts[0]})
    main = line_of(repo, 202, first, lambda number: {"f": texts[(number + 1) % 2]})
    head = line_of(repo, 20, first, lambda number: {"f": texts[(number + 1) % 2] + b"%d\n" % number})
    set_branches(repo, main=main, topic=head)
    began = os.times()
    with pytest.raises(MergeTooExpensive, match="in a clone"):
        updated(repo, main, head)
    ended = os.times()
    assert ended.children_user + ended.children_system - began.children_user - began.children_system < 0.5


def test_a_rebase_above_the_limit_of_a_request_is_left_to_a_job(repo, unflushed):
    """A failure at the lower limit is remembered for that limit alone."""
    ours, theirs = costly_merge(repo)
    set_branches(repo, main=ours)
    rebase = partial(
        merge, repo, base_ref="refs/heads/main", expected_base=ours, head=theirs, style="rebase", message="",
        author=AUTHOR, committer=AUTHOR,
    )  # fmt: skip
    for _ in range(2):
        with pytest.raises(MergeTooExpensive):
            rebase(cpu_seconds=0.1)
    with pytest.raises(MergeConflict) as refused:
        rebase(cpu_seconds=60.0)
    assert refused.value.paths


def test_replayed_commits_share_the_cpu_time_of_this_process(repo, unflushed, monkeypatch):
    monkeypatch.setattr(merges, "CPU_SECONDS", 0.05)
    first = commit(repo, {"f": b"0\n"})
    main = commit(repo, {"f": b"0\n", "m": b"1\n"}, [first])
    head = line_of(repo, 400, first, lambda number: {"f": b"%d\n" % (number + 1)})
    set_branches(repo, main=main, topic=head)
    began = time.thread_time()
    with pytest.raises(MergeTooExpensive):
        updated(repo, main, head)
    assert time.thread_time() - began < 0.3


def test_the_processes_that_sign_replayed_commits_share_the_cpu_time(repo, unflushed, tmp_path):
    signer = read_keys(ssh_key(tmp_path)).signer
    first = commit(repo, {"f": b"0\n"})
    main = commit(repo, {"f": b"0\n", "m": b"1\n"}, [first])
    head = line_of(repo, 500, first, lambda number: {"f": b"%d\n" % (number + 1)})
    set_branches(repo, main=main, topic=head)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(MergeTooExpensive):
        update(
            repo, main, head_ref="refs/heads/topic", expected_head=head, style="rebase", message="",
            who=AUTHOR, signer=signer,
        )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 2 * CPU_SECONDS


def test_many_commits_are_compared_with_many_of_the_base_at_the_cost_of_both(repo, unflushed):
    """Each changes the same file otherwise: not each with each is read."""
    texts = [numbers(random.Random(), 8_000) for _ in range(2)]
    first = commit(repo, {"f": texts[0]})
    main = line_of(repo, 100, first, lambda number: {"f": texts[1] + b"main %d\n" % number, "m": b"1"})
    head = line_of(repo, 100, first, lambda number: {"f": texts[0] + b"topic %d\n" % number})
    set_branches(repo, main=main, topic=head)
    began = time.thread_time()
    with pytest.raises(MergeConflict) as refused:
        merge(
            repo, base_ref="refs/heads/main", expected_base=main, head=head, style="rebase", message="",
            author=AUTHOR, committer=AUTHOR, cpu_seconds=JOB_CPU_SECONDS,
        )  # fmt: skip
    assert refused.value.paths == ("f",)
    assert time.thread_time() - began < 5


def test_a_rebase_reads_only_the_folders_that_it_needs(repo):
    first = commit_of_tree(repo, million_files(repo, b"before\n"))
    builder = repo.TreeBuilder(repo[first].tree)
    builder.insert("m", repo.create_blob(b"1\n"), FileMode.BLOB)
    main = commit_of_tree(repo, str(builder.write()), [first])
    head = commit_of_tree(repo, million_files(repo, b"after\n"), [first])
    set_branches(repo, main=main, topic=head)
    began = time.thread_time()
    new = repo[updated(repo, main, head)].tree
    assert time.thread_time() - began < 0.2
    assert (new["m"].data, new["a/a/a/a/a/a"].data) == (b"1\n", b"after\n")
