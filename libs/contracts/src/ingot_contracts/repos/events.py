"""Events of repos."""

from typing import Annotated, Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import EVENT_WIKI_PAGES, Omitted, most_items
from ingot_contracts.repos.commits import Commit, CommitStatus
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository


class FirstLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label that a new repository starts with."""

    name: str
    color: str
    description: str = ""
    exclusive: bool = False


class RepositoryCreated(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.created.v1"):
    """A repository was created.

    It starts with ``labels``, and with labels copied from the repository ``labels_of``; 0 copies none.
    """

    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"
    labels: list[FirstLabel] = []
    labels_of: int = 0


class RepositoryEdited(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.edited.v1"):
    """Name, visibility, units or owner changed: copies of the repository are stale."""

    repository: Repository
    sender: User
    previous_full_name: str = ""


class RepositoryDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.deleted.v1"):
    repository: Repository
    sender: User
    owner_kind: Literal["user", "organization"] = "user"


class RepositoryAbandoned(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.abandoned.v1"):
    """A repository was deleted before it was ready. There is no other event about it."""

    repository_id: int


class ForkRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.fork.requested.v1"):
    """A fork was requested: its row exists, but its commits are not copied yet. Wakes the workers."""

    repository_id: int
    parent_id: int


class ImportRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.import.requested.v1"):
    """An import was requested or restarted. Wakes the workers."""

    repository_id: int


class ImportFinished(msgspec.Struct, frozen=True, kw_only=True, tag="repos.import.finished.v1"):
    """An import has ended. ``reason`` is empty after success. ``repeat`` counts how often it was repeated."""

    repository: Repository
    requested_by: int
    reason: str = ""
    sender: User | None = None
    repeat: int = 0


class ImportFetched(msgspec.Struct, frozen=True, kw_only=True, tag="repos.import.fetched.v1"):
    """The commits of an import are here, or its other data was requested again. issues reads its pages.

    ``repeat`` counts how often the import was repeated. A new repeat begins with the first page.
    """

    repository: Repository
    repeat: int = 0


class ImportReassigned(msgspec.Struct, frozen=True, kw_only=True, tag="repos.import.reassigned.v1"):
    """People of the source of an import have accounts now.

    ``accounts`` has the account ids by login at the source. issues assigns to them the objects that belonged
    to the ghost account.
    """

    repository_id: int
    accounts: dict[str, int]


class ExportRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.export.requested.v1"):
    """An export was requested. issues sends its pages to repos. ``name`` is the name of the export."""

    repository_id: int
    name: str


class OrganizationExportRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.labels.requested.v1"):
    """An export of an organization was requested. issues sends its labels to repos.

    ``name`` is the name of the export.
    """

    organization_id: int
    name: str


class MirrorSyncRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.sync.requested.v1"):
    """A sync of a mirror was requested. Wakes the workers."""

    repository_id: int


class MirrorPushRequested(msgspec.Struct, frozen=True, kw_only=True, tag="repos.mirror.requested.v1"):
    """A push to a push mirror was requested, or follows a commit. Wakes the workers."""

    repository_id: int
    mirror_id: int


class RepositoryForked(msgspec.Struct, frozen=True, kw_only=True, tag="repos.repository.forked.v1"):
    """A fork is ready to be cloned. ``forkee`` is the original, ``repository`` the new fork."""

    forkee: Repository
    repository: Repository
    sender: User


class AccessChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.access.changed.v1"):
    """A collaborator or a team grant changed: cached grants are stale. Both lists are complete."""

    repository_id: int
    collaborators: list[int] = []
    teams: list[int] = []


class PushReceived(msgspec.Struct, frozen=True, kw_only=True, tag="repos.push.received.v1"):
    """One ref moved. ``before`` is 40 zeros for a new ref, ``after`` for a deleted ref.

    ``commits`` are the latest ``EVENT_COMMITS`` of ``total_commits``, latest first. ``head_commit`` is the
    commit that the ref is at, unless it is the first of ``commits``. ``merged_pull`` is the number of the
    pull request that the push merges, or 0. ``restricted``: the push has no effects in other repositories.
    ``options`` (`git push -o`) are for hooks. ``imported``: a repeated import moved the ref. Its commits
    close no issues and merge no pull requests, because the source has done so.
    """

    repository: Repository
    pusher: User
    ref: str
    before: str
    after: str
    compare_url: str = ""
    commits: list[Commit] = []
    head_commit: Commit | None = None
    total_commits: int = 0
    forced: bool = False
    merged_pull: int = 0
    restricted: bool = msgspec.field(default=False, name="confined")
    owner_kind: Literal["user", "organization"] = "user"
    omitted: Omitted = Omitted()
    options: list[str] = []
    imported: bool = False


class CommitsProposed(msgspec.Struct, frozen=True, kw_only=True, tag="repos.commits.proposed.v1"):
    """Commits were pushed to ``refs/for/``: issues opens a pull request, or updates the open pull request.

    ``head`` is the name of the head in requests about pull requests (see ``comparisons.proposal_head``).
    ``title`` and ``body`` are empty unless the push sets them. ``message`` is the message of the last commit,
    clipped.
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
    """A status was added to a commit. ``commit`` is null in events of earlier releases."""

    repository: Repository
    sender: User
    sha: str
    status: CommitStatus
    commit: Commit | None = None
    omitted: Omitted = Omitted()


class ReleaseChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.release.changed.v1"):
    """A release changed.

    Drafts are not announced: the publication of a draft is ``published``, its withdrawal ``deleted``.
    """

    action: Literal["published", "updated", "deleted"]
    repository: Repository
    sender: User
    release: Release
    owner_kind: Literal["user", "organization"] = "user"
    omitted: Omitted = Omitted()


class WikiPageChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one wiki page.

    ``page`` is its address, the last part of its URL. ``comment`` is the message of the commit.
    """

    action: Literal["created", "edited", "deleted"]
    page: str
    comment: str = ""


class WikiChanged(msgspec.Struct, frozen=True, kw_only=True, tag="repos.wiki.changed.v1"):
    """Pages of a wiki changed, by the API or by one push.

    A renamed page is ``edited``, with its current address. ``pages`` are the latest ``EVENT_WIKI_PAGES``
    changes, the latest last. ``omitted`` counts the others.
    """

    repository: Repository
    sender: User
    pages: Annotated[list[WikiPageChange], most_items(EVENT_WIKI_PAGES)]
    owner_kind: Literal["user", "organization"] = "user"
    omitted: int = 0


Event = (
    RepositoryCreated
    | RepositoryEdited
    | RepositoryDeleted
    | RepositoryAbandoned
    | ForkRequested
    | ImportRequested
    | ImportFinished
    | ImportFetched
    | ImportReassigned
    | ExportRequested
    | OrganizationExportRequested
    | MirrorSyncRequested
    | MirrorPushRequested
    | RepositoryForked
    | AccessChanged
    | PushReceived
    | CommitsProposed
    | StatusCreated
    | ReleaseChanged
    | WikiChanged
)
