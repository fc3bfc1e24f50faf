"""Closing and reopening of issues by a merge, or by a commit on the default branch."""

import contextlib
import hashlib
from collections.abc import Collection, Iterable

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_issues.dependencies.rules import Blocked
from ingot_issues.issues.rules.editing import IssueEdit, edit_issue
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.states import State
from ingot_issues.references import rules as references
from ingot_issues.references.rules import Action, Reference, Source

CLOSE_ISSUES = "push.close"
"""The kind of jobs that close issues."""


class ClosingCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit whose message, or pull request, closes or reopens issues of its repository."""

    sha: str
    references: list[Reference]


class CloseIssues(msgspec.Struct, frozen=True, kw_only=True):
    """A job that closes and reopens issues named in commit messages, if the pusher is allowed to."""

    repository_id: int
    pusher_id: int
    restricted: bool
    commits: list[ClosingCommit]


def is_closing(context: RepositoryContext, reference: Reference) -> bool:
    """Return whether a reference closes or reopens an issue of the repository of ``context``."""
    return reference.action != Action.NONE and references.is_own(context, reference)


async def request_closing(tx: Tx, context: RepositoryContext, commits: list[ClosingCommit]) -> None:
    """Add the job that closes and reopens issues by the texts of these commits."""
    job = CloseIssues(
        repository_id=context.repository.id,
        pusher_id=context.actor_id,
        restricted=context.restricted,
        commits=commits,
    )
    await context.jobs.add(tx, CLOSE_ISSUES, hashlib.sha256(msgspec.json.encode(job)).hexdigest(), job)


async def act_on_merge(
    tx: Tx,
    context: RepositoryContext,
    source: Source,
    all_references: Collection[Reference],
    authors: Collection[int],
    sha: str,
) -> None:
    """Close and reopen issues by the text of a merged pull request.

    In this repository the actor of ``context`` must have the right to write issues. If this right is unknown,
    a job checks it. In other repositories the actor and the ``authors`` of the text need the same right.
    ``sha`` is the merged commit.
    """
    for reference in all_references:
        if reference.action != Action.NONE and not references.is_own(context, reference):
            await references.add_to_other_repository(tx, context, source, reference, authors, act=True)
    own = [reference for reference in all_references if is_closing(context, reference)]
    if own and context.writes_issues is None:
        await request_closing(tx, context, [ClosingCommit(sha=sha, references=own)])
    elif context.writes_issues:
        await close_and_reopen(tx, context, own)


async def close_and_reopen(tx: Tx, context: RepositoryContext, own_references: Iterable[Reference]) -> None:
    """Close and reopen issues of the repository. The actor of ``context`` must be able to write them."""
    for reference in own_references:
        target = await issue_rows.get(tx, context.repository.id, reference.number)
        if target is not None and context.repository.has_issues:
            await close_or_reopen(tx, context, target, reference.action)


async def close_or_reopen(tx: Tx, context: RepositoryContext, target: IssueRow, action: Action) -> None:
    """Close or reopen an issue. Pull requests and blocked issues are not closed."""
    if not target.is_pull and action != Action.NONE:
        state = State.CLOSED if action == Action.CLOSES else State.OPEN
        with contextlib.suppress(Blocked):
            await edit_issue(tx, context, target, IssueEdit(state=state))
