"""Pages of a repository that issues sends to repos, which writes them into an archive."""

from typing import Literal, TypeAlias

import msgspec

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPull,
    ImportedTime,
)


class ExportedPull(ImportedPull, frozen=True, kw_only=True):
    """A pull request with its comments, because a timeline mixes them with reviews."""

    comments: list[ImportedComment] = msgspec.field(default_factory=list)


LeftOutReason: TypeAlias = Literal["too-large", "lost"]


class LeftOutFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the issue or pull request ``number`` that an archive lacks. ``size`` is in bytes.

    ``too-large``: the file is larger than an import accepts. ``lost``: the file is not stored.
    """

    number: int
    name: str
    size: int
    reason: LeftOutReason


class ExportPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page at ``cursor`` of the export called ``name``. It has objects of one kind.

    ``following`` is the cursor of the next page; empty after the last page. People of this server have only
    their ``account_id``. People of a former source have their name and id at that source.

    ``is_too_large``: repos rejected the page for its size. Such a page has no objects, and the export fails.
    ``left_out`` lists files of texts on the page that were not sent.
    """

    name: str
    cursor: str
    following: str
    is_too_large: bool = False
    labels: list[ImportedLabel] = []
    milestones: list[ImportedMilestone] = []
    issues: list[ImportedIssue] = []
    pulls: list[ExportedPull] = []
    comments: list[ImportedComment] = []
    times: list[ImportedTime] = []
    dependencies: list[ImportedDependency] = []
    left_out: list[LeftOutFile] = []


class ExportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a text of the export called ``name`` uses. The text links to it by ``archived_file``."""

    name: str
    sha256: str
    content: bytes


class ExportedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """All labels of an organization, for its export called ``name``.

    ``is_too_large``: the organization has more labels than issues sends. Then the export fails.
    """

    name: str
    labels: list[ImportedLabel] = []
    is_too_large: bool = False


def archived_file(sha256: str) -> str:
    """Return the path of a file in an archive, which is its address in texts."""
    return f"files/{sha256}"


class ExportState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an export.

    ``running``: the page at ``cursor`` is next. ``ended``: repos accepts no more pages. ``owner_id`` is the
    account that owns the repository. It is 0 if the export has ended, or if repos runs an older release.
    """

    state: Literal["running", "ended"]
    cursor: str = ""
    owner_id: int = 0
