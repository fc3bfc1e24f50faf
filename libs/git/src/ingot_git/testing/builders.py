"""Builders for the tests of git: commits in a bare repository, written without git."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_git.history.commits import Person, signature
from ingot_git.refs.refs import set_ref

AUTHOR = Person(
    "Author",
    "author@example.org",
    datetime(2020, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=5, minutes=30))),
)
LINES = b"".join(b"line %d\n" % n for n in range(30))
COSTLY_ATTRIBUTES = b"".join(b"%bb%d text\n" % (b"*a" * 40, n) for n in range(500))
COSTLY = {".gitattributes": COSTLY_ATTRIBUTES, "last": b""} | {f"{'a' * 120}{n}": b"" for n in range(100)}
"""Files of which git makes an archive in several seconds, because each name nearly matches each pattern."""

_DIGITS = b"".join(b"%08d" % number for number in range(100_000))
SIMILAR_FILES = {str(n): _DIGITS.replace(b"%d" % n, b"x") for n in range(10, 70)}
"""Files between which git searches for deltas for seconds."""


def commit(
    repo: pygit2.Repository, files: Mapping[str, Any], parents: Sequence[str] = (), message: str = "x\n"
) -> str:
    """Create a commit with these files, and return its id.

    ``files`` maps a path to its content, or to its mode and its id or content.
    """
    index = pygit2.Index()
    for path, value in files.items():
        mode, content = value if isinstance(value, tuple) else (FileMode.BLOB, value)
        oid = repo.create_blob(content) if isinstance(content, bytes) else content
        index.add(pygit2.IndexEntry(path, oid, mode))
    who = signature(AUTHOR)
    return str(repo.create_commit(None, who, who, message, index.write_tree(repo), list(parents)))


def raw_commit(repo: pygit2.Repository, text: bytes) -> str:
    """Write a commit object with this text after its tree line. Return its id."""
    tree = str(repo.TreeBuilder().write())
    return str(repo.odb.write(ObjectType.COMMIT, b"tree " + tree.encode() + b"\n" + text))


def set_branches(repo: pygit2.Repository, **branches: str) -> None:
    """Set branches to commits."""
    for name, oid in branches.items():
        set_ref(repo, f"refs/heads/{name}", oid)


def numbers(chance: random.Random, count: int) -> bytes:
    """Return ``count`` lines, each with a random number."""
    return b"".join(b"%d\n" % chance.randrange(10**6) for _ in range(count))


def million_files(repo: pygit2.Repository, content: bytes) -> str:
    """Create a tree with a million files in seven objects. Return its id."""
    oid, mode = repo.create_blob(content), FileMode.BLOB
    for _ in range(6):
        builder = repo.TreeBuilder()
        for name in "abcdefghij":
            builder.insert(name, oid, mode)
        oid, mode = builder.write(), FileMode.TREE
    return str(oid)


def commit_of_tree(repo: pygit2.Repository, tree: str, parents: Sequence[str] = ()) -> str:
    """Create a commit with this tree, and return its id."""
    who = signature(AUTHOR)
    return str(repo.create_commit(None, who, who, "x\n", tree, list(parents)))


def costly_merge(repo: pygit2.Repository) -> tuple[str, str]:
    """Create two commits whose merge takes seconds, and return their ids.

    Both sides rename and change all files, so git compares all of them.
    """
    chance = random.Random()  # git would not try the same merge again
    texts = [numbers(chance, 300) for _ in range(450)]
    base = commit(repo, {f"{number}": text for number, text in enumerate(texts)})
    ours, theirs = (
        commit(
            repo,
            {f"{side}/{side}{number}": text + numbers(chance, 60) for number, text in enumerate(texts)},
            [base],
        )
        for side in ("ours", "theirs")
    )
    return ours, theirs


def diverged_branches(repo: pygit2.Repository) -> tuple[str, str, str]:
    """Create diverged branches. Return the ids of the common commit, of main, and of topic.

    main changed file a. topic changed b, then added c.
    """
    base = commit(repo, {"a": LINES, "b": LINES}, message="base\n")
    main = commit(repo, {"a": LINES + b"main\n", "b": LINES}, [base], "main\n")
    first = commit(repo, {"a": LINES, "b": LINES + b"topic\n"}, [base], "first\n")
    topic = commit(repo, {"a": LINES, "b": LINES + b"topic\n", "c": b"\0bin"}, [first], "second\n")
    set_branches(repo, main=main, topic=topic)
    return base, main, topic
