"""References to issues: ``#3`` and ``owner/name#3`` in issues, comments, pull requests and commits.

A reference within the repository is written into the timeline at once. A reference to another repository is a job,
which first asks repos whether the author of the text may read that repository.
"""

import hashlib
import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.core.access import may_close_by_reference
from ingot_issues.core.markdown import plain_text, run_without_blocking
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import comments, counters, issue_rows, repositories
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issue_rows import IssueRow

ADD_REFERENCE = "issue.refer"
"""The kind of the job."""
MOST = 50
"""References of one text that count."""


class Action(StrEnum):
    """What a reference does to the issue, when a commit reaches the default branch or a pull request is merged."""

    NONE = "none"
    CLOSES = "closes"
    REOPENS = "reopens"


_REFERENCE = re.compile(
    r"(?:\b(?P<closes>close[sd]?|fix(?:e[sd])?|resolve[sd]?)|\b(?P<reopens>reopen(?:s|ed)?))?:?[ \t]{0,8}"
    r"(?<![\w/&#@.-])(?P<full_name>[\w.-]{1,40}/[\w.-]{1,100})?#(?P<number>[1-9][0-9]{0,17})(?![\w-])",
    re.IGNORECASE,
)


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """``full_name`` is empty for the repository of the text."""

    full_name: str
    number: int
    action: Action


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reference stands: in a commit, a comment, or the text of an issue or pull request."""

    repository_id: int
    issue_id: int = 0
    comment_id: int = 0
    is_pull: bool = False
    sha: str = ""

    @property
    def kind(self) -> CommentKind:
        if self.sha:
            return CommentKind.COMMIT_REFERENCE
        if self.comment_id:
            return CommentKind.COMMENT_REFERENCE
        return CommentKind.PULL_REFERENCE if self.is_pull else CommentKind.ISSUE_REFERENCE

    @property
    def columns(self) -> dict[str, int | str | None]:
        return {
            "ref_repository_id": self.repository_id,
            "ref_issue_id": self.issue_id or None,
            "ref_comment_id": self.comment_id or None,
            "ref_sha": self.sha or None,
        }


class AddReference(msgspec.Struct, frozen=True, kw_only=True):
    """The job: write a reference to another repository into the timeline there.

    ``act``: close or reopen the issue as well, as the reference says.
    """

    source: Source
    reference: Reference
    actor_id: int
    act: bool = False


def find(text: str) -> list[Reference]:
    """The references of a plain text, one for each issue."""
    references: dict[tuple[str, int], Reference] = {}
    for match in _REFERENCE.finditer(text):
        action = Action.CLOSES if match["closes"] else Action.REOPENS if match["reopens"] else Action.NONE
        full_name = (match["full_name"] or "").lower()
        key = full_name, int(match["number"])
        if key not in references and len(references) == MOST:
            break
        if key not in references or references[key].action == Action.NONE:
            references[key] = Reference(full_name=full_name, number=key[1], action=action)
    return list(references.values())


async def find_in_markdown(text: str) -> list[Reference]:
    """The references of a markdown text, without those in code and links. Call it before the repository is locked."""
    return (
        await run_without_blocking(lambda markdown: find(plain_text(markdown)), text) if "#" in text else []
    )


async def add_all(
    tx: Tx, context: RepositoryContext, source: Source, references: Iterable[Reference]
) -> None:
    """Add references of a text in the repository of ``context``, which is locked already."""
    for reference in references:
        if not is_own(context, reference):
            await add_to_other_repository(tx, context, source, reference)
            continue
        target = await issue_rows.get(tx, context.repository.id, reference.number)
        if target is not None:
            await _add(tx, context, target, source, reference.action)


def is_own(context: RepositoryContext, reference: Reference) -> bool:
    """Whether the reference is to the repository of ``context``."""
    return reference.full_name in ("", context.repository.full_name.lower())


async def _add(tx: Tx, context: RepositoryContext, target: IssueRow, source: Source, action: Action) -> None:
    """Write the reference into the timeline of ``target``, once."""
    if target.id == source.issue_id:
        return
    if await comments.has_reference(tx, target.id, source.kind, source.columns):
        return
    await context.add_to_timeline(
        tx, target.id, source.kind, details=Details(action=action.value), reference=source.columns
    )


async def add_to_other_repository(
    tx: Tx, context: RepositoryContext, source: Source, reference: Reference, *, act: bool = False
) -> None:
    """Add the job for a reference to another repository. A restricted token has no effect there."""
    if context.restricted:
        return
    await repositories.add_missing(tx, context.repository)
    job = AddReference(source=source, reference=reference, actor_id=context.actor_id, act=act)
    await context.jobs.add(tx, ADD_REFERENCE, hashlib.sha256(msgspec.json.encode(job)).hexdigest(), job)


async def receive(
    tx: Tx, context: RepositoryContext, access: RepositoryAccess, job: AddReference
) -> IssueRow | None:
    """Add a reference from another repository; the issue, if the reference closes or reopens it and the actor may."""
    if context.repository.archived or not await counters.lock(tx, context.repository.id):
        return None
    target = await issue_rows.get(tx, context.repository.id, job.reference.number)
    if target is None:
        return None
    await _add(tx, context, target, job.source, job.reference.action)
    return target if job.act and may_close_by_reference(access, job.actor_id, target.author_id) else None
