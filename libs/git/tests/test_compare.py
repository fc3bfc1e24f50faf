"""Comparing two commits: counts, files, diff and patches."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from ingot_git.changes.merge import mergeable
from ingot_git.history.commits import whole
from ingot_git.history.compare import (
    changed_files,
    compare,
    diff_of_files,
    diff_text,
    history,
    patch_text,
)
from ingot_git.history.reachability import merge_base
from ingot_git.process.errors import InvalidName, ObjectNotFound, OutputTooLarge
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import LINES, commit, diverged_branches


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


def test_commits_and_files_of_a_head_are_counted_and_listed(repo, diverged):
    base, main, topic = diverged
    comparison = compare(repo, main, topic)
    assert (comparison.merge_base, comparison.ahead, comparison.clean) == (base, 2, True)
    commits, total = history(repo, main, topic, offset=0, limit=1, clip=whole)
    assert ([info.message for info in commits], total) == (["second\n"], 2)
    assert [(f.path, f.status, f.additions, f.deletions) for f in changed_files(repo.path, base, topic)] == [
        ("b", "modified", 1, 0),
        ("c", "added", None, None),
    ]


def test_a_head_that_is_behind_or_ahead_merges_cleanly(repo, diverged):
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


def test_changes_of_white_space_may_be_left_out(repo):
    before = {"a": b"x y\n", "b": b"x\n", "c": b"x y\nz\n", "d": b"x\n"}
    after = {"a": b"x  y\n", "b": b"x \n", "c": b"xy\nZ\n", "d": b"x\ny\n"}
    one = commit(repo, before)
    two = commit(repo, after, [one])
    for whitespace, expected in {
        "show-all": {"a": 1, "b": 1, "c": 2, "d": 1},
        "ignore-eol": {"a": 1, "c": 2, "d": 1},
        "ignore-change": {"c": 2, "d": 1},
        "ignore-all": {"c": 1, "d": 1},
    }.items():
        files = changed_files(repo.path, one, two, whitespace=whitespace)
        assert {file.path: file.additions for file in files} == expected, whitespace


def test_histories_without_a_common_commit(repo):
    one, two = commit(repo, {"a": b"1"}), commit(repo, {"b": b"2"})
    comparison = compare(repo, one, two)
    assert (comparison.merge_base, comparison.ahead, comparison.clean) == (None, 1, None)
    assert mergeable(repo, one, two).clean
    assert [f.path for f in changed_files(repo.path, "", two)] == ["b"]
    assert merge_base(repo, one, two) is None


async def test_diff_and_patch_apply(repo, diverged, tmp_path):
    base, _, topic = diverged
    path = Path(repo.path)
    for number, text in enumerate((await diff_text(path, base, topic), await patch_text(path, base, topic))):
        work = tmp_path / f"work{number}"
        await asyncio.to_thread(apply, path, work, base, text)
        assert (work / "b").read_bytes() == LINES + b"topic\n"
        assert (work / "c").read_bytes() == b"\0bin"
    assert (await patch_text(path, base, topic)).count(b"\nSubject: [PATCH") == 2
    assert b"Binary files /dev/null and b/c differ\n" in await diff_text(path, base, topic, binary=False)
    with pytest.raises(OutputTooLarge):
        await diff_text(path, base, topic, max_bytes=100)
    with pytest.raises(InvalidName):
        await diff_text(path, "--output=x", topic)


def abbreviated(text):
    """A part of a diff with ids as short as those in the whole."""
    return re.sub(
        rb"(?m)^index ([0-9a-f]{7})[0-9a-f]{33}\.\.([0-9a-f]{7})[0-9a-f]{33}", rb"index \1..\2", text
    )


async def test_a_part_of_a_diff_names_the_contents_of_binary_files(repo):
    one = commit(repo, {"x": b"\0one", "y": b"\0one"})
    two = commit(repo, {"x": b"\0two", "y": b"\0two"}, [one])
    ids = [repo[sha].tree["x"].id for sha in (one, two)]
    text, _ = await diff_of_files(Path(repo.path), one, two, offset=0, limit=1)
    assert b"index %b..%b 100644\nBinary files " % tuple(str(id_).encode() for id_ in ids) in text


async def test_a_part_of_a_diff_has_the_changes_of_some_files(repo):
    one = commit(repo, {"-x": b"1\n", "a*": b"1\n", "ab": b"1\n", "new\nline": b"1\n", "old": LINES})
    two = commit(
        repo,
        {"-x": b"2\n", "a*": b"2\n", "ab": b"2\n", "new\nline": b"2\n", "renamed": LINES + b"1\n"},
        [one],
    )
    path = Path(repo.path)
    whole = await diff_text(path, one, two)
    parts = [await diff_of_files(path, one, two, offset=number, limit=1) for number in range(6)]
    assert abbreviated(b"".join(text for text, _ in parts)) == whole
    assert [(text.count(b"diff --git"), total) for text, total in parts] == [*[(1, 5)] * 5, (0, 5)]
    assert (await diff_of_files(path, "", one, offset=0, limit=9))[1] == 5


async def test_a_part_of_a_diff_has_no_file_twice_where_a_file_became_a_folder(repo):
    one = commit(repo, {"a": b"1\n", "b/x": b"1\n", "b/y": b"1\n", "c": b"1\n"})
    two = commit(repo, {"a/x": b"2\n", "a/y": b"3\n", "b": b"4\n", "c": b"diff --git \n"}, [one])
    path = Path(repo.path)
    parts = [await diff_of_files(path, one, two, offset=number, limit=2) for number in (0, 2, 4, 6)]
    assert abbreviated(b"".join(text for text, _ in parts)) == await diff_text(path, one, two)
    assert [text.count(b"\ndiff --git") + text.startswith(b"diff") for text, _ in parts] == [2, 2, 2, 1]


async def test_a_part_of_a_diff_leaves_out_white_space_and_names_each_file(repo):
    names = ["a", 'b \t"\\\x7fö', "c"]
    one = commit(repo, {names[0]: b"1\nx\n", names[1]: b"1\n", names[2]: b"1\n", "old": LINES})
    two = commit(
        repo, {names[0]: b"1\n x\n", names[1]: b"1 \n", names[2]: b"2\n", "new": LINES + b"1\n"}, [one]
    )
    path = Path(repo.path)
    text, total = await diff_of_files(path, one, two, offset=0, limit=3, whitespace="ignore-all")
    sections = text.split(b"diff --git ")[1:]
    assert (sections[0], total) == (b"a/a b/a\n", 4)
    assert sections[1] == b'"a/b \\t\\"\\\\\\177\\303\\266" "b/b \\t\\"\\\\\\177\\303\\266"\n'
    assert sections[2].endswith(b"-1\n+2\n")
    whole, _ = await diff_of_files(path, one, two, offset=0, limit=9)
    assert abbreviated(whole) == await diff_text(path, one, two)
    eol, _ = await diff_of_files(path, one, two, offset=0, limit=3, whitespace="ignore-eol")
    assert (b"+ x\n" in eol, b"+1 \n" in eol) == (True, False)


def _lines(letter, count=40, other=0):
    """A text whose last ``other`` lines differ from those of others of this letter."""
    return b"".join(b"%b %d%b\n" % (letter, n, b"!" * (n >= count - other)) for n in range(count))


@pytest.mark.parametrize("whitespace", ["show-all", "ignore-all"])
async def test_a_part_of_a_diff_pairs_files_as_the_whole(repo, whitespace):
    # Of some of these paths alone git pairs the only two that are named mk.
    one = commit(repo, {"p/mk": _lines(b"a", other=4), "q/other": _lines(b"a"), "z/mk": _lines(b"z")})
    two = commit(repo, {"r/mk": _lines(b"a", other=1)}, [one])
    three = commit(repo, {"r/mk": _lines(b"a", other=1), "s/foo": _lines(b"a", other=5)}, [one])
    path = Path(repo.path)
    for after, files in ((two, 3), (three, 3)):
        parts = [
            await diff_of_files(path, one, after, offset=offset, limit=2, whitespace=whitespace)
            for offset in (0, 2)
        ]
        assert [total for _, total in parts] == [files] * 2
        assert abbreviated(b"".join(text for text, _ in parts)) == await diff_text(path, one, after)


async def test_a_part_of_a_diff_pairs_no_files_that_are_too_many_in_the_whole(repo):
    one = commit(repo, {"a": _lines(b"a"), "c": _lines(b"c")})
    two = commit(repo, {"b": _lines(b"a", other=1), "d": _lines(b"c", other=1)}, [one])
    repo.config["diff.renameLimit"] = 1
    path = Path(repo.path)
    parts = [await diff_of_files(path, one, two, offset=offset, limit=2) for offset in (0, 2)]
    whole = await diff_text(path, one, two)
    assert whole.count(b"diff --git") == 4
    assert abbreviated(b"".join(text for text, _ in parts)) == whole


async def test_a_part_of_a_diff_is_bounded_over_files_with_another_name_and_others(repo):
    one = commit(repo, {"a": _lines(b"a", other=9)})
    two = commit(repo, {"b": _lines(b"a"), "new": _lines(b"n")}, [one])
    path = Path(repo.path)
    sizes = [len((await diff_of_files(path, one, two, offset=n, limit=1))[0]) for n in (0, 1)]
    assert max(sizes) < sum(sizes) - 1
    with pytest.raises(OutputTooLarge):
        await diff_of_files(path, one, two, offset=0, limit=2, max_bytes=sum(sizes) - 1)
    assert (await diff_of_files(path, one, two, offset=0, limit=2, max_bytes=sum(sizes)))[1] == 2


async def test_a_part_of_a_diff_of_files_with_long_paths_is_the_same(repo):
    folder = "/".join(["f" * 200] * 18)
    names = [f"{folder}/{number}" for number in range(40)]
    one = commit(repo, dict.fromkeys(names, b"1\n"))
    two = commit(repo, dict.fromkeys(names, b"2\n"), [one])
    path = Path(repo.path)
    parts = [await diff_of_files(path, one, two, offset=number, limit=20) for number in (0, 20)]
    assert abbreviated(b"".join(text for text, _ in parts)) == await diff_text(path, one, two)


def apply(path, work, commit, text):
    subprocess.run(["git", "clone", "-q", "--no-checkout", path, work], check=True)
    subprocess.run(["git", "-C", work, "checkout", "-q", commit], check=True)
    subprocess.run(["git", "-C", work, "apply"], input=text, check=True)


@pytest.mark.parametrize("oid", ["--all", "1" * 40, "main", ""])
def test_only_commits_are_compared(repo, diverged, oid):
    with pytest.raises(ObjectNotFound):
        compare(repo, diverged[1], oid)
