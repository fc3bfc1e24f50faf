"""Closing and reopening of issues by a merge, or by a commit on the default branch."""

import contextlib
from collections.abc import Collection, Iterable

from ingot_chassis.db.transaction import Tx
from ingot_issues.dependencies.rules import Blocked
from ingot_issues.issues.rules.editing import IssueEdit, edit_issue
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.states import State
from ingot_issues.references import rules as references
from ingot_issues.references.rules import Action, Reference, Source


async def close_and_reopen(
    tx: Tx,
    context: RepositoryContext,
    source: Source,
    all_references: Iterable[Reference],
    authors: Collection[int] | None,
) -> None:
    """Close and reopen issues as the references say. The actor of ``context`` may write to its repository.

    In other repositories the ``authors`` of the text need that right as well. None: the author is not proven.
    """
    for reference in all_references:
        if reference.action == Action.NONE:
            continue
        if not references.is_own(context, reference):
            if authors is not None:
                await references.add_to_other_repository(tx, context, source, reference, authors, act=True)
            continue
        target = await issue_rows.get(tx, context.repository.id, reference.number)
        if target is not None and context.repository.has_issues:
            await close_or_reopen(tx, context, target, reference.action)


async def close_or_reopen(tx: Tx, context: RepositoryContext, target: IssueRow, action: Action) -> None:
    """Close or reopen an issue. Pull requests and blocked issues are not closed."""
    if not target.is_pull and action != Action.NONE:
        state = State.CLOSED if action == Action.CLOSES else State.OPEN
        with contextlib.suppress(Blocked):
            await edit_issue(tx, context, target, IssueEdit(state=state))
