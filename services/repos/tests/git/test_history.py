"""Answers about histories whose dates run backwards: lists, comparisons, patches, pushes, fetches."""

from pathlib import Path

import pytest

from ingot_git.history import compare
from ingot_git.history.commits import whole
from ingot_git.history.history import HistoryFilter, history_page
from ingot_git.history.lfs_pointers import pointers_between
from ingot_git.history.objects import is_reachable, tip_to_hide
from ingot_git.history.push_changes import ReadLimits, read_push_changes
from ingot_git.refs.refs import set_ref
from ingot_git.storage.read_cache import SharedCache
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import commit, raw_commit
from ingot_git.testing.graphs import written_graph
from ingot_testing.non_empty import non_empty

from ..world import git, work_tree

LONG_AGO, YOUNG = 1_000, 1_600_000_000
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 1\n"
LIMITS = ReadLimits(size=len, clip=whole, commits=5, paths=10**6, texts=10**6, entries=10**6)


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


@pytest.fixture
def sides(repo):
    """Old commits lead from a young root to main. Commit 13 also has the root as a parent, and adds nothing
    else."""
    parents = [[], *([number] for number in range(11)), [0], [12, 11]]
    graph = written_graph(
        repo, parents, [YOUNG, *range(LONG_AGO, LONG_AGO + 11), YOUNG + 1, YOUNG + 2], with_files=True
    )
    set_ref(repo, "refs/heads/main", graph.ids[11])
    return graph


def page(repo, start, **values):
    listed = history_page(
        repo, start, HistoryFilter(**values), offset=0, limit=50, totals=SharedCache(), clip=whole
    )
    return [info.oid for info in listed.commits], listed.total


def test_the_oldest_commit_is_in_the_history_of_a_branch(repo, sides):
    assert is_reachable(repo, sides.ids[0])
    assert not is_reachable(repo, sides.ids[12])


@pytest.mark.parametrize("author", ["acme <a@example.org>", "<a@"])
def test_authors_are_searched_as_git_shows_them(repo, author):
    """libgit2 would take the last address."""
    who = b" Acme <a@example.org> <b@example.org> 1 +0000\n"
    oid = raw_commit(repo, b"author" + who + b"committer" + who + b"\nx\n")
    assert page(repo, oid, author=author) == ([oid], 1)


@pytest.mark.parametrize("author", ["", "A <a@"])
def test_a_list_leaves_out_all_that_the_other_has(repo, sides, author):
    ahead = [sides.ids[13], sides.ids[12]]
    assert page(repo, sides.ids[13], hidden=(sides.ids[11],), author=author) == (ahead, 2)


def test_a_comparison_counts_and_lists_only_what_the_head_has(repo, sides):
    assert compare.compare(repo, sides.ids[11], sides.ids[13]).ahead == 2
    infos, total = compare.history(repo, sides.ids[11], sides.ids[13], offset=0, limit=50, clip=whole)
    assert ([info.oid for info in infos], total) == ([sides.ids[13], sides.ids[12]], 2)


async def test_of_several_merge_bases_none_has_commits_that_are_listed(repo):
    graph = written_graph(repo, [[], [0], [0], [1, 2], [2, 1], [3], [4]], range(7), with_files=True)
    set_ref(repo, "refs/heads/main", graph.ids[6])
    base, tip, head = compare.merge_base(repo, graph.ids[6], graph.ids[5]), graph.ids[6], graph.ids[5]
    assert tip_to_hide(repo, tip, head) == tip
    infos, _ = compare.history(repo, base, head, offset=0, limit=9, clip=whole, base_tip=tip)
    assert [info.oid for info in infos] == [graph.ids[5], graph.ids[3]]
    text = await compare.patch_text(Path(repo.path), base, head, also_hidden=tip)
    assert text.count(b"\nSubject: ") == 1


def test_a_base_that_was_replaced_or_has_the_head_hides_nothing(repo, sides):
    assert tip_to_hide(repo, "", sides.ids[11]) == ""
    assert tip_to_hide(repo, sides.ids[13], sides.ids[11]) == ""
    assert tip_to_hide(repo, sides.ids[11], sides.ids[3]) == ""


@pytest.mark.parametrize("dates", [[YOUNG] * 8, range(YOUNG, YOUNG - 8, -1)])
def test_commits_of_one_moment_are_counted_once(repo, dates):
    graph = written_graph(repo, [[], [0], [1], [0, 2], [1, 3], [3], [5], [6]], dates)
    expected = len(graph.commits(graph.histories[7] & ~graph.histories[4]))
    assert compare.compare(repo, graph.ids[4], graph.ids[7]).ahead == expected


async def test_mails_are_those_of_the_commits_that_the_head_has(repo, sides):
    text = await compare.patch_text(Path(repo.path), sides.ids[11], sides.ids[12])
    assert text.count(b"\nSubject: ") == 1
    assert sides.ids[12].encode() in text
    assert await compare.patch_text(Path(repo.path), sides.ids[11], sides.ids[0]) == b""


def test_a_file_changed_on_a_side_that_the_other_lacks_is_listed(repo):
    """The parent from which a merge takes the file is hidden, so the other one counts."""
    ids: list[str] = []
    for parents, text in (([], 0), ([0], 1), ([1], 1), ([0], 2), ([3], 1), ([1, 4], 1)):
        files = {"f": b"%d" % text, "n": b"%d" % len(ids)}
        ids.append(commit(repo, files, [ids[number] for number in parents], f"{len(ids)}"))
    oids, total = page(repo, ids[5], path="f", hidden=(ids[2],))
    assert (sorted(oids), total) == (sorted([ids[4], ids[3]]), 2)


def test_only_new_large_files_are_looked_for(repo):
    files = {"f": POINTER % (b"a" * 64)}
    root = commit(repo, files)
    head = commit(repo, {"f": POINTER % (b"b" * 64)}, [root])
    assert pointers_between(repo, root, head, most_commits=10) == {"b" * 64}
    assert pointers_between(repo, "", head, most_commits=10) == {"a" * 64, "b" * 64}


@pytest.mark.parametrize("count", [1, 20])
def test_a_push_counts_what_is_new_on_each_branch(repo, sides, count):
    """Few branches are walked one by one, of many each has its part of one walk."""
    for number in range(count):
        set_ref(repo, f"refs/heads/b{number}", sides.ids[12 + number % 2] if number else sides.ids[13])
        set_ref(repo, f"refs/heads/old{number}", sides.ids[number % 12])
    names = [f"refs/heads/{kind}{number}" for kind in ("b", "old") for number in range(count)]
    moved = {one.change.name: one for one in read_push_changes(repo, {}, names, "main", LIMITS).moved}
    for number in range(count):
        one, tip = moved[f"refs/heads/b{number}"], 13 if number % 2 or not number else 12
        assert ([changes.commit.oid for changes in one.commits], one.total) == (
            sides.ids[12 : tip + 1][::-1],
            tip - 11,
        )
        assert moved[f"refs/heads/old{number}"].total == 0


def test_long_branches_of_one_push_are_counted_and_their_newest_commits_listed(repo):
    parents = [[], *([number] for number in range(40)), [10], [41], [42, 40], [43]]
    graph = written_graph(repo, parents, range(len(parents)))
    names = []
    for number in range(len(parents)):
        set_ref(repo, f"refs/heads/b{number}", graph.ids[number])
        names.append(f"refs/heads/b{number}")
    set_ref(repo, "refs/heads/main", graph.ids[5])
    for one in non_empty(read_push_changes(repo, {}, names, "main", LIMITS).moved):
        number = int(one.change.name.removeprefix("refs/heads/b"))
        new = graph.histories[number] & ~graph.histories[5]
        assert one.total == new.bit_count()
        assert len(one.commits) == min(5, one.total)
        assert not one.total or one.commits[0].commit.oid == graph.ids[number]


@pytest.mark.parametrize("protocol", [0, 2])
async def test_old_commits_are_fetched_and_shallow_clones_completed(ann, git_url, world, tmp_path, protocol):
    created = await ann.create("app")
    with world.components.storage.watch.reading(created["id"]):
        repo = world.components.storage.open(created["id"])
        parents = [[], *([number] for number in range(30))]
        graph = written_graph(
            repo, parents, [YOUNG + number if number < 12 else number for number in range(31)]
        )
    set_ref(repo, "refs/heads/master", graph.ids[-1])
    url, version = f"{git_url}/ann/app.git", ("-c", f"protocol.version={protocol}")
    work = await work_tree(tmp_path)
    if protocol == 2:
        await git(*version, "fetch", "-q", url, graph.ids[0], cwd=work, person=ann)
        assert (await git("rev-parse", "FETCH_HEAD", cwd=work)).strip() == graph.ids[0]
    await git(*version, "clone", "-q", "--depth=11", url, "shallow", cwd=tmp_path, person=ann)
    shallow = tmp_path / "shallow"
    await git(*version, "fetch", "-q", "--deepen=8", cwd=shallow, person=ann)
    assert (await git("rev-list", "--count", "HEAD", cwd=shallow)).strip() == "19"
    await git(*version, "fetch", "-q", "--unshallow", cwd=shallow, person=ann)
    assert (await git("rev-list", "--count", "HEAD", cwd=shallow)).strip() == "31"
    assert (await git("rev-parse", "--is-shallow-repository", cwd=shallow)).strip() == "false"
