"""Merging histories in every style; random ones are compared with git itself."""

import subprocess
import threading
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode

from ingot_git.changes.merge import merge, mergeable, update
from ingot_git.history import trivial_merges
from ingot_git.history.commits import Person, commit_info, signature
from ingot_git.history.objects import read_blob
from ingot_git.process.errors import MergeConflict, ObjectNotFound, RefMoved, UnsafeObject
from ingot_git.refs.refs import ZERO_OID, RefChange, list_refs, update_refs
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, LINES, commit, diverged_branches, set_branches
from ingot_git.testing.work_trees import run_in_work_tree

MERGER = Person("Merger", "merger@example.org", datetime(2021, 1, 1, tzinfo=UTC))


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path / "root")


@pytest.fixture
def repo(storage):
    storage.create(1, "main")
    return storage.open(1)


@pytest.fixture
def diverged(repo):
    return diverged_branches(repo)


def merge_into(repo, base, head, style, message="merged\n", base_ref="refs/heads/main", **more):
    return merge(
        repo,
        base_ref=base_ref,
        expected_base=base,
        head=head,
        style=style,
        message=message,
        author=AUTHOR,
        committer=MERGER,
        **more,
    )


def history(repo, oid):
    answer = subprocess.run(
        ["git", "--git-dir", repo.path, "log", "--format=%s|%an|%cn|%p", "--topo-order", oid],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("|") for line in answer.stdout.splitlines()]


def test_merge_creates_a_merge_commit(repo, diverged):
    _, main, topic = diverged
    assert mergeable(repo, main, topic).clean
    new = merge_into(repo, main, topic, "merge")
    info = commit_info(repo, new)
    assert info.parents == (main, topic)
    assert (info.message, info.author, info.committer) == ("merged\n", AUTHOR, MERGER)
    assert list_refs(repo)["refs/heads/main"] == new
    assert read_blob(repo, new, "a", max_bytes=999).data == LINES + b"main\n"
    assert read_blob(repo, new, "b", max_bytes=999).data == LINES + b"topic\n"


@pytest.mark.parametrize(("ending", "clean"), [(b"topic\n", True), (b"\n", False)])
def test_of_a_merge_that_is_tried_nothing_stays(repo, ending, clean):
    """The result of a merge of a file that both sides change is written."""
    base = commit(repo, {"a": LINES, "b": LINES})
    main = commit(repo, {"a": b"main\n" + LINES, "b": b"main\n" + LINES}, [base])
    topic = commit(
        repo, {"a": LINES + b"topic\n", "b": (b"" if clean else b"topic\n") + LINES + ending}, [base]
    )
    folder = Path(repo.path)
    before = sorted(folder.rglob("*"))
    assert mergeable(repo, main, topic).clean is clean
    assert sorted(folder.rglob("*")) == before


def test_squash_creates_one_commit(repo, diverged):
    _, main, topic = diverged
    new = merge_into(repo, main, topic, "squash")
    assert commit_info(repo, new).parents == (main,)
    assert read_blob(repo, new, "c", max_bytes=9).data == b"\0bin"


def test_rebase_does_not_change_authors(repo, diverged):
    _, main, topic = diverged
    new = merge_into(repo, main, topic, "rebase")
    assert [entry[:3] for entry in history(repo, new)] == [
        ["second", "Author", "Merger"],
        ["first", "Author", "Merger"],
        ["main", "Author", "Author"],
        ["base", "Author", "Author"],
    ]


def test_rebase_merge_adds_a_merge_commit(repo, diverged):
    _, main, topic = diverged
    new = merge_into(repo, main, topic, "rebase-merge")
    info = commit_info(repo, new)
    assert info.parents[0] == main
    assert [entry[0] for entry in history(repo, new)] == ["merged", "second", "first", "main", "base"]
    assert info.tree == commit_info(repo, info.parents[1]).tree


def test_rebase_leaves_out_merges_and_what_base_has_already(repo):
    base = commit(repo, {"a": LINES}, message="base\n")
    main = commit(repo, {"a": LINES, "same": b"s"}, [base], "main\n")
    same = commit(repo, {"a": LINES, "same": b"s"}, [base], "same\n")
    side = commit(repo, {"a": LINES, "side": b"s"}, [base], "side\n")
    both = commit(repo, {"a": LINES, "same": b"s", "side": b"s"}, [same, side], "both\n")
    empty = commit(repo, {"a": LINES, "same": b"s", "side": b"s"}, [both], "empty on purpose\n")
    set_branches(repo, main=main)
    new = merge_into(repo, main, empty, "rebase")
    assert [entry[0] for entry in history(repo, new)] == ["empty on purpose", "side", "main", "base"]


@pytest.mark.parametrize("style", ["rebase", "fast-forward-only"])
def test_a_head_ahead_of_base_is_not_rewritten(repo, style):
    base = commit(repo, {"a": b"1"})
    head = commit(repo, {"a": b"2"}, [base])
    set_branches(repo, main=base)
    assert merge_into(repo, base, head, style) == head


def test_fast_forward_only_refuses_a_diverged_head(repo, diverged):
    _, main, topic = diverged
    with pytest.raises(MergeConflict):
        merge_into(repo, main, topic, "fast-forward-only")
    assert list_refs(repo)["refs/heads/main"] == main


def white_space_branches(repo):
    """Main, which changes white space; and a head that changes words and white space of the same lines."""
    base = commit(repo, {"a": b"one\n two\n" + LINES + b"six\nten\n"})
    main = commit(repo, {"a": b"one\n\ttwo\n" + LINES + b"six\nten  \n"}, [base])
    first = commit(repo, {"a": b"one\n two words\n" + LINES + b"six\nten\n"}, [base])
    head = commit(repo, {"a": b"one\n two words\n" + LINES + b"six\nten words\n"}, [first])
    set_branches(repo, main=main, topic=head)
    return main, head


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
def test_white_space_conflicts_unless_it_is_ignored(repo, style):
    main, head = white_space_branches(repo)
    assert not mergeable(repo, main, head).clean
    with pytest.raises(MergeConflict):
        merge_into(repo, main, head, style)
    assert mergeable(repo, main, head, ignore_whitespace=True).clean
    new = merge_into(repo, main, head, style, ignore_whitespace=True)
    text = b"one\n two words\n" + LINES + b"six\nten words\n"
    assert read_blob(repo, new, "a", max_bytes=999).data == text


@pytest.mark.parametrize("style", ["merge", "rebase"])
def test_a_branch_is_updated_although_white_space_differs(repo, style):
    main, head = white_space_branches(repo)
    act = partial(
        update, repo, main, head_ref="refs/heads/topic", expected_head=head, style=style, message="m\n",
        who=MERGER
    )  # fmt: skip
    with pytest.raises(MergeConflict):
        act()
    assert b"ten words" in read_blob(repo, act(ignore_whitespace=True), "a", max_bytes=999).data


@pytest.mark.parametrize("style", ["merge", "rebase"])
def test_white_space_that_conflicts_with_nothing_is_merged_although_it_is_ignored(repo, style):
    base = commit(repo, {"a": b"one\n" + LINES + b"two\n"})
    main = commit(repo, {"a": b"one word\n" + LINES + b"two\n"}, [base])
    head = commit(repo, {"a": b"one\n" + LINES + b"\ttwo\n"}, [base])
    set_branches(repo, main=main)
    new = merge_into(repo, main, head, style, ignore_whitespace=True)
    assert read_blob(repo, new, "a", max_bytes=999).data == b"one word\n" + LINES + b"\ttwo\n"


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
def test_conflicts_change_nothing(repo, style):
    base = commit(repo, {"a": LINES, "d": b"1\n", "fits": LINES})
    main = commit(repo, {"a": b"main\n" + LINES, "d": b"2\n", "fits": b"main\n" + LINES}, [base])
    topic = commit(repo, {"a": b"topic\n" + LINES, "fits": LINES + b"topic\n"}, [base])
    set_branches(repo, main=main)
    before = sorted(Path(repo.path).rglob("*"))
    assert mergeable(repo, main, topic).conflicts == ("a", "d")
    with pytest.raises(MergeConflict) as caught:
        merge_into(repo, main, topic, style)
    assert caught.value.paths == ("a", "d")
    assert list_refs(repo) == {"refs/heads/main": main}
    assert sorted(Path(repo.path).rglob("*")) == before


@pytest.mark.parametrize("many", [False, True])
def test_a_merge_writes_what_it_needs_and_nothing_else(repo, monkeypatch, many):
    """The merge is made next to the repository or not: with a file changed on both sides, or too many."""
    if many:
        monkeypatch.setattr(trivial_merges, "_MOST_BYTES", 0)
    base = commit(repo, {"a": LINES, "b": b"1"})
    main = commit(repo, {"a": LINES + b"main\n", "b": b"1"}, [base])
    topic = commit(repo, {"a": LINES if many else b"topic\n" + LINES, "b": b"2"}, [base])
    set_branches(repo, main=main)
    before = set(repo)
    new = merge_into(repo, main, topic, "merge")
    tree = repo[new].tree
    assert set(repo) - before == {repo[new].id, tree.id} | (set() if many else {tree["a"].id})
    subprocess.run(["git", "fsck", "--strict", "--full"], cwd=repo.path, check=True, capture_output=True)
    assert sorted(Path(repo.path, "objects").glob("tmp*")) == []


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge", "fast-forward-only"])
def test_a_head_that_the_base_contains_changes_nothing(repo, style):
    base = commit(repo, {"a": b"1"})
    main = commit(repo, {"a": b"2"}, [base])
    set_branches(repo, main=main)
    assert merge_into(repo, main, base, style) == main
    assert list_refs(repo) == {"refs/heads/main": main}


def test_a_moved_base_is_not_merged_into(repo, diverged):
    base, main, topic = diverged
    with pytest.raises(RefMoved):
        merge_into(repo, base, topic, "merge")
    with pytest.raises(RefMoved):
        merge_into(repo, main, topic, "merge", base_ref="refs/heads/--x")
    assert list_refs(repo)["refs/heads/main"] == main


def test_of_merges_at_the_same_time_one_succeeds(storage, repo, diverged):
    _, main, _ = diverged
    heads = [commit(repo, {"a": LINES + b"main\n", "b": LINES, f"n{n}": b"x"}, [main]) for n in range(5)]
    outcomes = []

    def run(head):
        try:
            outcomes.append(merge_into(storage.open(1), main, head, "merge"))
        except RefMoved:
            outcomes.append(None)

    threads = [threading.Thread(target=run, args=(head,)) for head in heads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([new for new in outcomes if new]) == 1
    assert list_refs(repo)["refs/heads/main"] in outcomes


@pytest.mark.parametrize("oid", ["--all", "1" * 40, "main", ""])
def test_only_commits_are_merged(repo, diverged, oid):
    main = diverged[1]
    with pytest.raises(ObjectNotFound):
        mergeable(repo, oid, main)
    with pytest.raises(ObjectNotFound):
        merge_into(repo, main, oid, "merge")


START = {name: tuple(f"{name}{n}" for n in range(12)) for name in "abc"}

# An edit changes a line of a file, or writes or removes a file. Different edits of two sides are at least
# three lines apart, or they change the same lines. For these the result of diff3 is well defined.
line = st.sampled_from([0, 5, 11])
edit = st.one_of(
    st.tuples(st.just("change"), st.sampled_from("abc"), line, st.sampled_from(["x", "y"])),
    st.tuples(st.just("write"), st.sampled_from(["d", "e/f", "g"]), st.sampled_from(["1", "2"])),
    st.tuples(st.just("remove"), st.sampled_from("abcd")),
)
side = st.lists(st.lists(edit, min_size=1, max_size=2), max_size=3)


def apply_edits(files, edits):
    files = dict(files)
    for kind, name, *more in edits:
        if kind == "change" and name in files:
            lines = list(files[name])
            lines[more[0]] = f"{name}{more[0]}{more[1]}"
            files[name] = tuple(lines)
        elif kind == "write":
            files[name] = (more[0],)
        elif kind == "remove":
            files.pop(name, None)
    return files


def commit_lines(repo, files, parents):
    index = pygit2.Index()
    for path, lines in files.items():
        blob = repo.create_blob("".join(f"{line}\n" for line in lines).encode())
        index.add(pygit2.IndexEntry(path, blob, FileMode.BLOB))
    who = signature(AUTHOR)
    return str(repo.create_commit(None, who, who, "change\n", index.write_tree(repo), parents))


def commit_edits(repo, start, commits):
    """The tip after one commit for each list of edits; lists without effect are left out."""
    tip, files = start, START
    for edits in commits:
        edited = apply_edits(files, edits)
        if edited != files:
            files, tip = edited, commit_lines(repo, edited, [tip])
    return tip


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
@settings(
    max_examples=15, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(ours=side, theirs=side)
def test_random_histories_are_merged_as_git_merges_them(tmp_path_factory, style, ours, theirs):
    folder = tmp_path_factory.mktemp("merged")
    storage = Storage(folder / "root")
    bare = storage.create(1, "main")
    repo = storage.open(1)
    root = commit_lines(repo, START, [])
    base, head = commit_edits(repo, root, ours), commit_edits(repo, root, theirs)
    update_refs(
        bare, [RefChange("refs/heads/main", ZERO_OID, base), RefChange("refs/heads/topic", ZERO_OID, head)]
    )
    if style.startswith("rebase"):
        tree, count = run_in_work_tree(bare, folder, head, "rebase", "-q", "--no-stat", base)
    else:
        tree, count = run_in_work_tree(bare, folder, base, "merge", "-q", "--no-edit", head)
    try:
        new = merge(
            repo, base_ref="refs/heads/main", expected_base=base, head=head, style=style, message="merged\n",
            author=AUTHOR, committer=MERGER,
        )  # fmt: skip
    except MergeConflict:
        new = None
    if not style.startswith("rebase"):
        assert mergeable(repo, base, head).clean == (new is not None)
    assert (commit_info(repo, new).tree if new else None) == tree
    if new and style == "rebase":
        assert repo.ahead_behind(new, base) == (count, 0)
    tip = storage.open(1).references["refs/heads/main"].target
    assert str(tip) == (new or base)


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
def test_no_merge_brings_a_file_that_a_push_may_not_bring(repo, style):
    """One side gives a file the name, the other one changes it under the old one: git follows it."""
    text = b'[submodule "x"]\n' + b"".join(b"\t# line %d\n" % number for number in range(20))
    base = commit(repo, {"modules": text})
    main = commit(repo, {".gitmodules": text}, [base])
    topic = commit(repo, {"modules": text + b"\tpath = -x\n"}, [base])
    set_branches(repo, main=main, topic=topic)
    with pytest.raises(UnsafeObject, match="disallowed submodule path: -x") as refused:
        merge_into(repo, main, topic, style)
    assert refused.value.path == ".gitmodules"
    assert list_refs(repo)["refs/heads/main"] == main
