"""Histories of pull requests. issues requests them."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.repos.commits import Verification


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The author or committer named in a commit. ``login`` is empty if no account has the address."""

    name: str
    email: str
    when: datetime
    login: str = ""


class HistoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a commit changes. A rename is a removal and an addition."""

    filename: str
    status: Literal["added", "removed", "modified"]


class HistoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a commit against its first parent. Lines of binary files are not counted."""

    files: list[HistoryFile]
    additions: int
    deletions: int


class HistoryCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit in the form of git.

    Fields that were not requested are None. ``changes`` is also None above the limit.
    """

    sha: str
    tree: str
    parents: list[str]
    message: str
    author: Signature
    committer: Signature
    changes: HistoryChanges | None = None
    verification: Verification | None = None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/commits?base=&head=&offset=&limit=: commits of head that base lacks.

    They are listed latest first; ``total`` counts all. An empty base excludes no commits.
    ``?unattended=true``: no user, and no check of access. ``?changes=true`` adds the changes of each commit.
    ``?verification=true`` adds the verification of its signature.
    """

    commits: list[HistoryCommit]
    total: int
