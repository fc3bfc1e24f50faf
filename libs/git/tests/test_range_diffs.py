"""Range-diffs have the pairs and differences of git itself, and bounded work."""

import os
import random
import subprocess
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_git.history import range_diffs
from ingot_git.history.range_diffs import CommitPair, commit_series, parse, range_diff
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.process.errors import GitTooExpensive, ObjectNotFound, OutputTooLarge
from ingot_git.testing.builders import LINES, commit, numbers

SEED = random.randrange(10**6)
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
SIGNS = {"unchanged": "=", "changed": "!", "dropped": "<", "added": ">"}
TITLES = (
    "Add a file", "1:  abcdef0 = 1:  abcdef0 a title", "    indented", "-:  ------- > 1:  x", "@@ -1 +1 @@",
    "Größe → 字", "a \t b", "trailing  ", "first line\nsecond line", "title\n\nbody\n= 1", "\rreturn", "",
)  # fmt: skip
PATHS = ("a", "b c", "d\te", 'quo"te', "ünicode", "-x", "folder/f", "@@ x", "1:  y = 1:  z")


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


def series_of(repo, base, head):
    return commit_series(repo, head, [base])


async def compared(repo, base, old, new, new_base=None):
    return await range_diff(
        Path(repo.path), series_of(repo, base, old), series_of(repo, new_base or base, new)
    )


def stack(repo, base, files, steps):
    """Commits on ``base``: each step is a message and the contents that it sets, None to delete a file."""
    files, head = dict(files), base
    for message, contents in steps:
        files = {path: text for path, text in (files | contents).items() if text is not None}
        head = commit(repo, files, [head], message)
    return head


def edited(line, text):
    return LINES.replace(b"line %d\n" % line, text)


def states(pairs):
    return [(pair.state, pair.title) for pair in pairs]


def ids(repo, base, head):
    command = [
        "git",
        "-C",
        repo.path,
        "rev-list",
        "--reverse",
        "--date-order",
        "--no-merges",
        f"{base}..{head}",
    ]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout.split()


def text_of_git(repo, base, old, new):
    """The output of git with full ids."""
    command = ["git", "-c", "core.abbrev=40", "-C", repo.path, "range-diff", "--no-color", f"{base}..{old}"]
    run = subprocess.run([*command, f"{base}..{new}"], env=ENVIRONMENT, capture_output=True, check=True)
    return run.stdout.decode("utf-8", "replace")


def text_of(repo, base, old, new, pairs):
    """The pairs in the format of git."""
    olds, news = ids(repo, base, old), ids(repo, base, new)
    titles = dict(series_of(repo, base, old).commits)  # git shows the title of the old commit
    width = len(str(1 + max(len(olds), len(news))))

    def side(oids, oid):
        return f"{oids.index(oid) + 1 if oid else '-':>{width}}:  {oid or '-' * 40}"

    text = ""
    for pair in pairs:
        text += f"{side(olds, pair.old)} {SIGNS[pair.state]} {side(news, pair.new)}"
        title = titles.get(pair.old, pair.title)
        text += f" {title}\n" if title else "\n"
        text += "".join(f"    {line}\n" for line in pair.difference.split("\n")) if pair.difference else ""
    return text


async def test_commits_are_unchanged_changed_dropped_or_added(repo):
    base = commit(repo, {"a": LINES})
    first, second = ("first\n", {"a": edited(3, b"x\n")}), ("second\n", {"b": b"b\n"})
    old = stack(repo, base, {"a": LINES}, [first, second, ("third\n", {"c": b"c\n"})])
    moved = commit(repo, {"a": LINES, "other": b""}, [base])
    new = stack(
        repo, moved, {"a": LINES, "other": b""},
        [("first\n", {"a": edited(3, b"y\n")}), second, ("fourth\n", {"d": numbers(random.Random(1), 9)})],
    )  # fmt: skip
    pairs = await compared(repo, base, old, new, new_base=moved)
    assert states(pairs) == [
        ("changed", "first"), ("unchanged", "second"), ("dropped", "third"), ("added", "fourth"),
    ]  # fmt: skip
    assert pairs[0].difference.split("\n") == [
        "@@ a", "  line 1", "  line 2", " -line 3", "-+x", "++y", "  line 4", "  line 5", "  line 6",
    ]  # fmt: skip
    assert (pairs[2].new, pairs[3].old, pairs[3].new) == ("", "", new)


async def test_a_reworded_commit_has_the_difference_of_its_message(repo):
    base = commit(repo, {"a": LINES})
    change = {"a": edited(3, b"x\n")}
    old, new = (stack(repo, base, {"a": LINES}, [(title, change)]) for title in ("olld\n", "old\n"))
    (pair,) = await compared(repo, base, old, new)
    assert (pair.state, pair.title) == ("changed", "old")
    assert {"-    olld", "+    old"} < set(pair.difference.split("\n"))


async def test_commits_in_another_order_are_the_same(repo):
    base = commit(repo, {})
    one, two = ("one\n", {"a": b"a\n"}), ("two\n", {"b": b"b\n"})
    old, new = stack(repo, base, {}, [one, two]), stack(repo, base, {}, [two, one])
    assert states(await compared(repo, base, old, new)) == [("unchanged", "two"), ("unchanged", "one")]


async def test_a_split_commit_is_paired_with_its_larger_part(repo):
    base = commit(repo, {})
    large, small = {"a": LINES}, {"b": b"b\n"}
    old = stack(repo, base, {}, [("all\n", large | small)])
    new = stack(repo, base, {}, [("small\n", small), ("all\n", large)])
    assert states(await compared(repo, base, old, new)) == [("added", "small"), ("changed", "all")]


async def test_merges_are_left_out(repo):
    base = commit(repo, {})
    side = commit(repo, {"side": b""}, [base], "side\n")
    old = commit(repo, {"a": b"a\n"}, [base], "one\n")
    merge = commit(repo, {"a": b"a\n", "side": b""}, [old, side], "merge\n")
    pairs = await compared(repo, base, old, merge)
    assert sorted(states(pairs)) == [("added", "side"), ("unchanged", "one")]
    only_merge = commit(repo, {"a": b"a\n", "side": b""}, [old, side], "merge\n")
    series = commit_series(repo, only_merge, [old])
    assert [title for _, title in series.commits] == ["side"]


async def test_a_version_without_commits_has_nothing_to_pair(repo):
    base = commit(repo, {})
    new = stack(repo, base, {}, [("one\ntwo\n", {"a": b""}), ("\n\n three \n\nbody\n", {"b": b""})])
    first, second = ids(repo, base, new)
    assert await compared(repo, base, base, new) == [
        CommitPair("added", "", first, "one two"), CommitPair("added", "", second, " three"),
    ]  # fmt: skip
    assert await compared(repo, base, new, base) == [
        CommitPair("dropped", first, "", "one two"), CommitPair("dropped", second, "", " three"),
    ]  # fmt: skip
    assert await compared(repo, base, base, base) == []


async def test_the_base_is_the_first_one_that_lacks_the_head(repo):
    base = commit(repo, {})
    head = stack(repo, base, {}, [("one\n", {"a": b""})])
    tip = stack(repo, head, {"a": b""}, [("two\n", {"b": b""})])
    assert commit_series(repo, head, [tip, base]).base == base
    assert commit_series(repo, head, ["1" * 40, "", base]).base == base
    assert commit_series(repo, head, [tip]).commits == ()


async def test_a_missing_head_or_history_is_reported(repo):
    base = commit(repo, {})
    with pytest.raises(ObjectNotFound):
        commit_series(repo, "1" * 40, [base])
    with pytest.raises(ObjectNotFound):
        commit_series(repo, "main", [base])
    tree = str(repo.TreeBuilder().write())
    text = f"tree {tree}\nparent {'2' * 40}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n"
    with pytest.raises(ObjectNotFound):
        commit_series(repo, str(repo.odb.write(ObjectType.COMMIT, text.encode())), [base])


@pytest.mark.parametrize("number", range(12))
async def test_random_series_are_those_of_git(repo, number):
    chance = random.Random(SEED + number)
    files = {"a": LINES, "folder/f": LINES}
    base = commit(repo, files)
    steps = [
        (chance.choice(TITLES) + "\n", {chance.choice(PATHS): numbers(chance, chance.randrange(1, 12))})
        for _ in range(chance.randrange(1, 14))
    ]
    others = []
    for title, contents in steps:
        way = chance.choice(("keep", "keep", "reword", "drop", "change", "split"))
        if way == "split":
            others.append(("split off\n", {"new": numbers(chance, 3)}))
        if way == "change":
            others.append((title, {path: text + b"\xff more\n" for path, text in contents.items()}))
        elif way != "drop":
            others.append((chance.choice(TITLES) + "\n" if way == "reword" else title, contents))
    if chance.random() < 0.4:
        chance.shuffle(others)
    others.append(("last\n", {"last": b"1\n"}))
    old, new = stack(repo, base, files, steps), stack(repo, base, files, others)
    pairs = await compared(repo, base, old, new)
    assert text_of(repo, base, old, new, pairs) == text_of_git(repo, base, old, new), SEED
    # The titles of git, and those of a version without a counterpart, are the same.
    alone = await compared(repo, base, base, new)
    assert {pair.new: pair.title for pair in alone} == {p.new: p.title for p in pairs if p.new}, SEED


async def test_titles_of_any_encoding_are_text(repo):
    base = commit(repo, {})
    tree = str(repo.TreeBuilder().write())
    head = f"tree {tree}\nparent {base}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n"
    latin = head.encode() + b"encoding ISO-8859-1\n\ncaf\xe9\n"
    broken = head.encode() + b"\n\xff\xfe title\n"
    old, new = (str(repo.odb.write(ObjectType.COMMIT, text)) for text in (latin, broken))
    assert states(await compared(repo, base, old, old)) == [("unchanged", "café")]
    ((state, title),) = states(await compared(repo, base, new, new))
    assert (state, title.endswith(" title")) == ("unchanged", True)


async def test_too_many_commits_are_refused(repo, monkeypatch):
    monkeypatch.setattr(range_diffs, "MOST_COMMITS", 2)
    base = commit(repo, {})
    head = stack(repo, base, {}, [(f"{number}\n", {"a": b"%d" % number}) for number in range(3)])
    with pytest.raises(OutputTooLarge, match="more than 2 commits"):
        series_of(repo, base, head)


async def test_output_and_cpu_time_are_bounded(repo, monkeypatch):
    base = commit(repo, {})
    chance = random.Random(SEED)
    text = numbers(chance, 3000)
    old = stack(repo, base, {}, [("one\n", {"a": text})])
    new = stack(repo, base, {}, [("one\n", {"a": text.replace(b"77", b"78")})])
    (pair,) = await compared(repo, base, old, new)
    monkeypatch.setattr(range_diffs, "MOST_OUTPUT", len(pair.difference) // 2)
    with pytest.raises(OutputTooLarge):
        await compared(repo, base, old, new)
    monkeypatch.undo()
    monkeypatch.setattr(range_diffs, "MAX_CPU", CpuLimit(0.0))
    with pytest.raises(GitTooExpensive):
        await compared(repo, base, old, new)


def test_other_text_is_no_pair():
    assert list(parse(b"")) == []
    assert list(parse(b"warning: something\n")) == []
