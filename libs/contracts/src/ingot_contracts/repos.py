"""Owned by repos: how repositories look to the world, who may do what to one, and what happened."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.attachments import Attachment
from ingot_contracts.identity import User
from ingot_contracts.limits import Omitted
from ingot_contracts.trackers import ExternalTracker, ExternalWiki, InternalTracker
from ingot_contracts.transfers import RepositoryTransfer

Level = Literal["none", "read", "write", "admin", "owner"]
StatusState = Literal["pending", "success", "error", "failure", "warning", "skipped"]
PASSED: frozenset[StatusState] = frozenset(("success", "skipped"))
"""States of a check that keep nobody from merging."""
LEVELS: tuple[Level, ...] = ("none", "read", "write", "admin", "owner")
NO_COMMIT = "0" * 40
MOST_WATCHERS = 500
"""People who hear that something happened in a repository because they watch it."""
MOST_IDS = 1000
"""Repositories that ``ReadableRepositories`` takes at once."""


def reaches(level: Level, required: Level) -> bool:
    """Whether access at ``level`` includes ``required``."""
    return LEVELS.index(level) >= LEVELS.index(required)


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    admin: bool = False
    push: bool = False
    pull: bool = False


def permission_of(level: Level) -> Permission:
    """What access at ``level`` allows, as the API shows it."""
    return Permission(
        admin=reaches(level, "admin"), push=reaches(level, "write"), pull=reaches(level, "read")
    )


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository as the API shows it. In events ``permissions`` are all false.

    ``has_…`` says which units are switched on. ``original_url`` and what begins with ``mirror_`` say how a mirror is
    kept, and are empty in events. ``allow_…`` are the styles in which pull requests may be merged and brought up to
    date, ``default_merge_style`` one of ``MERGE_STYLES``. ``internal``: only members of its organization see it.
    What stands below "without effect" is as a client sent it, and changes nothing.
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
    mirror_last_sync_at: datetime | None = None
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
    template: bool = False
    internal: bool = False
    topics: list[str] = []
    language: str = ""
    url: str = ""
    link: str = ""
    avatar_url: str = ""
    languages_url: str = ""
    object_format_name: str = "sha1"
    release_counter: int = 0
    open_pr_counter: int = 0
    allow_merge_commits: bool = True
    allow_rebase: bool = True
    allow_rebase_explicit: bool = True
    allow_squash_merge: bool = True
    allow_fast_forward_only_merge: bool = True
    allow_merge_update: bool = True
    allow_rebase_update: bool = True
    allow_manual_merge: bool = False
    autodetect_manual_merge: bool = True
    default_merge_style: str = "merge"
    default_update_style: str = "merge"
    default_delete_branch_after_merge: bool = False
    ignore_whitespace_conflicts: bool = False
    internal_tracker: InternalTracker | None = None
    repo_transfer: RepositoryTransfer | None = None
    # without effect
    has_wiki: bool = False
    has_projects: bool = False
    has_packages: bool = False
    has_actions: bool = False
    projects_mode: str = ""
    default_allow_maintainer_edit: bool = False
    external_tracker: ExternalTracker | None = None
    external_wiki: ExternalWiki | None = None


class RepositoryAccess(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/by-name/{owner}/{name}/access and …/{id}/access: what the caller may do.

    With ``?user={id}``: what somebody may do who is not calling now. 404 when they may not know of it.
    """

    repository: Repository
    level: Level
    owner_kind: Literal["user", "organization"] = "user"
    issues_enabled: bool = True
    pulls_enabled: bool = True
    ready: bool = True


class AccessLevel(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/level?user={id}: what somebody may do who is not calling now."""

    level: Level


class ReadableRepositories(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/readable-repositories: of these ids of repositories, those that the caller may read. Question and answer.

    At most ``MOST_IDS``. With ``team_id`` only those that the team was given. With ``with_levels`` the answer has the
    caller's ``levels`` of its ``ids``, in their order.
    """

    ids: list[int]
    team_id: int = 0
    with_levels: bool = False
    levels: list[Level] = []


class Watchers(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/watchers: the ids of who watches it; the first ``MOST_WATCHERS`` only."""

    ids: list[int]


class BranchTip(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/branches/{name}.

    DELETE with ``?tip={sha}`` deletes it as the calling person: 409 when it moved meanwhile, or is the default.
    With ``&user={id}``: as somebody who is not calling now.
    """

    name: str
    sha: str


class MergeRule(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/merge-rule?branch=&head=: what protects a branch from a merge of commit ``head``.

    For the calling person, or ``&user={id}``; with ``&unattended=true`` for nobody, without a check of access. Without
    ``rule_name`` nothing protects it. repos itself refuses a merge (405) for which ``may_merge`` is false or
    ``missing_checks`` names statuses that have not succeeded, unless it is asked to with ``?override=true`` and
    ``may_override`` is true; in the same way (409) one of a head that is behind, with ``block_on_outdated_branch``. Reviews
    are for issues: approvals of the ``approvers`` (ids; None: of everybody who may write) and of ``approving_teams`` count.
    """

    rule_name: str = ""
    may_merge: bool = True
    may_override: bool = False
    missing_checks: list[str] = []
    required_approvals: int = 0
    approvers: list[int] | None = None
    approving_teams: list[int] = []
    block_on_rejected_reviews: bool = False
    block_on_official_review_requests: bool = False
    block_on_outdated_branch: bool = False
    dismiss_stale_approvals: bool = False
    ignore_stale_approvals: bool = False


class CommitAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """``username`` is empty when no account has that address."""

    name: str
    email: str
    username: str = ""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """``signer`` is whose key made the signature: the account, with the address of the commit. Events have none."""

    verified: bool = False
    reason: str = ""
    signature: str = ""
    payload: str = ""
    signer: CommitAuthor | None = None


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
    status: StatusState
    target_url: str = ""
    description: str = ""
    url: str
    context: str
    creator: User
    created_at: datetime
    updated_at: datetime


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A tag with a text. ``published_at`` is when it stopped being a draft; of a draft the same as ``created_at``.

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
    upload_url: str = ""
    assets: list[Attachment] = []


class FirstLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label with which a repository begins."""

    name: str
    color: str
    description: str = ""
    exclusive: bool = False


class RepositoryCreated(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.created.v1"):
    """It begins with ``labels``, and with those that the repository ``labels_of`` has now; 0: with no others."""

    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"
    labels: list[FirstLabel] = []
    labels_of: int = 0


class RepositoryEdited(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.edited.v1"):
    """Name, visibility, units or owner changed: copies of it are out of date."""

    repository: Repository
    sender: User
    previous_full_name: str = ""


class RepositoryDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.deleted.v1"):
    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"


class RepositoryAbandoned(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.abandoned.v1"):
    """It was deleted before it was ever ready: no event but this one is about it."""

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
    """A collaborator or a team grant changed: remembered grants are out of date. Both lists are complete."""

    repository_id: int
    collaborators: list[int] = []
    teams: list[int] = []


class PushReceived(msgspec.Struct, frozen=True, kw_only=True, tag="repos.push.received.v1"):
    """One ref moved. 40 zeros: ``before`` for a new ref, ``after`` for a deleted one.

    ``commits`` are newest first, ``EVENT_COMMITS`` of ``total_commits``. ``merged_pull``: the number of the pull request
    that it merges, or 0. ``restricted``: nothing follows in other repositories. ``options`` (`git push -o`) are for hooks.
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
    restricted: bool = msgspec.field(default=False, name="confined")
    owner_kind: Literal["user", "organization"] = "user"
    omitted: Omitted = Omitted()
    options: list[str] = []


class CommitsProposed(msgspec.Struct, frozen=True, kw_only=True, tag="repos.commits.proposed.v1"):
    """A push to ``refs/for/``: a pull request is to be opened, or an open one between these branches updated.

    ``head`` stands for the head branch in requests about pull requests (``ingot_contracts.pulls.proposal_head``).
    ``title`` and ``body`` are empty where the push named none; ``message`` is that of the last commit, clipped.
    """

    repository: Repository
    pusher: User
    base_branch: str
    head: str
    after: str
    title: str = ""
    body: str = ""
    message: str = ""
    restricted: bool = msgspec.field(default=False, name="confined")


class StatusCreated(msgspec.Struct, frozen=True, kw_only=True, tag="repos.status.created.v1"):
    repository: Repository
    sender: User
    sha: str
    status: CommitStatus


class ReleaseChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.release.changed.v1"):
    """Never emitted for a draft: publishing one is ``published``, making it a draft again ``deleted``."""

    action: Literal["published", "updated", "deleted"]
    repository: Repository
    sender: User
    release: Release
    owner_kind: Literal["user", "organization"] = "user"
    omitted: Omitted = Omitted()


Event = (
    RepositoryCreated
    | RepositoryEdited
    | RepositoryDeleted
    | RepositoryAbandoned
    | ForkRequested
    | RepositoryForked
    | AccessChanged
    | PushReceived
    | CommitsProposed
    | StatusCreated
    | ReleaseChanged
)
