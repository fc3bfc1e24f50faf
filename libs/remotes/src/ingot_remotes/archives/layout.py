"""The layout of an archive: docs/reference/archives.md.

An archive is a ZIP file. Its manifest lists the other files: bundles of git data, and pages as JSON lines.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec

from ingot_contracts.repos.exports import ExportedPull, archived_file
from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedTime,
)
from ingot_remotes.forges.gitea_answers import BranchRuleAnswer, RepositoryAnswer, TagRuleAnswer
from ingot_remotes.interface.answers import Count, Id, Size
from ingot_remotes.interface.source import KINDS, Kind, PersonKey, SourceRelease

FORMAT: Literal["ingot-archive"] = "ingot-archive"
VERSION = 1
MANIFEST, PEOPLE = "manifest.json", "people.jsonl"
BUNDLE, WIKI_BUNDLE = "git/repository.bundle", "git/wiki.bundle"
PAGE_OBJECTS = 100
"""Objects of a page that Ingot writes."""
MOST_PAGE_OBJECTS = 1_000
MOST_PAGE_BYTES = 32 * 1024 * 1024
MOST_KEYS = 100
"""Limit of deploy keys: each is a line of a page."""
MOST_KEY_CHARACTERS = 16_384
"""Limit of the text of a deploy key."""
ARCHIVED_KINDS: tuple[Kind, ...] = (*KINDS, "releases")
_HASH = "[0-9a-f]{64}"
_KINDS_OF_FILES = "|".join(ARCHIVED_KINDS)
PATH = re.compile(
    rf"manifest\.json|people\.jsonl|git/(?:repository|wiki)\.bundle|(?P<kind>{_KINDS_OF_FILES})/[0-9]{{5}}\.jsonl"
    rf"|(?:files|lfs)/(?P<hash>{_HASH})",
    re.ASCII,
)
"""Every path that a file of an archive may have. No file is unpacked under its path."""
_SHA = re.compile("(?:[0-9a-f]{40})?", re.ASCII)
_IDS = frozenset(("source_id", "milestone", "labels", "account_id", "size"))
_LEAST: Mapping[str, int] = {"number": 1, "blocker": 1}
_MOST: Mapping[str, int] = {"pin_order": 1_000, "seconds": 2**53}
_SHAS = frozenset(("base_sha", "head_sha", "merge_base", "commit_sha", "merge_sha"))


class ArchiveInvalid(Exception):
    """An archive cannot be imported. The message says why, in words for the caller."""


class ArchivedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the archive. ``size`` is in bytes, before compression."""

    path: Annotated[str, msgspec.Meta(max_length=100)]
    size: Size
    sha256: Annotated[str, msgspec.Meta(pattern=f"^{_HASH}$")]


class ArchivedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A deploy key. ``key`` is public: one line of OpenSSH."""

    title: Annotated[str, msgspec.Meta(max_length=255)]
    key: Annotated[str, msgspec.Meta(max_length=MOST_KEY_CHARACTERS)]
    read_only: bool = True


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest. ``files`` are all files except the manifest itself.

    ``service`` and ``url`` name the repository at its source. ``pull_offset`` was added to the numbers of
    pull requests, but not to the numbers of their heads in git. Archives of earlier releases have no
    settings, rules or keys.
    """

    format: Literal["ingot-archive"] = FORMAT
    version: Count
    created_at: datetime
    service: Annotated[str, msgspec.Meta(max_length=10)]
    url: Annotated[str, msgspec.Meta(max_length=2_000)]
    name: Annotated[str, msgspec.Meta(max_length=100)]
    default_branch: Annotated[str, msgspec.Meta(max_length=255)] = "main"
    description: Annotated[str, msgspec.Meta(max_length=2_048)] = ""
    private: bool = True
    topics: Annotated[list[str], msgspec.Meta(max_length=100)] = []
    pull_offset: Count = 0
    counts: dict[str, Count] = {}
    settings: RepositoryAnswer | None = None
    branch_rules: Annotated[list[BranchRuleAnswer], msgspec.Meta(max_length=1_000)] = []
    tag_rules: Annotated[list[TagRuleAnswer], msgspec.Meta(max_length=1_000)] = []
    deploy_keys: Annotated[list[ArchivedKey], msgspec.Meta(max_length=MOST_KEYS)] = []
    files: list[ArchivedFile]


class ArchivedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is named in the archive, with the e-mail address that the source showed."""

    source_id: Id
    name: str
    email: Annotated[str, msgspec.Meta(max_length=320)] = ""

    @property
    def key(self) -> PersonKey:
        return self.source_id, self.name


LINES: Mapping[Kind, type[msgspec.Struct]] = {
    "labels": ImportedLabel,
    "milestones": ImportedMilestone,
    "issues": ImportedIssue,
    "pulls": ExportedPull,
    "comments": ImportedComment,
    "times": ImportedTime,
    "dependencies": ImportedDependency,
    "releases": SourceRelease,
}
"""The struct of a line of each kind. ``account_id`` of a person is not written, and ignored."""


def page_path(kind: Kind, number: int) -> str:
    """Return the path of a page. The first page has the number 1."""
    return f"{kind}/{number:05}.jsonl"


def file_path(sha256: str) -> str:
    """Return the path of a file of a release or text, which is also its address in an archive."""
    return archived_file(sha256)


def lfs_path(oid: str) -> str:
    return f"lfs/{oid}"


def encode_lines(objects: Sequence[msgspec.Struct]) -> bytes:
    """Return objects as JSON lines, without ids of accounts of this server."""
    return b"".join(msgspec.json.encode(_portable(msgspec.to_builtins(one))) + b"\n" for one in objects)


def decode_lines(text: bytes, line: type[msgspec.Struct]) -> list[Any]:
    """Return the objects of JSON lines. Raises ArchiveInvalid."""
    if len(text) > MOST_PAGE_BYTES:
        raise ArchiveInvalid(f"a page has more than {MOST_PAGE_BYTES:,} bytes")
    try:
        objects = msgspec.json.Decoder(line).decode_lines(text)
        for one in objects:
            _require_storable(one)
    except msgspec.MsgspecError as error:
        raise ArchiveInvalid(f"a page cannot be read: {error}") from None
    except RecursionError:
        raise ArchiveInvalid("a page has JSON that is nested too deeply") from None
    return objects


def with_files_at(paths: Collection[str], one: Any, page: str = "") -> Any:
    """Return an issue, pull request or comment with only those files that are in an archive.

    Other files have addresses at the source. An import of an archive sends no request to them. ``page`` is
    the prefix of links to files in texts.
    """
    changes: dict[str, Any] = {}
    if hasattr(one, "files"):
        files = [file for file in one.files if file.address.startswith("files/") and file.address in paths]
        changes["files"] = [
            msgspec.structs.replace(file, local_url="", original_url=f"{page}/{file.uuid}" if page else "")
            for file in files
        ]
    if isinstance(one, ExportedPull):
        changes["comments"] = [with_files_at(paths, text, page) for text in one.comments]
    return msgspec.structs.replace(one, **changes)


def addresses_in(objects: Sequence[Any]) -> set[str]:
    """Return the addresses of all files of issues, pull requests and comments."""
    texts = [*objects, *(text for one in objects if isinstance(one, ExportedPull) for text in one.comments)]
    return {file.address for one in texts for file in getattr(one, "files", ())}


def people_in(value: Any) -> Iterator[ImportedPerson]:
    """Yield all people in a list or struct."""
    if isinstance(value, ImportedPerson):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from people_in(one)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from people_in(getattr(value, name))


def _portable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _portable(one) for name, one in value.items() if name != "account_id"}
    return [_portable(one) for one in value] if isinstance(value, list) else value


def _require_storable(value: Any, name: str = "") -> None:
    """Check texts, the ranges of numbers and times, and the form of ids of commits. Raises ArchiveInvalid."""
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            _require_storable(getattr(value, field), field)
    elif isinstance(value, list):
        for one in value:
            _require_storable(one, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        least = -1 if name in _IDS else _LEAST.get(name, 0)
        most = 2**63 - 1 if name in _IDS else _MOST.get(name, 2**31 - 1)
        if not least <= value <= most:
            raise ArchiveInvalid(f"{name} is {value}, which is not between {least} and {most}")
    elif isinstance(value, datetime):
        _require_time(value, name)
    elif isinstance(value, str) and "\0" in value:
        raise ArchiveInvalid(f"{name} has a character U+0000")
    elif name in _SHAS and value is not None and not _SHA.fullmatch(value):
        raise ArchiveInvalid(f"{name} is not the id of a commit")


def _require_time(value: datetime, name: str) -> None:
    try:
        is_time = value.tzinfo is not None and value.astimezone(UTC).year > 1
    except OverflowError:
        is_time = False
    if not is_time:
        raise ArchiveInvalid(f"{name} is not a time with its offset to UTC")
