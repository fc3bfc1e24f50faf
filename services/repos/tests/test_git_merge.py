"""Comparing and joining histories, pull request heads from forks."""

import asyncio
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_repos.git.commits import Person, commit_info, signature
from ingot_repos.git.compare import changed_files, compare, diff_text, patch_text
from ingot_repos.git.compare import history as page_of_commits
from ingot_repos.git.errors import (
    InvalidName,
    MergeConflict,
    ObjectNotFound,
    OutputTooLarge,
    RefMoved,
    RefNotFound,
)
from ingot_repos.git.heads import fetch_from, head_here
from ingot_repos.git.merge import merge, merge_base, mergeable
from ingot_repos.git.objects import read_blob
from ingot_repos.git.refs import ZERO_OID, RefChange, list_refs, put_ref, update_refs
from ingot_repos.git.storage import Storage

WHEN = datetime(2021, 1, 1, tzinfo=UTC)
AUTHOR = Person("Author", "author@example.org", WHEN)
MERGER = Person("Merger", "merger@example.org", WHEN)
LINES = b"".join(b"line %d\n" % n for n in range(30))


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path / "root")


@pytest.fixture
def repo(storage):
    storage.create(1, "main")
    return storage.open(1)


def commit(repo, files, parents=(), message="x\n"):
    index = pygit2.Index()
    for path, content in files.items():
        index.add(pygit2.IndexEntry(path, repo.create_blob(content), FileMode.BLOB))
    who = signature(AUTHOR)
    return str(repo.create_commit(None, who, who, message, index.write_tree(repo), list(parents)))


def put(repo, **branches):
    for name, oid in branches.items():
        put_ref(repo, f"refs/heads/{name}", oid)


@pytest.fixture
def diverged(repo):
    """base -> main (a changed), base -> two commits of topic (b changed, then c added)."""
    base = commit(repo, {"a": LINES, "b": LINES}, message="base\n")
    main = commit(repo, {"a": LINES + b"main\n", "b": LINES}, [base], "main\n")
    first = commit(repo, {"a": LINES, "b": LINES + b"topic\n"}, [base], "first\n")
    topic = commit(repo, {"a": LINES, "b": LINES + b"topic\n", "c": b"\0bin"}, [first], "second\n")
    put(repo, main=main, topic=topic)
    return base, main, topic


def join(repo, base, head, style, message="joined\n", base_ref="refs/heads/main"):
    return merge(
        repo,
        base_ref=base_ref,
        expected_base=base,
        head=head,
        style=style,
        message=message,
        author=AUTHOR,
        committer=MERGER,
    )


def history(repo, oid):
    answer = subprocess.run(
        ["git", "--git-dir", repo.path, "log", "--format=%s|%an|%cn|%p", "--topo-order", oid],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("|") for line in answer.stdout.splitlines()]


def test_what_a_head_brings_is_counted_and_listed(repo, diverged):
    base, main, topic = diverged
    found = compare(repo, main, topic)
    assert (found.merge_base, found.ahead, found.clean) == (base, 2, True)
    commits, total = page_of_commits(repo, main, topic, offset=0, limit=1)
    assert ([info.message for info in commits], total) == (["second\n"], 2)
    assert [(f.path, f.status, f.additions, f.deletions) for f in changed_files(repo.path, base, topic)] == [
        ("b", "modified", 1, 0),
        ("c", "added", None, None),
    ]


def test_what_is_one_behind_the_other_fits(repo, diverged):
    base, main, _ = diverged
    assert (compare(repo, main, base).ahead, compare(repo, main, base).clean) == (0, True)
    assert (compare(repo, base, main).ahead, compare(repo, base, main).clean) == (1, True)
    assert (compare(repo, main, main).ahead, compare(repo, main, main).clean) == (0, True)


def test_renames_and_odd_names_are_listed(repo):
    one = commit(repo, {"old": LINES, "tab\tnew\nline": b"1\n", "-x": b"1\n"})
    two = commit(repo, {"new": LINES, "tab\tnew\nline": b"2\n"}, [one])
    files = {f.path: f for f in changed_files(repo.path, one, two)}
    assert files.keys() == {"new", "tab\tnew\nline", "-x"}
    assert (files["new"].status, files["new"].old_path) == ("renamed", "old")
    assert files["-x"].status == "deleted"


def test_histories_without_a_common_commit(repo):
    one, two = commit(repo, {"a": b"1"}), commit(repo, {"b": b"2"})
    found = compare(repo, one, two)
    assert (found.merge_base, found.ahead, found.clean) == (None, 1, True)
    assert [f.path for f in changed_files(repo.path, "", two)] == ["b"]
    assert merge_base(repo, one, two) is None


@pytest.mark.parametrize("oid", ["--all", "1" * 40, "main", ""])
def test_only_commits_are_compared_and_merged(repo, diverged, oid):
    main = diverged[1]
    for call in (
        lambda: compare(repo, main, oid),
        lambda: mergeable(repo, oid, main),
        lambda: join(repo, main, oid, "merge"),
    ):
        with pytest.raises(ObjectNotFound):
            call()


async def test_diff_and_patch_apply(repo, diverged, tmp_path):
    base, _, topic = diverged
    path = Path(repo.path)
    for number, text in enumerate((await diff_text(path, base, topic), await patch_text(path, base, topic))):
        work = tmp_path / f"work{number}"
        await asyncio.to_thread(apply, path, work, base, text)
        assert (work / "b").read_bytes() == LINES + b"topic\n"
        assert (work / "c").read_bytes() == b"\0bin"
    assert (await patch_text(path, base, topic)).count(b"\nSubject: [PATCH") == 2
    with pytest.raises(OutputTooLarge):
        await diff_text(path, base, topic, max_bytes=100)
    with pytest.raises(InvalidName):
        await diff_text(path, "--output=x", topic)


def apply(path, work, commit, text):
    subprocess.run(["git", "clone", "-q", "--no-checkout", path, work], check=True)
    subprocess.run(["git", "-C", work, "checkout", "-q", commit], check=True)
    subprocess.run(["git", "-C", work, "apply"], input=text, check=True)


def test_merge_makes_a_merge_commit(repo, diverged):
    _, main, topic = diverged
    assert mergeable(repo, main, topic).clean
    new = join(repo, main, topic, "merge")
    info = commit_info(repo, new)
    assert info.parents == (main, topic)
    assert (info.message, info.author, info.committer) == ("joined\n", AUTHOR, MERGER)
    assert list_refs(repo)["refs/heads/main"] == new
    assert read_blob(repo, new, "a", max_bytes=999).data == LINES + b"main\n"
    assert read_blob(repo, new, "b", max_bytes=999).data == LINES + b"topic\n"


def test_squash_makes_one_commit(repo, diverged):
    _, main, topic = diverged
    new = join(repo, main, topic, "squash")
    assert commit_info(repo, new).parents == (main,)
    assert read_blob(repo, new, "c", max_bytes=9).data == b"\0bin"


def test_rebase_replays_with_authors_kept(repo, diverged):
    _, main, topic = diverged
    new = join(repo, main, topic, "rebase")
    assert [entry[:3] for entry in history(repo, new)] == [
        ["second", "Author", "Merger"],
        ["first", "Author", "Merger"],
        ["main", "Author", "Author"],
        ["base", "Author", "Author"],
    ]


def test_rebase_merge_adds_a_merge_commit(repo, diverged):
    _, main, topic = diverged
    new = join(repo, main, topic, "rebase-merge")
    info = commit_info(repo, new)
    assert info.parents[0] == main
    assert [entry[0] for entry in history(repo, new)] == ["joined", "second", "first", "main", "base"]
    assert info.tree == commit_info(repo, info.parents[1]).tree


def test_rebase_leaves_out_merges_and_what_base_has_already(repo):
    base = commit(repo, {"a": LINES}, message="base\n")
    main = commit(repo, {"a": LINES, "same": b"s"}, [base], "main\n")
    same = commit(repo, {"a": LINES, "same": b"s"}, [base], "same\n")
    side = commit(repo, {"a": LINES, "side": b"s"}, [base], "side\n")
    both = commit(repo, {"a": LINES, "same": b"s", "side": b"s"}, [same, side], "both\n")
    empty = commit(repo, {"a": LINES, "same": b"s", "side": b"s"}, [both], "empty on purpose\n")
    put(repo, main=main)
    new = join(repo, main, empty, "rebase")
    assert [entry[0] for entry in history(repo, new)] == ["empty on purpose", "side", "main", "base"]


@pytest.mark.parametrize("style", ["rebase", "fast-forward-only"])
def test_a_head_ahead_of_base_is_taken_as_it_is(repo, style):
    base = commit(repo, {"a": b"1"})
    head = commit(repo, {"a": b"2"}, [base])
    put(repo, main=base)
    assert join(repo, base, head, style) == head


def test_fast_forward_only_refuses_a_diverged_head(repo, diverged):
    _, main, topic = diverged
    with pytest.raises(MergeConflict):
        join(repo, main, topic, "fast-forward-only")
    assert list_refs(repo)["refs/heads/main"] == main


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
def test_conflicts_change_nothing(repo, style):
    base = commit(repo, {"a": LINES, "d": b"1\n"})
    main = commit(repo, {"a": b"main\n" + LINES, "d": b"2\n"}, [base])
    topic = commit(repo, {"a": b"topic\n" + LINES}, [base])
    put(repo, main=main)
    assert mergeable(repo, main, topic).conflicts == ("a", "d")
    with pytest.raises(MergeConflict) as caught:
        join(repo, main, topic, style)
    assert caught.value.paths == ("a", "d")
    assert list_refs(repo) == {"refs/heads/main": main}


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge", "fast-forward-only"])
def test_what_is_contained_already_moves_nothing(repo, style):
    base = commit(repo, {"a": b"1"})
    main = commit(repo, {"a": b"2"}, [base])
    put(repo, main=main)
    assert join(repo, main, base, style) == main
    assert list_refs(repo) == {"refs/heads/main": main}


def test_a_moved_base_is_not_merged_into(repo, diverged):
    base, main, topic = diverged
    with pytest.raises(RefMoved):
        join(repo, base, topic, "merge")
    with pytest.raises(RefMoved):
        join(repo, main, topic, "merge", base_ref="refs/heads/--x")
    assert list_refs(repo)["refs/heads/main"] == main


def test_of_many_merges_at_once_one_wins(storage, repo, diverged):
    _, main, _ = diverged
    heads = [commit(repo, {"a": LINES + b"main\n", "b": LINES, f"n{n}": b"x"}, [main]) for n in range(5)]
    outcomes = []

    def run(head):
        try:
            outcomes.append(join(storage.open(1), main, head, "merge"))
        except RefMoved:
            outcomes.append(None)

    threads = [threading.Thread(target=run, args=(head,)) for head in heads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([new for new in outcomes if new]) == 1
    assert list_refs(repo)["refs/heads/main"] in outcomes


def test_the_head_of_a_fork_comes_over_and_is_merged(storage, repo, diverged):
    _, main, _ = diverged
    storage.fork(1, 2)
    fork = storage.open(2)
    head = commit(fork, {"a": LINES + b"main\n", "b": LINES, "new": b"x"}, [main])
    put(fork, topic2=head)
    update_refs(Path(fork.path), [RefChange("refs/tags/private", ZERO_OID, head)])
    source, target = Path(fork.path), Path(repo.path)
    assert fetch_from(target, source, "refs/heads/topic2", "refs/pull/1/head") == head
    assert "refs/tags/private" not in list_refs(repo)
    assert not (target / "FETCH_HEAD").exists()
    assert join(repo, main, head, "squash")
    # A forced push in the fork is followed.
    other = commit(fork, {"z": b"z"})
    update_refs(source, [RefChange("refs/heads/topic2", head, other)])
    assert fetch_from(target, source, "refs/heads/topic2", "refs/pull/1/head") == other


def test_a_head_that_is_here_needs_no_git(storage, repo, diverged, git_log):
    _, main, topic = diverged
    assert head_here(repo, repo, "topic", "refs/pull/1/head") == topic
    assert list_refs(repo)["refs/pull/1/head"] == topic
    put(repo, topic=main)
    git_log.clear()
    assert head_here(repo, repo, "topic", "refs/pull/1/head") == main
    assert list_refs(repo)["refs/pull/1/head"] == main
    assert head_here(repo, repo, "topic", "") == main
    assert list(git_log) == []
    with pytest.raises(RefNotFound):
        head_here(repo, repo, "none", "refs/pull/1/head")


def test_the_head_of_a_fork_is_here_when_it_was_fetched_before(storage, repo, diverged):
    main = diverged[1]
    storage.fork(1, 2)
    fork = storage.open(2)
    head = commit(fork, {"new": b"x"}, [main])
    put(fork, topic2=head)
    assert head_here(repo, fork, "topic2", "refs/pull/1/head") is None
    fetch_from(Path(repo.path), Path(fork.path), "refs/heads/topic2", "refs/pull/1/head")
    assert head_here(repo, fork, "topic2", "refs/pull/1/head") == head
    assert head_here(repo, fork, "topic2", "refs/pull/2/head") is None


@pytest.mark.parametrize(
    "name", ["-x", "--upload-pack=touch x", "topic", "refs/heads/a\nb", "refs/heads/a:b", "refs/../x"]
)
def test_fetch_takes_full_ref_names_only(repo, diverged, name):
    path = Path(repo.path)
    with pytest.raises(InvalidName):
        fetch_from(path, path, name, "refs/pull/1/head")
    with pytest.raises(InvalidName):
        fetch_from(path, path, "refs/heads/topic", name)
    with pytest.raises(RefNotFound):
        fetch_from(path, path, "refs/heads/none", "refs/pull/1/head")
