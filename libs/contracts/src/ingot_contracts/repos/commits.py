"""Commits, their states, and branches."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User

StatusState = Literal["pending", "success", "error", "failure", "warning", "skipped"]
PASSED: frozenset[StatusState] = frozenset(("success", "skipped"))
"""States of a check that do not block a merge."""
FAILED: frozenset[StatusState] = frozenset(("error", "failure"))
"""States of a check whose failure people hear of."""
NO_COMMIT = "0" * 40


class BranchTip(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """GET /internal/repositories/{id}/branches/{name}: the tip of a branch.

    DELETE with ``?tip={sha}`` deletes the branch as the caller. ``&user={id}`` deletes it as that user. The
    status is 409 if the tip has moved, or if the branch is the default branch. ``commit`` is set for a
    request with ``?commit=true``.
    """

    name: str
    sha: str
    commit: "Commit | None" = None


class CommitAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """An author or committer. ``username`` is empty if no account has the address."""

    name: str
    email: str
    username: str = ""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The verification of a signature. ``signer`` is the owner of the key, with the address of the commit.

    A signer without a ``username`` is the server. Events omit the verification.
    """

    verified: bool = False
    reason: str = ""
    signature: str = ""
    payload: str = ""
    signer: CommitAuthor | None = None


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit in branches and pushes. The three lists have the paths that differ from the first parent."""

    id: str
    message: str
    url: str
    author: CommitAuthor
    committer: CommitAuthor
    verification: Verification | None = None
    timestamp: datetime
    added: list[str] = []
    removed: list[str] = []
    modified: list[str] = []


class CommitStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status that another system reports for a commit. ``id`` counts from 1 per commit."""

    id: int
    status: StatusState
    target_url: str = ""
    description: str = ""
    url: str
    context: str
    creator: User
    created_at: datetime
    updated_at: datetime


MOST_COMMIT_STATES = 200
"""Maximum number of commits in ``CommitStates``."""


class CheckedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of a repository. ``state`` is the combined state of its checks, empty without checks."""

    repository_id: int
    sha: str
    state: str = ""


class CommitStates(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/commit-states: the states of the checks of commits in many repositories.

    It is both request and response. The response has only commits with checks, of repositories whose code the
    caller may read.
    """

    commits: list[CheckedCommit]
