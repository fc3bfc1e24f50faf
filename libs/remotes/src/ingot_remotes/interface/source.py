"""The interface of sources: servers with issues, of any family.

Each module of a family has a class with this interface. It converts pages of the source's API. ``kinds`` are
read in their order, because later kinds refer to earlier kinds.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedTime,
)

Kind = Literal["labels", "milestones", "issues", "pulls", "comments", "times", "dependencies", "releases"]
SOURCES = ("gitea", "forgejo", "gogs", "github", "gitlab")
"""Values of the field ``service`` whose data next to git is imported."""
KINDS: tuple[Kind, ...] = (
    "labels",
    "milestones",
    "issues",
    "pulls",
    "comments",
    "times",
    "dependencies",
)
"""Kinds that issues reads, in their order."""
Fault = Literal[
    "address",
    "archive",
    "forge-answer",
    "not-found",
    "redirect",
    "tls",
    "too-large",
    "too-many",
    "unauthorized",
    "unreachable",
]
ABSENT: tuple[Fault, ...] = ("forge-answer", "not-found", "unauthorized")
"""Faults that mean that a source does not have an optional kind, or hides it: 400, 404, 403."""
TRANSIENT: tuple[Fault, ...] = ("unreachable",)
"""Faults after which the same request may succeed."""


PersonKey = tuple[int, str]
"""Id and name of a person at the source. A person of a former source may have the id of another person."""


class SourceFailed(Exception):
    """The source did not give a page."""

    def __init__(self, fault: Fault) -> None:
        self.fault: Fault = fault
        super().__init__(fault)


class SourceBusy(Exception):
    """The source wants a pause of ``seconds`` before the next request."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(seconds)


class SourceAsset(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a release, at ``url``. ``size`` is in bytes; None if the source does not return it.

    ``version`` changes when the file is replaced: ``sha256:`` with its digest, an id or a time.
    """

    name: str
    url: str
    size: int | None = None
    created_at: datetime
    version: str = ""


class SourceRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release. ``target`` is the branch or commit of a draft."""

    author: ImportedPerson
    tag_name: str
    target: str = ""
    name: str = ""
    body: str = ""
    draft: bool = False
    prerelease: bool = False
    created_at: datetime
    published_at: datetime | None = None
    assets: list[SourceAsset] = []


class SourceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a repository. ``switches`` and ``extra`` have their names in Gitea's API.

    ``extra`` is stored as JSON here. A setting that the source does not return is missing.
    """

    topics: list[str] = []
    description: str = ""
    website: str = ""
    switches: dict[str, bool] = {}
    merge_style: str = ""
    extra: dict[str, Any] = {}


class SourceBranchRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that protects branches, with the names of Gitea's API.

    ``people`` has lists of logins. ``teams`` has names of teams of all these lists. ``missing`` names what
    the rule demands at the source and not here.
    """

    pattern: str
    priority: int
    fields: dict[str, Any]
    people: dict[str, list[str]]
    teams: list[str] = []
    missing: list[str] = []


class SourceTagRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that protects tags. ``people`` are logins, ``teams`` names of teams."""

    pattern: str
    people: list[str]
    teams: list[str] = []


class SourceRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a repository, and the public addresses of people in the rules.

    ``hidden`` has patterns of branches that are protected by a rule that the token may not see.
    """

    branches: list[SourceBranchRule] = []
    tags: list[SourceTagRule] = []
    hidden: list[str] = []
    addresses: dict[PersonKey, str] = {}


class Listed(Protocol):
    """An object in a list of a source."""

    @property
    def id(self) -> int: ...


class SourcePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of one kind. Its people have no accounts yet. A page of pull requests may have their comments.

    ``size`` counts all objects that the source returned, including omitted objects. ``first`` is the id of
    the first object. ``following`` is the place of the next page; empty after the last page. ``total`` is the
    number of all objects; None if the source does not return it. ``addresses`` has the public e-mail
    addresses of users of the source, by their key.
    """

    size: int
    first: int = 0
    following: str = ""
    total: int | None = None
    addresses: dict[PersonKey, str] = {}
    labels: list[ImportedLabel] = []
    milestones: list[ImportedMilestone] = []
    issues: list[ImportedIssue] = []
    pulls: list[ImportedPull] = []
    comments: list[ImportedComment] = []
    times: list[ImportedTime] = []
    dependencies: list[ImportedDependency] = []
    releases: list[SourceRelease] = []


class Source(Protocol):
    """A repository of a source."""

    async def pull_offset(self) -> int:
        """Return the offset for numbers of pull requests; 0 if issues share their numbers.

        Raises the errors of ``page``.
        """
        ...

    async def settings(self) -> SourceSettings:
        """Return the settings. Raises the errors of ``page``."""
        ...

    async def rules(self) -> SourceRules:
        """Return the rules that protect branches and tags. Raises the errors of ``page``."""
        ...

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open a file. Yield its chunks, and its length in bytes or None. Raises the errors of ``page``."""
        ...

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, or None if the source does not return it.

        Raises the errors of ``page``.
        """
        ...

    async def page(self, kind: Kind, place: str) -> SourcePage:
        """Return the page at a place, empty for the first page, with the oldest objects first.

        Raises SourceFailed, SourceBusy.
        """
        ...
