"""Builders for the tests of git: commits in a bare repository, written without git."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_repos.git.commits import Person, signature
from ingot_repos.git.refs import set_ref

AUTHOR = Person(
    "Author",
    "author@example.org",
    datetime(2020, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=5, minutes=30))),
)
LINES = b"".join(b"line %d\n" % n for n in range(30))


def commit(
    repo: pygit2.Repository, files: Mapping[str, Any], parents: Sequence[str] = (), message: str = "x\n"
) -> str:
    """The id of a new commit with these files: path -> content, or (mode, id or content)."""
    index = pygit2.Index()
    for path, value in files.items():
        mode, content = value if isinstance(value, tuple) else (FileMode.BLOB, value)
        oid = repo.create_blob(content) if isinstance(content, bytes) else content
        index.add(pygit2.IndexEntry(path, oid, mode))
    who = signature(AUTHOR)
    return str(repo.create_commit(None, who, who, message, index.write_tree(repo), list(parents)))


def raw_commit(repo: pygit2.Repository, text: bytes) -> str:
    """The id of a commit object with this text behind its tree."""
    tree = str(repo.TreeBuilder().write())
    return str(repo.odb.write(ObjectType.COMMIT, b"tree " + tree.encode() + b"\n" + text))


def set_branches(repo: pygit2.Repository, **branches: str) -> None:
    """Set branches to commits."""
    for name, oid in branches.items():
        set_ref(repo, f"refs/heads/{name}", oid)


def diverged_branches(repo: pygit2.Repository) -> tuple[str, str, str]:
    """Ids of the common commit, of main (a changed), and of topic with two commits (b changed, then c added)."""
    base = commit(repo, {"a": LINES, "b": LINES}, message="base\n")
    main = commit(repo, {"a": LINES + b"main\n", "b": LINES}, [base], "main\n")
    first = commit(repo, {"a": LINES, "b": LINES + b"topic\n"}, [base], "first\n")
    topic = commit(repo, {"a": LINES, "b": LINES + b"topic\n", "c": b"\0bin"}, [first], "second\n")
    set_branches(repo, main=main, topic=topic)
    return base, main, topic
