"""Pages of an imported repository, which issues reads through repos."""

from datetime import datetime
from typing import Literal

import msgspec

GHOST_ID = -1
"""The id of the account that stands for authors who have no account here."""


ImportedReviewState = Literal["APPROVED", "COMMENT", "REQUEST_CHANGES"]
ConflictKind = Literal[
    "label", "milestone", "issue", "pull", "comment", "review", "release", "branch", "tag", "wiki"
]


class ImportedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person of an imported text, with the name and id at the source.

    ``account_id`` is an account here, or the ghost account.
    """

    account_id: int = GHOST_ID
    name: str = ""
    source_id: int = 0


class ImportedLabel(msgspec.Struct, frozen=True, kw_only=True):
    source_id: int
    name: str
    color: str
    description: str = ""
    exclusive: bool = False
    is_archived: bool = False


class ImportedMilestone(msgspec.Struct, frozen=True, kw_only=True):
    source_id: int
    title: str
    description: str = ""
    state: Literal["open", "closed"] = "open"
    due_on: datetime | None = None
    closed_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


class ImportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a text, which repos fetches from ``address``.

    In the text, ``local_url`` replaces ``original_url``. A file without a link in the text may use neither.
    """

    uuid: str
    address: str
    name: str
    created_at: datetime
    local_url: str = ""
    original_url: str = ""


class ImportedReaction(msgspec.Struct, frozen=True, kw_only=True):
    author: ImportedPerson
    content: str
    created_at: datetime


class ImportedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An imported issue. ``labels`` and ``milestone`` are ids of the source.

    ``assignees`` are accounts that may read the repository, or the ghost account.
    """

    source_id: int
    number: int
    author: ImportedPerson
    title: str
    body: str = ""
    state: Literal["open", "closed"] = "open"
    ref: str = ""
    labels: list[int] = []
    milestone: int = 0
    assignees: list[ImportedPerson] = []
    is_locked: bool = False
    pin_order: int = 0
    due_date: datetime | None = None
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    reactions: list[ImportedReaction] = []
    files: list[ImportedFile] = []


class ImportedLineComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of the new file or, if ``old_position`` is not 0, of the old file.

    ``source_id`` is 0 if the source does not return it.
    """

    source_id: int = 0
    author: ImportedPerson
    body: str
    path: str
    old_position: int = 0
    new_position: int = 0
    commit_sha: str
    diff_hunk: str = ""
    resolver: ImportedPerson | None = None
    created_at: datetime
    updated_at: datetime


class ImportedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted review of a pull request, of the commit ``commit_sha``."""

    source_id: int
    author: ImportedPerson
    state: ImportedReviewState
    body: str = ""
    commit_sha: str
    dismissed: bool = False
    submitted_at: datetime
    updated_at: datetime
    comments: list[ImportedLineComment] = []


class ImportedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a review. ``reviewer`` may read the repository, or is the ghost account."""

    reviewer: ImportedPerson
    commit_sha: str
    created_at: datetime


class ImportedPull(ImportedIssue, frozen=True, kw_only=True):
    """A pull request. Its commits are in the repository, under its number, if the source returned them.

    ``is_from_base``: the head branch is in the repository. Otherwise it was in another repository.
    """

    base_branch: str
    base_sha: str
    head_branch: str
    head_sha: str
    merge_base: str
    is_from_base: bool
    merged: bool = False
    merged_at: datetime | None = None
    merged_by: ImportedPerson | None = None
    merge_sha: str | None = None
    allow_maintainer_edit: bool = False
    additions: int | None = None
    deletions: int | None = None
    changed_files: int | None = None
    reviews: list[ImportedReview] = []
    requests: list[ImportedRequest] = []


class ImportedComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on the issue or pull request with this number."""

    source_id: int
    number: int
    author: ImportedPerson
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[ImportedReaction] = []
    files: list[ImportedFile] = []


class ImportedTime(msgspec.Struct, frozen=True, kw_only=True):
    """Time that a person tracked on the issue with this number."""

    source_id: int
    number: int
    author: ImportedPerson
    seconds: int
    created_at: datetime


class ImportedDependency(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency: the issue ``number`` is blocked by ``blocker``, an issue of the same repository."""

    number: int
    blocker: int


class ImportConflict(msgspec.Struct, frozen=True, kw_only=True):
    """An object that changed here and at the source since the last import. The local object is not changed.

    ``number`` is the number of its issue or pull request, or 0. ``name`` is the name of a label, milestone,
    release or ref, or the id of a comment or review. ``fields`` are the names of fields that differ. Three
    other values are possible there. "deleted": the object was deleted here. "gone": a release was deleted at
    the source. "number": another issue or pull request has its number here.
    """

    kind: ConflictKind
    number: int = 0
    name: str = ""
    fields: list[str] = []


class ReadImportPage(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the page at ``cursor``, empty for the first page. Earlier pages have been written.

    ``repeat`` is the number of the repeat that reads. An older release omits it, and gets no pages of
    repeats. ``conflicts`` are the conflicts of the previous page of a repeated import.

    ``is_refused``: the page at ``cursor`` cannot be written, so the import fails. ``with_files``: files of
    texts are fetched after the page. An older release does not fetch them, so its links lead to the source.
    """

    cursor: str = ""
    is_refused: bool = False
    with_files: bool = False
    repeat: int = 0
    conflicts: list[ImportConflict] = []


class ImportPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, and the cursor of the next page. A page of pull requests may have their comments.

    ``wait``: request the page again after ``seconds``. ``ended``: no page follows, because the import is
    done, failed, cancelled or deleted.
    """

    state: Literal["page", "wait", "ended"]
    seconds: float = 0
    cursor: str = ""
    labels: list[ImportedLabel] = []
    milestones: list[ImportedMilestone] = []
    issues: list[ImportedIssue] = []
    pulls: list[ImportedPull] = []
    comments: list[ImportedComment] = []
    times: list[ImportedTime] = []
    dependencies: list[ImportedDependency] = []


class ReadImportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the file at an address of the source, of ``max_bytes`` at most."""

    address: str
    max_bytes: int


class ImportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the source.

    ``absent``: the source does not return it, or it is too large. ``wait`` and ``ended`` have the meaning of
    ``ImportPage``.
    """

    state: Literal["file", "absent", "wait", "ended"]
    seconds: float = 0
    content: bytes = b""
