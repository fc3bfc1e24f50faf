"""Issues that a merge, or a commit on the default branch, closes or reopens."""

import contextlib
from collections.abc import Iterable

from ingot_chassis.db.transaction import Tx
from ingot_issues.core import references
from ingot_issues.core.dependencies import Blocked
from ingot_issues.core.issues import IssueEdit, edit_issue
from ingot_issues.core.references import Action, Reference, Source
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import issue_rows
from ingot_issues.store.issue_rows import IssueRow
from ingot_issues.store.states import State


async def close_and_reopen(
    tx: Tx, context: RepositoryContext, source: Source, all_references: Iterable[Reference]
) -> None:
    """Close and reopen issues as the references say. The actor of ``context`` may write to its repository."""
    for reference in all_references:
        if reference.action == Action.NONE:
            continue
        if not references.is_own(context, reference):
            await references.add_to_other_repository(tx, context, source, reference, act=True)
            continue
        target = await issue_rows.get(tx, context.repository.id, reference.number)
        if target is not None and context.repository.has_issues:
            await close_or_reopen(tx, context, target, reference.action)


async def close_or_reopen(tx: Tx, context: RepositoryContext, target: IssueRow, action: Action) -> None:
    """Close or reopen an issue. A reference closes neither a pull request nor an issue that is blocked."""
    if not target.is_pull and action != Action.NONE:
        state = State.CLOSED if action == Action.CLOSES else State.OPEN
        with contextlib.suppress(Blocked):
            await edit_issue(tx, context, target, IssueEdit(state=state))
