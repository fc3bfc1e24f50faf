"""A repository with the worst possible branch for each kind of read, as text for git-fast-import(1)."""

import random
from collections.abc import Iterable, Iterator

from ingot_contracts.testing.worst_markdown import FOOTNOTES

FILES, PATTERNS = 20_000, 5_000
LINES, BLAMED_COMMITS, STRIPES = 10_000, 120, 10
DEEP = 100
SEARCHED, SEARCHED_BYTES = 40, 500_000
ENTRIES, CHANGES = 10_000, 400
FAR_LINES = 100_000
REFS = 500
RENAMED = 800
REPLAYED = 500


def stream(seed: int = 1) -> Iterator[bytes]:
    """All branches and tags."""
    chance = random.Random(seed)
    yield _blob(1, "x\n")
    yield from _patterns()
    yield from _stars()
    yield from _blamed(chance)
    yield from _striped()
    yield from _rewritten()
    yield from _alike(chance)
    yield from _renamed(chance)
    yield from _replayed()
    yield from _folder()
    yield from _settings()
    yield from _far()
    yield from _searched()
    yield from _refs()


def _blob(mark: int, text: str) -> bytes:
    data = text.encode()
    return b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(data), data)


def _commit(
    branch: str, changes: Iterable[str], *, message: str = "x", from_: str = "", at: int = 1_700_000_000
) -> bytes:
    head = (
        f"commit refs/heads/{branch}\ncommitter me <me@example.org> {at} +0000\ndata {len(message)}\n"
        f"{message}\n"
    )
    return (head + (f"from {from_}\n" if from_ else "") + "".join(changes) + "\n").encode()


def _inline(path: str, text: str) -> str:
    return f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"


def _patterns() -> Iterator[bytes]:
    """Each file is compared with each pattern."""
    attributes = "".join(f"*no{number}*such*name text\n" for number in range(PATTERNS))
    files = (f"M 100644 :1 {number % 100}/{number}.txt\n" for number in range(FILES))
    yield _commit("patterns", [_inline(".gitattributes", attributes), *files])


def _stars() -> Iterator[bytes]:
    """Patterns with many stars, and names that nearly match."""
    attributes = "".join(f"{'*a' * 40}b{number} text\n" for number in range(PATTERNS // 10))
    files = (f"M 100644 :1 {number % 100}/{'a' * 120}{number}\n" for number in range(FILES // 10))
    yield _commit("stars", [_inline(".gitattributes", attributes), *files])


def _blamed(chance: random.Random) -> Iterator[bytes]:
    """A long file of short lines that often come again, and of which each commit changes some everywhere."""
    lines = [f"{chance.randrange(50)}" for _ in range(LINES)]
    for number in range(BLAMED_COMMITS):
        for _ in range(LINES // 50):
            lines[chance.randrange(LINES)] = f"{chance.randrange(50)}"
        text = "".join(f"{line}\n" for line in lines)
        yield _commit(
            "blamed", [_inline("lines.txt", text)], message=f"change {number}", at=1_600_000_000 + number
        )


def _striped() -> Iterator[bytes]:
    """A long file in which each line is from another commit than the next."""
    lines = [f"{number}\n" for number in range(LINES)]
    for stripe in range(STRIPES):
        lines[stripe::STRIPES] = [f"{stripe} {line}" for line in lines[stripe::STRIPES]]
        yield _commit("striped", [_inline("lines.txt", "".join(lines))], message=f"stripe {stripe}")


def _rewritten() -> Iterator[bytes]:
    """A commit in which every file has changed and has another name."""
    yield _commit(
        "rewritten",
        [
            "deleteall\n",
            *(_inline(f"{number % 97}/new{number}.txt", f"{number}\n" * 5) for number in range(FILES // 10)),
        ],
        from_="refs/heads/patterns",
    )


def _alike(chance: random.Random) -> Iterator[bytes]:
    """Two versions of long files whose lines are the same few in another order."""
    for at in (1, 2):
        texts = ("".join(f"{chance.randrange(30)}\n" for _ in range(60_000)) for _ in range(8))
        yield _commit(
            "alike",
            [_inline(f"alike{number}.txt", text) for number, text in enumerate(texts)],
            at=1_650_000_000 + at,
        )


def _renamed(chance: random.Random) -> Iterator[bytes]:
    """Two branches that rename and change the same files, so git compares each with each."""

    def text(count: int) -> str:
        return "".join(f"{chance.randrange(10**6)}\n" for _ in range(count))

    texts = [text(300) for _ in range(RENAMED)]
    yield _commit("renamed", (_inline(f"{number}", text) for number, text in enumerate(texts)))
    for side in ("ours", "theirs"):
        files = (_inline(f"{side}/{side}{number}", old + text(60)) for number, old in enumerate(texts))
        yield _commit(f"renamed-{side}", ["deleteall\n", *files], from_="refs/heads/renamed")
    yield _commit("diverged", [_inline("x", "x\n")], from_="refs/heads/renamed-theirs")


def _replayed() -> Iterator[bytes]:
    """A long branch, and a base with another commit, so an update replays and signs each commit."""
    yield _commit("replayed-base", [_inline("f", "0\n")])
    for number in range(REPLAYED):
        start = "" if number else "refs/heads/replayed-base"
        yield _commit("replayed", [_inline("f", f"{number + 1}\n")], from_=start)
    yield _commit("replayed-base", [_inline("m", "1\n")])


def _folder() -> Iterator[bytes]:
    """A folder of as many entries as are listed, of which each commit changes a few; and one far down."""
    yield _commit(
        "folder", (f"M 100644 :1 wide/{number}.py\n" for number in range(ENTRIES)), at=1_500_000_000
    )
    for number in range(CHANGES):
        changes = [_inline(f"wide/{(number * 7 + each) % ENTRIES}.py", f"{number}\n") for each in range(3)]
        yield _commit("folder", changes, message="change\n" * 20, at=1_500_000_001 + number)
    deep = "/".join(["d"] * DEEP)
    yield _commit("folder", [_inline(f"{deep}/far.py", "x\n")], at=1_500_000_001 + CHANGES)


def _settings() -> Iterator[bytes]:
    """Files that services read: .editorconfig, forms of issues, a README and code to be highlighted."""
    sections = "".join(f"[{{a{number},b*c?d}}**x]\na=1\n" for number in range(10_000))[:125_000]
    form = "name: a\nabout: a\nbody:\n" + "".join(
        f"- type: input\n  id: i{n}\n  attributes:\n    label: l{n}\n" for n in range(400)
    )
    code = "".join(
        f'def f{number}(a, b=\'x\' * {number}): return [a, (b, {{1: \'x\'}}), """y"""]  # z\n'
        for number in range(12_000)
    )
    yield _commit(
        "settings",
        [
            _inline(".editorconfig", "root=true\n" + sections),
            _inline(f"{'/'.join(['d'] * DEEP)}/a.py", "x\n"),
            *(_inline(f".gitea/issue_template/{number}.yaml", form) for number in range(100)),
            _inline("README.md", FOOTNOTES(120_000)),
            _inline("code.py", code),
        ],
    )


def _far() -> Iterator[bytes]:
    """A long file of lines that are all different."""
    yield _commit("far", [_inline("far.txt", "".join(f"{number}\n" for number in range(FAR_LINES)))])


def _searched() -> Iterator[bytes]:
    """Files of long lines that nearly match an expression with nested repeats, in many places."""
    text = ("a" * 5_000 + "\n") * (SEARCHED_BYTES // 5_001)
    yield _commit("searched", [_inline(f"{number}.txt", f"{number}\n{text}") for number in range(SEARCHED)])


def _refs() -> Iterator[bytes]:
    for number in range(REFS):
        yield f"reset refs/heads/many/{number}\nfrom refs/heads/settings\n\n".encode()
        yield f"reset refs/tags/many{number}\nfrom refs/heads/settings\n\n".encode()


def patch() -> str:
    """Hunks for the file of the branch ``far``, each of which is at the other end of it."""
    hunks = (
        f"@@ -2,2 +2,3 @@\n {FAR_LINES - 3 * number}\n+x\n {FAR_LINES - 3 * number + 1}\n"
        for number in range(1, 12_000)
    )
    return "diff --git a/far.txt b/far.txt\n--- a/far.txt\n+++ b/far.txt\n" + "".join(hunks)
