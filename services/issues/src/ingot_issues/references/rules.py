"""References to issues: ``#3`` and ``owner/name#3`` in issues, comments, pull requests and commits.

A reference within the repository is added to the timeline at once. A reference to another repository is a
job. The job first asks repos if the author may read that repository. The user who merged or pushed needs
the same right.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import in_unit, may_close_by_reference, reads
from ingot_issues.markdown.rules.renderer_client import plain_text_of
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.repositories.store import counters

ADD_REFERENCE = "issue.refer"
"""The kind of jobs that add references."""
MOST = 50
"""Maximum number of references per text."""


class Action(StrEnum):
    """The effect of a reference on the issue after a push to the default branch or a merge."""

    NONE = "none"
    CLOSES = "closes"
    REOPENS = "reopens"


_REFERENCE = re.compile(
    r"(?:\b(?P<closes>close[sd]?|fix(?:e[sd])?|resolve[sd]?)|\b(?P<reopens>reopen(?:s|ed)?))?:?[ \t]{0,8}"
    r"(?<![\w/&#@.-])(?P<full_name>[\w.-]{1,40}/[\w.-]{1,100})?#(?P<number>[1-9][0-9]{0,17})(?![\w-])",
    re.IGNORECASE,
)


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A reference to an issue. ``full_name`` is empty for the repository of the text."""

    full_name: str
    number: int
    action: Action


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a reference: a commit, a comment, or the text of an issue or pull request."""

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
    """A job that adds a reference to the timeline of an issue in another repository.

    ``act``: close or reopen the issue, too. The actor and the ``authors`` of the text need the right to do
    so. The actor may have merged or pushed a text of other authors.
    """

    source: Source
    reference: Reference
    actor_id: int
    act: bool = False
    authors: list[int] = []


def find(text: str) -> list[Reference]:
    """Return at most MOST references of a plain text, one for each issue."""
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
    """Return the references of a markdown text. Code and links are skipped.

    Call this before the repository is locked. Raises Unavailable.
    """
    return find(await plain_text_of(text)) if "#" in text else []


async def add_all(
    tx: Tx,
    context: RepositoryContext,
    source: Source,
    references: Iterable[Reference],
    authors: Collection[int] = (),
) -> None:
    """Add references of a text to timelines. The repository of ``context`` must be locked.

    ``authors`` wrote the text, alone or together with the actor. References to other repositories get jobs.
    """
    for reference in references:
        if not is_own(context, reference):
            await add_to_other_repository(tx, context, source, reference, authors)
            continue
        target = await issue_rows.get(tx, context.repository.id, reference.number)
        if target is not None:
            await _add(tx, context, target, source, reference.action)


def is_own(context: RepositoryContext, reference: Reference) -> bool:
    """Return whether the reference is to the repository of ``context``."""
    return reference.full_name in ("", context.repository.full_name.lower())


async def _add(tx: Tx, context: RepositoryContext, target: IssueRow, source: Source, action: Action) -> None:
    """Add the reference to the timeline of ``target``, unless it exists or the issue refers to itself."""
    if target.id == source.issue_id:
        return
    if await timeline.has_reference(tx, target.id, source.kind, source.columns):
        return
    await context.add_to_timeline(
        tx, target.id, source.kind, details=Details(action=action.value), reference=source.columns
    )


async def add_to_other_repository(
    tx: Tx,
    context: RepositoryContext,
    source: Source,
    reference: Reference,
    authors: Collection[int],
    *,
    act: bool = False,
) -> None:
    """Add the job for a reference to another repository, unless the actor's token is restricted."""
    if context.restricted:
        return
    await repositories.add_missing(tx, context.repository)
    others = sorted(set(authors) - {context.actor_id})
    job = AddReference(source=source, reference=reference, actor_id=context.actor_id, act=act, authors=others)
    await context.jobs.add(tx, ADD_REFERENCE, hashlib.sha256(msgspec.json.encode(job)).hexdigest(), job)


async def receive(
    tx: Tx, context: RepositoryContext, accesses: Mapping[int, RepositoryAccess], job: AddReference
) -> IssueRow | None:
    """Add a reference from another repository. Return the issue if it must be closed or reopened.

    ``accesses`` has the access of the actor and the authors. An issue is closed or reopened only if all of
    them have this right.
    """
    if context.repository.archived or not await counters.lock(tx, context.repository.id):
        return None
    target = await issue_rows.get(tx, context.repository.id, job.reference.number)
    if target is None or not all(reads(one, is_pull=target.is_pull) for one in accesses.values()):
        return None
    await _add(tx, context, target, job.source, job.reference.action)
    may_close = all(
        may_close_by_reference(in_unit(access, "issues"), account_id, target.author_id)
        for account_id, access in accesses.items()
    )
    return target if job.act and may_close else None


async def references_of(title: str, body: str) -> list[Reference]:
    """Return the references of an issue or pull request.

    Call this before the repository is locked. Raises Unavailable.
    """
    if "#" not in title and "#" not in body:
        return []
    return await find_in_markdown(f"{title}\n\n{body}")
