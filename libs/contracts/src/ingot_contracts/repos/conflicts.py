"""Conflicts of a pull request that are resolved on a page. web sends requests to issues, issues to repos."""

from typing import Annotated

import msgspec

MOST_RESOLVED_FILES = 20
ResolvedText = Annotated[str, msgspec.Meta(max_length=400_000)]


class FindConflicts(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/conflicts: find conflicts of a merge of a base into ``head_branch``.

    The caller needs the access of ``UpdateBranch``. 409 if the branch is no longer at ``head_sha``.
    """

    head_branch: str
    head_sha: str
    base_repository_id: int
    base_branch: str


class ConflictPart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a merged text.

    A conflict (``is_conflict``) has three versions; other lines have only ``text``.
    """

    text: str = ""
    is_conflict: bool = False
    base: str = ""
    ours: str = ""
    theirs: str = ""


class ConflictedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in conflict. ``deleted`` is the side that deleted it, ours or theirs; empty if both have it.

    ``obstacle`` is the reason why the conflict cannot be resolved on a page. The file then has no parts.
    """

    path: str
    parts: list[ConflictPart] = []
    deleted: str = ""
    obstacle: str = ""


class Conflicts(msgspec.Struct, frozen=True, kw_only=True):
    """Files in conflict. Ours is the head branch, theirs the base branch. Without files the merge is clean.

    ``obstacle`` is the reason why the conflicts cannot be resolved on a page.
    """

    head_sha: str
    base_sha: str
    files: list[ConflictedFile] = []
    obstacle: str = ""


class ResolvedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file that was in conflict. None deletes the file."""

    path: str
    text: ResolvedText | None


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repos/{owner}/{repo}/pulls/{index}/conflicts: commit a merge with these texts.

    409 if a branch has moved since ``head_sha`` and ``base_sha``.
    """

    head_sha: str
    base_sha: str
    files: Annotated[list[ResolvedFile], msgspec.Meta(max_length=MOST_RESOLVED_FILES)]


class ResolveConflicts(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/resolutions: merge a base into ``head_branch`` with these texts.

    The caller needs the access of ``UpdateBranch``. The protection of the branch applies.
    """

    head_branch: str
    base_repository_id: int
    base_branch: str
    resolution: Resolution
