"""Generated histories have what is rare in tests, so a run compares it; and shrinking keeps them whole."""

import itertools
import re
from collections import Counter

import pytest

from ingot_testing.non_empty import non_empty

from .comparisons import Comparison
from .generator import FEATURES, THEMES, history
from .graph import Graph
from .histories import MAIN, Commit, File, History, Tag, build, run_git
from .plain import EMPTY_TREE, plain
from .run import smallest

IN_A_GATE = 8
"""Histories that a gate generates, at least."""
SEEDS = [f"seed {number}" for number in range(25)]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_is_in_generated_histories(feature):
    having = [
        seed
        for seed in SEEDS
        if any(FEATURES[feature](history(seed, number)) for number in range(len(THEMES)))
    ]
    assert len(having) >= 2


def test_every_seed_has_most_features():
    for seed in SEEDS:
        generated = [history(seed, number) for number in range(IN_A_GATE)]
        features = [name for name, has in FEATURES.items() if any(map(has, generated))]
        assert len(features) >= 0.6 * len(FEATURES), seed


def test_a_name_gives_the_same_history_again():
    assert history("a", 3) == history("a", 3)
    assert history("a", 3) != history("b", 3)


@pytest.mark.parametrize("number", range(len(THEMES)))
def test_git_takes_a_generated_history(number, tmp_path):
    with plain(history("any", number), tmp_path / "plain.git") as own:
        assert own.refs
        assert len(own.graph.parents) == len(set(own.objects.commits))
        assert run_git("fsck", "--full", "--no-dangling", cwd=own.path) == b""


def test_a_smaller_history_can_be_built(tmp_path):
    files = {b"f": File(b"1\n")}
    commits = tuple(Commit((number - 1,) if number else (), files, number, number) for number in range(3))
    tags = (Tag("one", "commit", 1, b"one\n"), Tag("two", "tag", 0, b"two\n"))
    one = History("small", commits, {MAIN: 2, "topic": 0}, tags, {1: b"a note\n"})
    smaller = list(one.smaller())
    assert Counter(len(each.commits) for each in smaller) == {2: 3, 3: 5 - 1}
    for number, each in enumerate(smaller):
        build(each, tmp_path / f"{number}")


def test_a_commit_that_is_dropped_leaves_its_parents_to_its_children():
    commits = tuple(Commit(parents, {}, 0, 0) for parents in ((), (0,), (0,), (1, 2)))
    without = History("diamond", commits, {MAIN: 3}).without_commit(1)
    assert [commit.parents for commit in without.commits] == [(), (0,), (0, 1)]
    assert without.branches == {MAIN: 2}


def test_shrinking_ends_at_what_a_difference_needs():
    def difference(one):
        has_octopus = any(len(commit.parents) > 2 for commit in one.commits)
        return Comparison("octopus", "", True, False, ()) if has_octopus else None

    octopus = next(one for one in (history("any", number) for number in itertools.count()) if difference(one))
    smaller, compared = smallest(octopus, difference)
    assert compared is not None
    assert (len(smaller.commits), smaller.tags, {*smaller.branches}) == (4, (), {MAIN})
    assert not any(commit.files for commit in smaller.commits)


def numbers(parents, times):
    names = "abcdefghij"
    return Graph(
        {names[at]: [names[one] for one in own] for at, own in enumerate(parents)},
        {names[at]: time for at, time in enumerate(times)},
    )


def test_the_graph_says_what_is_reachable_whatever_the_dates():
    graph = numbers([[], [0], [1], [1]], [9, 8, 1, 2])
    assert graph.between("c", "d") == {"d"}
    assert graph.merge_bases("c", "d") == {"b"}
    assert graph.runs_backwards()
    assert not numbers([[], [0]], [1, 1]).runs_backwards()


def test_the_graph_lists_all_best_merge_bases():
    graph = numbers([[], [0], [0], [1, 2], [2, 1]], [1, 2, 3, 4, 5])
    assert graph.merge_bases("d", "e") == {"b", "c"}


@pytest.mark.parametrize("number", range(len(THEMES)))
def test_the_graph_lists_whole_histories_as_git_does(number, tmp_path):
    with plain(history("order", number), tmp_path / "plain.git") as own:
        for oid in non_empty(own.objects.commits):
            assert own.graph.by_date(oid) == run_git("rev-list", oid, cwd=own.path).decode().split()
        path = next(itertools.chain(own.files(own.objects.commits[-1]), ["none"]))

        def content(commit):
            entry = own.at(commit, path)
            return entry and (entry.mode, entry.oid)

        for oid in own.objects.commits:
            listed = run_git("rev-list", oid, "--", f":(literal){path}", cwd=own.path).decode().split()
            assert own.graph.changing(oid, content) == listed


@pytest.mark.parametrize("number", range(len(THEMES)))
def test_files_and_changes_of_all_commits_are_those_that_git_lists_one_by_one(number, tmp_path):
    with plain(history("files", number), tmp_path / "plain.git") as own:
        for oid in non_empty(own.objects.commits):
            assert [*own.files(oid).values()] == own.entries(oid, "-r", "-t")
            parent = next(iter(own.graph.parents[oid]), EMPTY_TREE)
            names = run_git(
                "diff-tree", "-r", "-z", "--no-renames", "--name-only", parent, oid, cwd=own.path
            ).decode("utf-8", "replace").split("\0")[:-1]  # fmt: skip
            stat = run_git("diff", "--no-renames", "--shortstat", parent, oid, cwd=own.path).decode()
            files, added, deleted = own.changes(oid)
            assert [name for name, _ in files] == sorted(names)
            assert (added, deleted) == (_count(stat, "insertion"), _count(stat, "deletion"))


def _count(stat, word):
    match = re.search(rf"(\d+) {word}", stat)
    return int(match[1]) if match else 0
