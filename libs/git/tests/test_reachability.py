"""Histories without another history, compared with sets of ancestors in plain Python.

``INGOT_ORACLE_HISTORIES`` is the number of random pairs. ``INGOT_ORACLE_SEED`` repeats a run; by default the
seed is today's date.
"""

import os
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

from ingot_git.history.reachability import (
    MOST_HIDDEN,
    any_contains,
    contains,
    merge_base,
    only_in,
    outside,
)
from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.refs import set_ref
from ingot_git.storage.storage import Storage
from ingot_git.testing.graphs import Graph, random_graph, written_graph

PAIRS = int(os.environ.get("INGOT_ORACLE_HISTORIES", "2000"))
SEED = os.environ.get("INGOT_ORACLE_SEED") or datetime.now(UTC).date().isoformat()
GRAPHS_AT_ONCE, PAIRS_OF_A_GRAPH = 10, 20
BY_GIT = 0.02
"""So many pairs are listed by git as well, in a process each."""

CRISS_CROSS = [[], [0], [0], [1, 2], [2, 1], [3], [4]]
BEHIND = [[], [0], [1], [0, 2], [1, 3], [3], [5], [6]]
"""libgit2 counts too many commits of 7 that 4 lacks."""
SIDE_BY_SIDE = [[], *([number] for number in range(9)), [9], [0], [10, 11], [10]]
"""Nine old commits lead from the merge base 10 to the young root. 12 also has the root as a parent."""
YOUNG_ROOT = [10_000, *range(10, 19), 9_000, 10_001, 10_002, 10_003]


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def write_commit_graph(repo: pygit2.Repository, ids: list[str]) -> None:
    text = "".join(f"{oid}\n" for oid in ids).encode()
    run_git(GitArgs("commit-graph write", ("--stdin-commits",)), git_dir=Path(repo.path), stdin=text)


def check_pair(repo: pygit2.Repository, graph: Graph, rng: random.Random, checked: Counter[str]) -> None:
    numbers = range(len(graph.ids))
    tip, one = rng.choice(numbers), rng.choice(numbers)
    tips = rng.sample(numbers, rng.choice([1, 1, 1, 2, 3]))
    hidden, order = [graph.ids[number] for number in tips], rng.choice(["default", "date", "topological"])
    union = graph.union(tips)
    expected = graph.commits(graph.histories[tip] & ~union)
    listed = only_in(repo, graph.ids[tip], hidden, order=order)
    assert sorted(listed) == sorted(expected), f"only_in, {order}"
    most_hidden = rng.choice([0, *[MOST_HIDDEN] * 9])
    is_hidden = any_contains(repo, hidden, graph.ids[one], most_hidden=most_hidden)
    assert is_hidden == bool(union >> one & 1), f"any_contains, {most_hidden}"
    is_ancestor = bool(graph.histories[tip] >> one & 1)
    assert contains(repo, graph.ids[tip], graph.ids[one]) == is_ancestor, "contains"
    base = merge_base(repo, graph.ids[tip], graph.ids[one])
    shared = graph.commits(graph.histories[tip] & graph.histories[one])
    assert base is None if not shared else base in shared, "merge_base"
    walker = repo.walk(graph.ids[tip])
    for oid in hidden:
        walker.hide(oid)
    checked["pairs"] += 1
    checked["hidden too little"] += {str(commit.id) for commit in walker} != expected
    if rng.random() < BY_GIT:
        by_git = only_in(repo, graph.ids[tip], hidden, order=order, most_walked=0)
        assert sorted(by_git) == sorted(expected), f"git, {order}"
        assert by_git == listed or order == "date", f"order of git, {order}"
        assert only_in(repo, graph.ids[tip], hidden, order=order, most=2, most_walked=0) == by_git[:2]
        checked["by git"] += 1


def test_random_histories_are_as_sets_of_ancestors_say(tmp_path):
    checked: Counter[str] = Counter()
    batch = 0
    while checked["pairs"] < PAIRS:
        rng = random.Random(f"{SEED}/{batch}")
        repo = pygit2.init_repository(str(tmp_path / f"{batch}"), bare=True)
        graphs = [random_graph(repo, rng) for _ in range(GRAPHS_AT_ONCE)]
        for covered in (0.0, 0.5, 1.0):  # the part of each graph that is in the commit-graph
            if covered:
                write_commit_graph(
                    repo, [oid for one in graphs for oid in one.ids[: int(len(one.ids) * covered)]]
                )
                repo = pygit2.Repository(repo.path)
            for number, graph in enumerate(graphs):
                for pair in range(PAIRS_OF_A_GRAPH):
                    try:
                        check_pair(repo, graph, rng, checked)
                    except AssertionError as error:
                        error.add_note(
                            f"repeat with INGOT_ORACLE_SEED={SEED} INGOT_ORACLE_HISTORIES={PAIRS}; batch "
                            f"{batch}, {covered} covered, graph {number}, pair {pair}: {graph.parents} "
                            f"{graph.dates}"
                        )
                        raise
        batch += 1
    assert checked["by git"], "git listed none"
    assert checked["hidden too little"] or PAIRS < 10_000, "no history was one at which a walk fails"


@pytest.mark.parametrize("most_walked", [0, 500])
@pytest.mark.parametrize("with_commit_graph", [False, True])
@pytest.mark.parametrize(
    ("parents", "dates", "tip", "hidden"),
    [
        (SIDE_BY_SIDE, YOUNG_ROOT, 12, [13]),
        (SIDE_BY_SIDE, YOUNG_ROOT, 12, [13, 9]),
        (BEHIND, [1] * 8, 7, [4]),
        (BEHIND, [9, 8, 7, 6, 5, 4, 3, 2], 7, [4]),
        (CRISS_CROSS, range(7), 5, [6]),
        ([[], [], [0, 1]], [1, 2, 3], 2, [1]),
        ([[], []], [1, 2], 1, [0]),
        ([[], [0]], [1, 2], 0, [1]),
        ([[], [0]], [1, 2], 1, [1]),
    ],
)
def test_hard_histories(repo, parents, dates, tip, hidden, with_commit_graph, most_walked):
    graph = written_graph(repo, parents, list(dates))
    if with_commit_graph:
        write_commit_graph(repo, graph.ids)
    listed = only_in(repo, graph.ids[tip], [graph.ids[one] for one in hidden], most_walked=most_walked)
    assert sorted(listed) == sorted(graph.commits(graph.histories[tip] & ~graph.union(hidden)))


def test_a_walk_that_hides_the_merge_base_as_well_still_hides_too_little(repo):
    """The reason why `only_in` does more than that."""
    graph = written_graph(repo, SIDE_BY_SIDE, YOUNG_ROOT)
    walker = repo.walk(graph.ids[12])
    for hidden in (13, 10):
        walker.hide(graph.ids[hidden])
    assert graph.ids[0] in {str(commit.id) for commit in walker}


def test_many_old_branches_that_were_merged_are_listed(repo):
    """Each was begun at another commit of main, so each of them has another merge base."""
    parents = [[], *([number] for number in range(29))]
    tip = 29
    for began in range(0, 24, 2):
        parents += [[began], [tip, len(parents)]]
        tip = len(parents) - 1
    graph = written_graph(repo, parents, range(1, len(parents) + 1))
    listed = only_in(repo, graph.ids[tip], [graph.ids[29]])
    assert sorted(listed) == sorted(graph.ids[30:])


def test_long_histories_are_listed_in_order(repo):
    graph = written_graph(repo, [[], *([number] for number in range(40))], range(1, 42))
    newest_first = graph.ids[::-1]
    assert only_in(repo, graph.ids[-1], [], most_walked=5) == newest_first
    assert only_in(repo, graph.ids[-1], [], most=10, most_walked=5) == newest_first[:10]
    assert only_in(repo, graph.ids[-1], [], most=3, most_walked=5) == newest_first[:3]
    assert only_in(repo, graph.ids[-1], [graph.ids[9]], most=3, most_walked=5) == newest_first[:3]


def test_only_commits_have_a_history(repo):
    graph = written_graph(repo, [[]], [1])
    tree = str(repo[graph.ids[0]].tree_id)
    for tip, hidden in ((tree, []), (graph.ids[0], [tree]), ("1" * 40, []), (graph.ids[0], ["1" * 40])):
        with pytest.raises(ObjectNotFound):
            only_in(repo, tip, hidden)


@pytest.mark.parametrize("with_commit_graph", [False, True])
async def test_commits_outside_of_all_tips(repo, with_commit_graph):
    graph = written_graph(repo, SIDE_BY_SIDE, YOUNG_ROOT)
    if with_commit_graph:
        write_commit_graph(repo, graph.ids)
    path, tips = Path(repo.path), [graph.ids[13]]
    assert await outside(path, graph.ids, tips) == {graph.ids[11], graph.ids[12]}
    assert await outside(path, graph.ids[:11], tips) == set()
    assert await outside(path, graph.ids[:2], []) == set(graph.ids[:2])


def test_the_history_of_no_tip_contains_nothing(repo):
    graph = written_graph(repo, [[]], [1])
    set_ref(repo, "refs/heads/main", graph.ids[0])
    assert not any_contains(repo, [], graph.ids[0])
    assert any_contains(repo, graph.ids, graph.ids[0])
