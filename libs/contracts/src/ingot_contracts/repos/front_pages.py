"""Data that the first page of a repository shows next to its files."""

from datetime import datetime

import msgspec

from ingot_contracts.identity.accounts import User


class LatestCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The latest commit of the default branch. ``author`` is the account with the author's address."""

    sha: str
    message: str
    author_name: str
    committed_at: datetime
    author: User | None = None


class FrontPage(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repos/{owner}/{repo}/front-page: data of the first page of a repository.

    ``languages`` has bytes by language. ``is_starred`` and ``is_watched`` are about the caller.
    """

    latest: LatestCommit | None = None
    commit_count: int = 0
    branch_count: int = 0
    languages: dict[str, int] = {}
    is_starred: bool = False
    is_watched: bool = False
