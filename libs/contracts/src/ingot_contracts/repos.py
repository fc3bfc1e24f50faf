"""Owned by repos: how repositories look to the world, who may do what to one, and what happened."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity import User

Level = Literal["none", "read", "write", "admin", "owner"]
LEVELS: tuple[Level, ...] = ("none", "read", "write", "admin", "owner")
NO_COMMIT = "0" * 40
MOST_IDS = 1000
"""Repositories that ``Seen`` takes at once."""


def reaches(held: Level, asked: Level) -> bool:
    """Whether access at ``held`` includes ``asked``."""
    return LEVELS.index(held) >= LEVELS.index(asked)


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    admin: bool = False
    push: bool = False
    pull: bool = False


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository as the API shows it. In events ``permissions`` are all false.

    ``has_…`` says which units are switched on; those that Ingot has not are always off. ``original_url`` and what
    begins with ``mirror_`` say how a mirror is kept, and are empty in events.
    """

    id: int
    owner: User
    name: str
    full_name: str
    description: str = ""
    empty: bool = True
    private: bool = False
    fork: bool = False
    parent: "Repository | None" = None
    mirror: bool = False
    mirror_interval: str = ""
    mirror_updated: datetime | None = None
    original_url: str = ""
    size: int = 0
    html_url: str = ""
    ssh_url: str = ""
    clone_url: str = ""
    website: str = ""
    stars_count: int = 0
    forks_count: int = 0
    watchers_count: int = 0
    open_issues_count: int = 0
    default_branch: str = ""
    archived: bool = False
    created_at: datetime
    updated_at: datetime
    permissions: Permission = Permission()
    has_code: bool = True
    has_issues: bool = True
    has_pull_requests: bool = True
    has_releases: bool = True
    has_wiki: bool = False
    has_projects: bool = False
    has_packages: bool = False
    has_actions: bool = False


class RepositoryAccess(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{owner}/{name}/access and …/by-id/{id}/access: what the caller may do.

    With ``?user={id}``: what somebody may do who is not calling now. 404 when they may not know of it.
    """

    repository: Repository
    level: Level
    owner_kind: Literal["user", "organization"] = "user"
    issues_enabled: bool = True
    pulls_enabled: bool = True
    ready: bool = True


class HeldLevel(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/by-id/{id}/level?user={id}: what somebody may do who is not calling now."""

    level: Level


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/seen: of these ids of repositories, those that the caller may read. Question and answer.

    At most ``MOST_IDS``.
    """

    ids: list[int]


class BranchTip(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/branches/{name}.

    DELETE with ``?tip={sha}`` deletes it as the calling person: 409 when it moved meanwhile, or is the default.
    With ``&user={id}``: as somebody who is not calling now.
    """

    name: str
    sha: str


class CommitAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """``username`` is empty when no account has that address."""

    name: str
    email: str
    username: str = ""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    verified: bool = False
    reason: str = ""
    signature: str = ""
    payload: str = ""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit in branches and pushes. The three lists are paths, against the first parent."""

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
    """What another system says of a commit. ``id`` counts from 1 per commit."""

    id: int
    status: Literal["pending", "success", "error", "failure", "warning"]
    target_url: str = ""
    description: str = ""
    url: str
    context: str
    creator: User
    created_at: datetime
    updated_at: datetime


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A tag with a text. ``published_at`` is when it stopped being a draft, None while it is one.

    ``created_at`` is the time of the tagged commit; of a draft, when it was written.
    """

    id: int
    tag_name: str
    target_commitish: str = ""
    name: str = ""
    body: str = ""
    url: str
    html_url: str = ""
    tarball_url: str = ""
    zipball_url: str = ""
    draft: bool = False
    prerelease: bool = False
    created_at: datetime
    published_at: datetime | None = None
    author: User


class RepositoryCreated(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.created.v1"):
    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"


class RepositoryEdited(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.edited.v1"):
    """Name, visibility, units or owner changed: what is known about it must be forgotten."""

    repository: Repository
    sender: User
    previous_full_name: str = ""


class RepositoryDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.deleted.v1"):
    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"


class RepositoryAbandoned(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.abandoned.v1"):
    """It is gone before it was ever ready: nobody but its owner's service heard of it."""

    repository_id: int


class ForkRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.fork.requested.v1"):
    """Metadata is there, commits are not. Wakes the workers."""

    repository_id: int
    parent_id: int


class RepositoryForked(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.forked.v1"):
    """``forkee`` is the original, ``repository`` the new fork, ready to be cloned."""

    forkee: Repository
    repository: Repository
    sender: User


class AccessChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.access.changed.v1"):
    """A collaborator or a team grant changed: forget what anybody may do to it. Both lists are whole."""

    repository_id: int
    collaborators: list[int] = []
    teams: list[int] = []


class PushReceived(msgspec.Struct, frozen=True, kw_only=True, tag="repos.push.received.v1"):
    """One ref moved. 40 zeros: ``before`` for a new ref, ``after`` for a deleted one.

    ``commits`` are newest first and capped; ``total_commits`` is not. ``merged_pull`` is the number of the
    pull request that the move merges, 0 for an ordinary push. ``confined``: the pusher's token reached this
    repository and few others, so nothing follows from it elsewhere.
    """

    repository: Repository
    pusher: User
    ref: str
    before: str
    after: str
    compare_url: str = ""
    commits: list[Commit] = []
    total_commits: int = 0
    forced: bool = False
    merged_pull: int = 0
    confined: bool = False
    owner_kind: Literal["user", "organization"] = "user"


class StatusCreated(msgspec.Struct, frozen=True, kw_only=True, tag="repos.status.created.v1"):
    repository: Repository
    sender: User
    sha: str
    status: CommitStatus


class ReleaseChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.release.changed.v1"):
    """Never told of a draft: one that is published is ``published``, what becomes a draft again ``deleted``."""

    action: Literal["published", "updated", "deleted"]
    repository: Repository
    sender: User
    release: Release
    owner_kind: Literal["user", "organization"] = "user"


Event = (
    RepositoryCreated
    | RepositoryEdited
    | RepositoryDeleted
    | RepositoryAbandoned
    | ForkRequested
    | RepositoryForked
    | AccessChanged
    | PushReceived
    | StatusCreated
    | ReleaseChanged
)
