"""Small histories in which answers once differed from git's; each is a part of every run."""

from collections.abc import Sequence
from typing import NamedTuple

from .generator import BEYOND, DAY, OLD, YOUNG
from .histories import MAIN, OLD_MODES, Commit, File, History, Tag

F, G = b"f", b"g"


def _chain(values: Sequence[tuple[Sequence[int], int, dict[bytes, bytes]]]) -> tuple[Commit, ...]:
    """Commits of (parents, time, changes): a change sets the content of a file, an empty one of none."""
    commits: list[Commit] = []
    for number, (parents, time, changes) in enumerate(values):
        files = dict(commits[parents[0]].files) if parents else {}
        for path, data in changes.items():
            files.pop(path, None)
            if data:
                files[path] = File(data)
        text = b"Change %d\n" % number
        commits.append(Commit(tuple(parents), files, time, time, message=text))
    return tuple(commits)


def _old_commits_follow(root: int) -> History:
    """The base reverts young commits by commits with old dates. ``root`` is the parent of the head."""
    commits = [([], YOUNG, {F: b"0\n"}), ([0], YOUNG + DAY, {F: b"1\n"}), ([1], OLD, {F: b"0\n"})]
    commits += [([number - 1], OLD + number, {b"h": b"%d\n" % number}) for number in range(3, 11)]
    commits += [([root], YOUNG + 2 * DAY, {G: b"1\n"})]
    return History(f"old commits follow young ones, from {root}", _chain(commits), {MAIN: 10, "topic": 11})


def _one_branch() -> History:
    """Young commits that only old ones lead to: no other branch shows them."""
    commits = [([], YOUNG, {F: b"0\n"}), ([0], YOUNG + DAY, {F: b"1\n"})]
    commits += [([number - 1], OLD + number, {b"h": b"%d\n" % number}) for number in range(2, 12)]
    return History("one branch of old commits", _chain(commits), {MAIN: 11})


def _graph(
    name: str, parents: Sequence[Sequence[int]], times: Sequence[int], values: Sequence[bytes]
) -> History:
    commits = _chain([(own, times[at], {F: values[at]}) for at, own in enumerate(parents)])
    return History(name, commits, {MAIN: len(commits) - 1, "topic": max(0, len(commits) - 4)})


def _file_for_folder() -> History:
    """Ours replaces a file of a folder by another one, theirs the folder by a file."""
    commits = (
        Commit((), {b"x/y": File(b"1\n")}, YOUNG, YOUNG),
        Commit((0,), {b"x/z": File(b"2\n")}, YOUNG + 1, YOUNG + 1),
        Commit((0,), {b"x": File(b"3\n")}, YOUNG + 2, YOUNG + 2),
    )
    return History("a file for a folder", commits, {MAIN: 1, "topic": 2})


def _old_mode() -> History:
    path = OLD_MODES + b"/f"
    commits = _chain(
        [([], YOUNG, {path: b"0\n"}), ([0], YOUNG + 1, {path: b"1\n"}), ([0], YOUNG + 2, {path: b"2\n"})]
    )
    return History("a conflict in a file of an old mode", commits, {MAIN: 1, "topic": 2})


def _renamed_folder() -> History:
    """Ours renames a folder, theirs adds a file to it."""
    lines = b"".join(b"line %d\n" % number for number in range(20))
    commits = (
        Commit((), {b"a/one": File(lines + b"1"), b"a/two": File(lines + b"2")}, YOUNG, YOUNG),
        Commit((0,), {b"b/one": File(lines + b"1"), b"b/two": File(lines + b"2")}, YOUNG + 1, YOUNG + 1),
        Commit((0,), {b"a/one": File(lines + b"1"), b"a/two": File(lines + b"2"), b"a/new": File(b"3\n")},
               YOUNG + 2, YOUNG + 2),
        Commit((0,), {b"a/one": File(lines + b"1x"), b"a/two": File(b"f", "120000")}, YOUNG + 3, YOUNG + 3),
    )  # fmt: skip
    return History("a renamed folder", commits, {MAIN: 1, "topic": 2, "links": 3})


def _attributes() -> History:
    lines = [b"line %d\n" % number for number in range(20)]

    def version(at: int) -> dict[bytes, File]:
        changed = [b"changed\n" if number == at else line for number, line in enumerate(lines)]
        return {b".gitattributes": File(b"lines -merge\n"), b"lines": File(b"".join(changed))}

    commits = (
        Commit((), version(-1), YOUNG, YOUNG),
        Commit((0,), version(1), YOUNG + 1, YOUNG + 1),
        Commit((0,), version(18), YOUNG + 2, YOUNG + 2),
    )
    return History("attributes", commits, {MAIN: 1, "topic": 2})


def _tags() -> History:
    commits = _chain([([], YOUNG, {F: b"0\n"}), ([0], YOUNG + 1, {F: b"1\n"})])
    tags = [
        Tag("tree", "tree", 0, b"a tree\n"),
        Tag("blob", "blob", 0, b"a blob\n"),
        Tag("deep0", "commit", 0, b"deep\n"),
    ]
    tags += [Tag(f"deep{number}", "tag", number + 1, b"deeper\n") for number in range(1, 11)]
    tags += [Tag("lookalike", "lookalike", 1, b"a blob\n"), Tag("light", "tree", 1)]
    branches = {MAIN: 1, "x.diff": 0, "refs/heads/y": 0, "y": 1}
    return History("tags of anything", commits, branches, tuple(tags))


def _crossing() -> History:
    commits = _chain(
        [
            ([], YOUNG, {F: b"0\n"}),
            ([0], YOUNG + 1, {G: b"1\n"}),
            ([0], YOUNG + 2, {b"h": b"2\n"}),
            ([1, 2], YOUNG + 3, {b"h": b"2\n"}),
            ([2, 1], YOUNG + 4, {G: b"1\n"}),
            ([3], YOUNG + 5, {F: b"3\n"}),
            ([4], YOUNG + 6, {b"k": b"4\n"}),
        ]
    )
    return History("criss-cross", commits, {MAIN: 5, "topic": 6})


def _modules() -> History:
    text = (
        b'# a comment\n[submodule "one"] ; another\n\tpath = sub # third\n\turl = \\\n  '
        b'"https://example.org/o\\"ne.git"\n[SubModule "two"]\n\tPATH = "dir/sub"\n'
        b"\turl=https://example.org/a\\\nb.git\n"
    )
    files = {
        b".gitmodules": File(text),
        b"sub": File(b"1" * 40, "160000"),
        b"dir/sub": File(b"2" * 40, "160000"),
    }
    return History("modules", (Commit((), files, YOUNG, YOUNG),), {MAIN: 0})


def _texts() -> History:
    name = "größe.txt".encode()
    first = Commit(
        (), {name: File(b"1\n")}, YOUNG, YOUNG, message=b"\n\nleading\n", author=b"Dot. <dot@example.org>"
    )
    second = Commit(
        (0,), {name: File(b"1\n2\n")}, YOUNG + 1, YOUNG + 1, committer=b"Inc., A. <inc@example.org>"
    )
    return History("texts", (first, second), {MAIN: 1})


class Example(NamedTuple):
    """A history, and prefixes of the kinds of questions whose answers differed, with some similar ones."""

    history: History
    kinds: tuple[str, ...]


_WALKS = ("commits.not", "compare", "fetch.id", "fetch.unshallow", "short id")
_MERGES = ("pull", "merge", "revert")
_REFS = ("tag", "tree of a tag", "raw of", "contents of", "branch", "git.refs", "short id", "commit")
_EQUAL = [YOUNG] * 8
CORPUS = (
    Example(_one_branch(), ("fetch", "commits", "short id")),
    Example(_old_commits_follow(1), (*_WALKS, "merge")),
    Example(_old_commits_follow(0), (*_WALKS, "merge")),
    Example(
        _graph(
            "equal dates",
            [[], [0], [1], [0, 2], [1, 3], [3], [5], [6]],
            _EQUAL,
            [b"%d\n" % at for at in range(8)],
        ),
        ("compare", "commits.not", "fetch.id"),
    ),
    Example(
        _graph(
            "a path behind hidden commits",
            [[], [0], [1], [0], [3], [1, 4]],
            [YOUNG + at for at in range(6)],
            [b"0\n", b"1\n", b"1\n", b"2\n", b"1\n", b"1\n"],
        ),
        ("commits.path",),
    ),
    Example(
        _graph("far in the future", [[], [0], [1]], [YOUNG, BEYOND, BEYOND + 1], [b"0\n", b"1\n", b"2\n"]),
        ("commits", "commit", "compare", "fetch", "upkeep"),
    ),
    Example(_file_for_folder(), _MERGES),
    Example(_old_mode(), _MERGES),
    Example(_renamed_folder(), _MERGES),
    Example(_attributes(), _MERGES),
    Example(_tags(), (*_REFS, "archive", "fetch.mirror", "fork")),
    Example(_crossing(), ("pull", "compare", "merge")),
    Example(_modules(), ("contents",)),
    Example(_texts(), ("commit", "blame", "branch")),
)
