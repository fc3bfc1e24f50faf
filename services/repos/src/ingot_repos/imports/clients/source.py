"""The interface of sources: servers with issues, of any family.

A module for a family has a class with this interface. It translates pages of the source's API. ``kinds`` are
read in their order, because later ones refer to earlier ones.
"""

from typing import Literal, Protocol

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

Kind = Literal["labels", "milestones", "issues", "pulls", "comments", "times", "dependencies"]
KINDS: tuple[Kind, ...] = (
    "labels",
    "milestones",
    "issues",
    "pulls",
    "comments",
    "times",
    "dependencies",
)
Fault = Literal[
    "address", "forge-answer", "not-found", "redirect", "tls", "too-large", "unauthorized", "unreachable"
]
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


class SourcePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of one kind. Its people have no accounts yet. Pull requests come with their comments.

    ``size`` counts the objects that the source sent, with those that are left out. 0: there are no more.
    ``first`` is the id of the first one. ``total`` is what the source says, or None. ``addresses`` has the
    e-mail addresses that users of the source show, by their key.
    """

    size: int
    first: int = 0
    total: int | None = None
    addresses: dict[PersonKey, str] = {}
    labels: list[ImportedLabel] = []
    milestones: list[ImportedMilestone] = []
    issues: list[ImportedIssue] = []
    pulls: list[ImportedPull] = []
    comments: list[ImportedComment] = []
    times: list[ImportedTime] = []
    dependencies: list[ImportedDependency] = []


class Source(Protocol):
    """A repository of a source."""

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, or None if the source does not say it. Raises like ``page``."""
        ...

    async def page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page, the first one for 1, oldest objects first. Raises SourceFailed, SourceBusy."""
        ...
