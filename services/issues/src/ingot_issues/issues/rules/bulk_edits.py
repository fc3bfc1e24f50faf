"""The change of one issue in a bulk edit."""

from collections.abc import Sequence

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.issues.bulk_edits import How
from ingot_contracts.limits import ASSIGNEES
from ingot_issues.issues.rules import labels
from ingot_issues.issues.rules.editing import IssueEdit, edit_issue
from ingot_issues.issues.store import assignees
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.states import State


class IdsChange(msgspec.Struct, frozen=True):
    """A change of the labels or assignees of an issue, by id."""

    how: How
    ids: Sequence[int]

    def of(self, present: Sequence[int]) -> list[int]:
        """Return the ids after the change of ``present``, without duplicates.

        With "add" and "remove", ids that stay keep their order.
        """
        match self.how:
            case "add":
                return list(dict.fromkeys([*present, *self.ids]))
            case "remove":
                return [one for one in present if one not in self.ids]
        return list(dict.fromkeys(self.ids))


class BulkEdit(msgspec.Struct, frozen=True, kw_only=True):
    """The fields to change; None keeps a value. ``milestone_id`` 0 removes the milestone."""

    state: State | None = None
    milestone_id: int | None = None
    labels: IdsChange | None = None
    assignees: IdsChange | None = None


async def change_one(tx: Tx, context: RepositoryContext, issue: IssueDetails, edit: BulkEdit) -> bool:
    """Change an issue or pull request. Return False if it already had these values.

    Raises Invalid, Conflict or NotFound.
    """
    await context.lock(tx, issue.id)
    account_ids: list[int] | None = None
    if edit.assignees is not None:
        account_ids = edit.assignees.of(await assignees.list_ids(tx, issue.id))
        if len(account_ids) > ASSIGNEES:
            raise Invalid.field("assignees", "length", f"are more than {ASSIGNEES}")
    labeled = None if edit.labels is None else await _change_labels(tx, context, issue, edit.labels)
    change = IssueEdit(state=edit.state, milestone_id=edit.milestone_id, assignees=account_ids)
    edited = await edit_issue(tx, context, issue, change)
    return labeled is not None or _bulk_values(edited) != _bulk_values(issue)


async def _change_labels(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, change: IdsChange
) -> IssueDetails | None:
    """Change the labels of an issue. Return its details, or None if nothing changed."""
    ids = list(change.ids)
    match change.how:
        case "add":
            return await labels.add_to_issue(tx, context, issue, ids, [])
        case "remove":
            return await labels.remove_from_issue(tx, context, issue, ids)
    return await labels.replace_on_issue(tx, context, issue, ids, [])


def _bulk_values(issue: IssueDetails) -> tuple[object, ...]:
    """Return the values that a bulk edit can change, except labels."""
    return issue.state, issue.milestone_id, issue.assignee_ids
