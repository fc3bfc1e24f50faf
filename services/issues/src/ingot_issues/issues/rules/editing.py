"""Opening, editing, closing and locking of issues and pull requests."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.issues.events import ChangedText, IssueAction, IssueChanges, IssueDeleted
from ingot_issues.dependencies.rules import refuse_blocked, wake_blocked
from ingot_issues.issues.rules.announcements import announce, announce_opened
from ingot_issues.issues.store import assignees, pins
from ingot_issues.issues.store import details as store
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.labels.rules.repository import list_ids_to_put
from ingot_issues.labels.store import repository as labels
from ingot_issues.milestones import store as milestones
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.fields import clean_title, due
from ingot_issues.records.rules.notices import notify
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import pulls as pull_rows
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import AnyIssue, IssueRow
from ingot_issues.records.store.pulls import Branches
from ingot_issues.records.store.states import State
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.references import rules as references
from ingot_issues.references import store as text_editors
from ingot_issues.references.rules import Reference, Source
from ingot_issues.repositories.rules.announcements import emit
from ingot_issues.repositories.store import counters
from ingot_issues.scheduled_merges import store as scheduled_merges

NOTIFIED: frozenset[IssueAction] = frozenset(["closed", "reopened", "assigned"])
"""Actions that participants are notified of."""


class NewIssue(msgspec.Struct, kw_only=True):
    """The fields of a new issue or pull request. Unknown labels are ignored.

    ``references`` are the references in title and body.
    """

    title: str
    body: str = ""
    assignees: list[int] = []
    milestone_id: int = 0
    labels: list[int] = []
    label_names: list[str] = []
    due_date: datetime | None = None
    ref: str = ""
    references: list[Reference] = []

    @property
    def is_plain(self) -> bool:
        """Return whether the issue has no assignees, milestone or labels."""
        return not (self.assignees or self.milestone_id or self.labels or self.label_names)


class IssueEdit(msgspec.Struct, kw_only=True):
    """The fields to change; None keeps a value. ``milestone_id`` 0 removes the milestone.

    ``references`` are the references in the new title and body. ``content_version`` is the version that the
    editor saw.
    """

    title: str | None = None
    body: str | None = None
    state: State | None = None
    assignees: list[int] | None = None
    milestone_id: int | None = None
    due_date: datetime | None = None
    remove_due_date: bool = False
    ref: str | None = None
    references: list[Reference] = []
    content_version: int | None = None


def refuse_projects(ids: Sequence[int]) -> None:
    """Raise Invalid if a request names projects, which Ingot does not have."""
    if ids:
        raise Invalid.field("projects", "unsupported", "there are no projects")


async def open_issue(
    tx: Tx, context: RepositoryContext, new_issue: NewIssue, *, closed: bool = False
) -> IssueDetails:
    """Open an issue. With ``closed``, close it at once. Raises Invalid, NotFound."""
    issue = await insert_issue(tx, context, new_issue, is_pull=False)
    if new_issue.is_plain:
        announce_opened(tx, context, issue)
    else:
        issue = await announce(tx, context, issue.id, "opened")
    await notify_of_new(tx, context, issue.id, new_issue)
    return await edit_issue(tx, context, issue, IssueEdit(state=State.CLOSED)) if closed else issue


async def notify_of_new(tx: Tx, context: RepositoryContext, issue_id: int, new_issue: NewIssue) -> None:
    """Notify watchers, assignees and mentioned people of a new issue or pull request."""
    may_mention = "@" in f"{new_issue.title}{new_issue.body}"
    if context.repository.watchers_count or new_issue.assignees or may_mention:
        await notify(tx, context, issue_id, is_opened=may_mention)


async def insert_issue(
    tx: Tx, context: RepositoryContext, new_issue: NewIssue, *, is_pull: bool
) -> IssueDetails:
    """Insert an issue. Return its details, which are complete only if the issue ``is_plain``.

    Raises Invalid, and NotFound if the repository was deleted.
    """
    repository_id = context.repository.id
    title = clean_title(new_issue.title)
    number = await counters.take_number(tx, repository_id, is_pull=is_pull)
    if number is None:
        raise NotFound
    milestone_id = new_issue.milestone_id or None
    if milestone_id is not None:
        await _require_milestone(tx, context, milestone_id)
    issue = await store.add(
        tx,
        repository_id=repository_id,
        number=number,
        is_pull=is_pull,
        author_id=context.actor_id,
        title=title,
        body=new_issue.body,
        state=State.OPEN.value,
        milestone_id=milestone_id,
        due_date=due(new_issue.due_date),
        ref=new_issue.ref,
    )
    if milestone_id is not None:
        await milestones.count(tx, milestone_id, open_issues=1)
        details = Details(milestone=milestone_id)
        await context.add_to_timeline(tx, issue.id, CommentKind.MILESTONE, details=details)
    if new_issue.assignees:
        await assignees.replace(tx, issue.id, new_issue.assignees)
        for account_id in new_issue.assignees:
            details = Details(assignee=account_id)
            await context.add_to_timeline(tx, issue.id, CommentKind.ASSIGNEES, details=details)
    if new_issue.labels or new_issue.label_names:
        label_ids = await list_ids_to_put(tx, context.repository, new_issue.labels, new_issue.label_names)
        for label_id in await labels.put_on_issue(tx, issue.id, label_ids):
            await context.add_to_timeline(tx, issue.id, CommentKind.LABEL, "1", Details(label=label_id))
    if new_issue.references:
        source = Source(repository_id=repository_id, issue_id=issue.id, is_pull=is_pull)
        await references.add_all(tx, context, source, new_issue.references)
    return issue


async def edit_issue(tx: Tx, context: RepositoryContext, issue: AnyIssue, edit: IssueEdit) -> IssueDetails:
    """Change an issue or pull request, and announce the changes. Raises Invalid, Conflict or NotFound."""
    await context.lock(tx)
    before = await issue_rows.get_by_id(tx, issue.id)
    if before is None:
        raise NotFound
    if edit.content_version not in (None, before.content_version):
        raise Conflict(
            f"the text has content_version {before.content_version}, not {edit.content_version}; "
            "read it again, then send your change with that"
        )
    values, actions, changes = await _change_text(tx, context, before, edit)
    actions += await _change_milestone(tx, context, before, edit.milestone_id, values)
    await _change_due_date(tx, context, before, edit, values)
    if edit.ref is not None and edit.ref != before.ref:
        values["ref"] = edit.ref
        details = Details(old_ref=before.ref, new_ref=edit.ref)
        await context.add_to_timeline(tx, before.id, CommentKind.REF, details=details)
    if edit.assignees is not None:
        actions += await _change_assignees(tx, context, before, edit.assignees)
    if edit.state is not None and edit.state != before.state:
        actions.append(await _change_state(tx, context, before, edit.state, values))
    if values or actions:
        await issue_rows.change(tx, before.id, values)
    if not NOTIFIED.isdisjoint(actions):
        await notify(tx, context, before.id)
    if "@" in f"{values.get('title', '')}{values.get('body', '')}":
        await notify(tx, context, before.id, is_edited=True)
    return await announce(tx, context, before.id, *actions, changes=changes)


async def delete_issue(tx: Tx, context: RepositoryContext, issue: AnyIssue) -> None:
    """Delete an issue or pull request with all dependent rows, if it still exists.

    Its number is not reused.
    """
    await context.lock(tx)
    before = await issue_rows.get_by_id(tx, issue.id)
    if before is None:
        return
    is_open = before.state == State.OPEN
    if before.milestone_id:
        counted = "open_issues" if is_open else "closed_issues"
        await milestones.count(tx, before.milestone_id, **{counted: -1})
    if is_open:
        await counters.count_open(tx, context.repository.id, -1, is_pull=before.is_pull)
    pinned_ids = await pins.list_ids(tx, context.repository.id, is_pull=before.is_pull)
    if before.id in pinned_ids:
        await pins.replace(tx, pinned_ids, [one for one in pinned_ids if one != before.id])
    pull = await issue_rows.get_pull_by_id(tx, before.id) if before.is_pull else None
    if before.is_pull:
        await pull_heads.add_job(tx, context, before)
    await timeline.remove_of_issue(tx, before.id)
    await issue_rows.remove(tx, before.id)
    await counters.count_deleted(tx, context.repository.id)
    deleted = IssueDeleted(
        repository_id=context.repository.id, number=before.number, pull_id=pull.pull_id if pull else 0
    )
    emit(tx, deleted, context.repository.id)


async def set_lock(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, *, locked: bool, reason: str = ""
) -> None:
    """Lock or unlock the conversation, unless it already is in that state."""
    await context.lock(tx)
    before = await issue_rows.get_by_id(tx, issue.id)
    if before is None or before.locked == locked:
        return
    await issue_rows.change(tx, issue.id, {"locked": locked})
    kind = CommentKind.LOCKED if locked else CommentKind.UNLOCKED
    await context.add_to_timeline(tx, issue.id, kind, reason)
    await announce(tx, context, issue.id, "locked" if locked else "unlocked")


async def _change_text(
    tx: Tx, context: RepositoryContext, before: IssueRow, edit: IssueEdit
) -> tuple[dict[str, object], list[IssueAction], IssueChanges | None]:
    values: dict[str, object] = {}
    former: dict[str, ChangedText] = {}
    title = clean_title(edit.title) if edit.title else before.title
    if title != before.title:
        values["title"], former["title"] = title, ChangedText(before.title)
        details = Details(old_title=before.title, new_title=title)
        await context.add_to_timeline(tx, before.id, CommentKind.TITLE, details=details)
    if edit.body is not None and edit.body != before.body:
        values["body"], former["body"] = edit.body, ChangedText(before.body)
        values["content_version"] = before.content_version + 1
    if not former:
        return values, [], None
    source = Source(repository_id=context.repository.id, issue_id=before.id, is_pull=before.is_pull)
    await text_editors.add(tx, before, context.actor_id)
    writers = await text_editors.list_writers(tx, before) if edit.references else []
    await references.add_all(tx, context, source, edit.references, writers)
    return values, ["edited"], IssueChanges(title=former.get("title"), body=former.get("body"))


async def _change_milestone(
    tx: Tx,
    context: RepositoryContext,
    before: IssueRow,
    milestone_id: int | None,
    values: dict[str, object],
) -> list[IssueAction]:
    former_id = before.milestone_id or 0
    if milestone_id is None or milestone_id == former_id:
        return []
    if milestone_id:
        await _require_milestone(tx, context, milestone_id)
    values["milestone_id"] = milestone_id or None
    counted = "open_issues" if before.state == State.OPEN else "closed_issues"
    if former_id:
        await milestones.count(tx, former_id, **{counted: -1})
    if milestone_id:
        await milestones.count(tx, milestone_id, **{counted: 1})
    details = Details(milestone=milestone_id, old_milestone=former_id)
    await context.add_to_timeline(tx, before.id, CommentKind.MILESTONE, details=details)
    return ["milestoned" if milestone_id else "demilestoned"]


async def _require_milestone(tx: Tx, context: RepositoryContext, milestone_id: int) -> None:
    """Raise Invalid if the repository has no such milestone."""
    if await milestones.get(tx, context.repository.id, milestone_id) is None:
        raise Invalid.field("milestone", "unknown", "is no milestone of the repository")


async def _change_due_date(
    tx: Tx, context: RepositoryContext, before: IssueRow, edit: IssueEdit, values: dict[str, object]
) -> None:
    """Change the due date. The row of the timeline has the new day, the former day, or both."""
    due_date = due(edit.due_date)
    if (due_date is None and not edit.remove_due_date) or due_date == before.due_date:
        return
    values["due_date"] = due_date
    days = [f"{moment:%Y-%m-%d}" for moment in (due_date, before.due_date) if moment is not None]
    if len(days) == 2:
        kind = CommentKind.DUE_DATE_CHANGED
    else:
        kind = CommentKind.DUE_DATE_SET if due_date else CommentKind.DUE_DATE_REMOVED
    await context.add_to_timeline(tx, before.id, kind, "|".join(days))


async def _change_assignees(
    tx: Tx, context: RepositoryContext, before: IssueRow, account_ids: list[int]
) -> list[IssueAction]:
    former_ids = await assignees.list_ids(tx, before.id)
    if former_ids == account_ids:
        return []
    await assignees.replace(tx, before.id, account_ids)
    added = [account_id for account_id in account_ids if account_id not in former_ids]
    removed = [account_id for account_id in former_ids if account_id not in account_ids]
    for account_id in removed:
        details = Details(assignee=account_id, removed=True)
        await context.add_to_timeline(tx, before.id, CommentKind.ASSIGNEES, details=details)
    for account_id in added:
        details = Details(assignee=account_id)
        await context.add_to_timeline(tx, before.id, CommentKind.ASSIGNEES, details=details)
    actions: list[IssueAction] = []
    if removed:
        actions.append("unassigned")
    if added:
        actions.append("assigned")
    return actions


async def refuse_duplicate(tx: Tx, repository_id: int, branches: Branches) -> None:
    """Raise Conflict if a pull request between the same branches is open."""
    number = await pull_rows.get_open_duplicate(tx, repository_id, branches)
    if number is not None:
        raise Conflict(
            f"pull request #{number} between these branches is open; go on there, or close it first"
        )


async def _refuse_reopening(tx: Tx, context: RepositoryContext, before: IssueRow) -> None:
    """Raise Conflict for a merged pull request, or if it has an open duplicate."""
    pull = await issue_rows.get_pull_by_id(tx, before.id)
    if pull is None:
        raise NotFound
    if pull.merged:
        raise Conflict("a merged pull request is not opened again; open a new one for more changes")
    branches = Branches(pull.base_branch, pull.head_repository_id, pull.head_branch)
    await refuse_duplicate(tx, context.repository.id, branches)


async def _change_state(
    tx: Tx, context: RepositoryContext, before: IssueRow, state: State, values: dict[str, object]
) -> IssueAction:
    closing = state == State.CLOSED
    if closing:
        await refuse_blocked(tx, context.repository, before.id)
        await scheduled_merges.remove(tx, before.id)
        await wake_blocked(tx, context.jobs, before.id)
    if before.is_pull and not closing:
        await _refuse_reopening(tx, context, before)
    if before.is_pull:
        await pull_heads.add_job(tx, context, before)
    values |= {"state": state, "closed_at": now() if closing else None}
    kind = CommentKind.CLOSED if closing else CommentKind.REOPENED
    await context.add_to_timeline(tx, before.id, kind)
    # The new milestone of this edit has already counted the issue in its former state.
    milestone_id = values.get("milestone_id", before.milestone_id)
    if isinstance(milestone_id, int):
        await count_in_milestone(tx, milestone_id, closing=closing)
    difference = -1 if closing else 1
    await counters.count_open(tx, context.repository.id, difference, is_pull=before.is_pull)
    return "closed" if closing else "reopened"


async def count_in_milestone(tx: Tx, milestone_id: int, *, closing: bool) -> None:
    """Count a closed or reopened issue in its milestone."""
    difference = -1 if closing else 1
    await milestones.count(tx, milestone_id, open_issues=difference, closed_issues=-difference)
