"""Owned by repos: how repositories look to the world, who may do what to one, git for issues, and what happened."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity import User

Level = Literal["none", "read", "write", "admin", "owner"]
LEVELS: tuple[Level, ...] = ("none", "read", "write", "admin", "owner")
MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]
NO_COMMIT = "0" * 40


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
    """POST /internal/seen: of these ids of repositories, those that the caller may read. Question and answer."""

    ids: list[int]


class BranchTip(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/branches/{name}.

    DELETE with ``?tip={sha}`` deletes it as the calling person: 409 when it moved meanwhile, or is the default.
    With ``&user={id}``: as somebody who is not calling now.
    """

    name: str
    sha: str


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/compare. Brings the head's commits into the base repository first.

    With ``number`` they are kept there as ``refs/pull/<number>/head``. 404 when a branch is missing.
    """

    base_branch: str
    head_repository_id: int
    head_branch: str
    number: int = 0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What merging head into base would mean now. ``commits`` counts what head has and base has not."""

    base_sha: str
    head_sha: str
    merge_base: str
    mergeable: bool
    commits: int


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that is to be compared, as in ``Compare``."""

    repository_id: int
    branch: str
    number: int = 0


class CompareHeads(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/comparisons: ``Compare`` for up to 100 heads of one base branch at once.

    404 when the base branch is missing.
    """

    base_branch: str
    heads: list[Head]


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """``found`` has one for each of the heads, in their order; None where there is no such branch to be seen."""

    found: list[Comparison | None]


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/merge: bring ``head_sha`` into ``base_branch``, as the calling person.

    409 when they conflict, or ``head_sha`` is no longer what ``refs/pull/<number>/head`` says, or the base
    moved meanwhile.

    With ``head_branch`` no comparison is needed before: its commits are brought here first, as ``Compare`` does.
    Then 409 also tells that it is no longer at ``head_sha``, and 405 that the two conflict whatever the style. A
    branch that is gone, or that the person may not see, leaves what is kept under the number.
    """

    number: int
    base_branch: str
    head_sha: str
    style: MergeStyle = "merge"
    title: str = ""
    message: str = ""
    head_repository_id: int = 0
    head_branch: str = ""


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """``sha`` is now the tip of the base branch. ``already`` True: head was in base before.

    ``base_sha`` is the tip that the base branch had, ``merge_base`` what it and the head had in common; both are
    empty when an earlier call merged them.
    """

    sha: str
    already: bool = False
    base_sha: str = ""
    merge_base: str = ""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote or committed a commit, by its own account. ``login`` is empty when no account has the address."""

    name: str
    email: str
    when: datetime
    login: str = ""


class HistoryCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as git has it."""

    sha: str
    tree: str
    parents: list[str]
    message: str
    author: Signature
    committer: Signature


class History(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/commits?base=&head=&offset=&limit=: what head has and base has not.

    Newest first; ``total`` counts all. An empty base hides nothing. ``?unattended=true`` as for comparing.
    """

    commits: list[HistoryCommit]
    total: int


class ChangedPath(msgspec.Struct, frozen=True, kw_only=True):
    """``additions`` and ``deletions`` count lines; of binary files none."""

    path: str
    previous: str = ""
    status: Literal["added", "deleted", "modified", "renamed", "copied", "type-changed"]
    additions: int = 0
    deletions: int = 0


class ChangedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/files?base=&head=&offset=&limit=: files that differ, by path."""

    files: list[ChangedPath]
    total: int


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
