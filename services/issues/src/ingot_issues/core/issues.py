"""Opening, changing, closing issues; pull requests are changed the same way."""

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.tables import now
from ingot_contracts.issues import ChangedText, Changes, IssueAction
from ingot_issues.core import references
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.site import Site
from ingot_issues.store import comments, labels, milestones, pulls, repositories
from ingot_issues.store import issues as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

TITLE_LENGTH = 255


class Opening(msgspec.Struct, kw_only=True):
    """What a new issue or pull request starts with. Ids that the repository does not have are left out.

    ``references`` are those of title and body.
    """

    title: str
    body: str = ""
    assignees: list[int] = []
    milestone_id: int = 0
    labels: list[int] = []
    label_names: list[str] = []
    due_date: datetime | None = None
    references: list[Reference] = []

    @property
    def has_more(self) -> bool:
        """Whether there is to be anything around the issue from the start."""
        return bool(self.assignees or self.milestone_id or self.labels or self.label_names)


class Edit(msgspec.Struct, kw_only=True):
    """What is to change; what is None stays. ``milestone_id`` 0 takes it off, ``due_date`` may be taken off, too.

    ``references`` are those of title and body as they will be.
    """

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    assignees: list[int] | None = None
    milestone_id: int | None = None
    due_date: datetime | None = None
    no_due_date: bool = False
    references: list[Reference] = []


def clean_title(title: str) -> str:
    """``title`` without space around it. Raises Invalid."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    if len(title) > TITLE_LENGTH:
        raise Invalid.field("title", "length", f"has more than {TITLE_LENGTH} characters")
    return title


def due(moment: datetime | None) -> datetime | None:
    """``moment`` in UTC, if it is one: clients write none as the first or the last year there is."""
    if moment is None or not 1 < moment.year < 9999:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


async def open_issue(tx: Tx, site: Site, opening: Opening, *, closed: bool = False) -> IssueRow:
    """Open an issue, and close it at once if so wanted. Its row."""
    row = await write_opened(tx, site, opening, is_pull=False)
    if opening.has_more:
        row = await site.announce(tx, row.id, "opened")
    else:
        site.tell(tx, row, "opened")
    return await edit(tx, site, row, Edit(state="closed")) if closed else row


async def write_opened(tx: Tx, site: Site, opening: Opening, *, is_pull: bool) -> IssueRow:
    """Insert the issue and what is on it from the start; its row, yet without what is around it."""
    repository_id = site.repository.id
    title = clean_title(opening.title)
    number = await repositories.next_number(tx, repository_id, is_pull=is_pull)
    if number is None:
        raise NotFound
    milestone = (
        await milestones.get(tx, repository_id, opening.milestone_id) if opening.milestone_id else None
    )
    row = await store.add(
        tx,
        repository_id=repository_id,
        number=number,
        is_pull=is_pull,
        author_id=site.actor_id,
        title=title,
        body=opening.body,
        state="open",
        milestone_id=milestone.id if milestone else None,
        due_date=due(opening.due_date),
    )
    if milestone is not None:
        await milestones.count(tx, milestone.id, open_issues=1)
        await site.note(tx, row.id, comments.MILESTONE, details=Details(milestone=milestone.id))
    if opening.assignees:
        await store.set_assignees(tx, row.id, opening.assignees)
        for account_id in opening.assignees:
            await site.note(tx, row.id, comments.ASSIGNEES, details=Details(assignee=account_id))
    if opening.labels or opening.label_names:
        known = await labels.known(tx, repository_id, opening.labels, opening.label_names)
        for label_id in await store.add_labels(tx, row.id, known):
            await site.note(tx, row.id, comments.LABEL, "1", Details(label=label_id))
    source = Source(repository_id=repository_id, issue_id=row.id, is_pull=is_pull)
    await references.note_all(tx, site, source, opening.references)
    return row


async def edit(tx: Tx, site: Site, seen: IssueRow, wanted: Edit) -> IssueRow:
    """Change an issue or pull request and tell what changed; the new row. Raises Invalid or Conflict."""
    await site.enter(tx)
    before = await store.get_by_id(tx, seen.id)
    if before is None:
        raise NotFound
    values, actions, changes = await _change_text(tx, site, before, wanted)
    actions += await _change_milestone(tx, site, before, wanted.milestone_id, values)
    await _change_due_date(tx, site, before, wanted, values)
    if wanted.assignees is not None:
        actions += await _change_assignees(tx, site, before, wanted.assignees)
    if wanted.state is not None and wanted.state != before.state:
        actions.append(await _change_state(tx, site, before, wanted.state, values))
    if values or actions:
        await store.change(tx, before.id, **values)
    return await site.announce(tx, before.id, *actions, changes=changes)


async def set_lock(tx: Tx, site: Site, seen: IssueRow, *, locked: bool, reason: str = "") -> None:
    """Leave the conversation to writers, or open it again; nothing happens when it is so already."""
    await site.enter(tx)
    before = await store.get_by_id(tx, seen.id)
    if before is None or before.locked == locked:
        return
    await store.change(tx, seen.id, locked=locked)
    await site.note(tx, seen.id, comments.LOCKED if locked else comments.UNLOCKED, reason)
    await site.announce(tx, seen.id, "locked" if locked else "unlocked")


async def _change_text(
    tx: Tx, site: Site, before: IssueRow, wanted: Edit
) -> tuple[dict[str, object], list[IssueAction], Changes | None]:
    values: dict[str, object] = {}
    former: dict[str, ChangedText] = {}
    title = clean_title(wanted.title) if wanted.title else before.title
    if title != before.title:
        values["title"], former["title"] = title, ChangedText(before.title)
        renamed = Details(old_title=before.title, new_title=title)
        await site.note(tx, before.id, comments.TITLE, details=renamed)
    if wanted.body is not None and wanted.body != before.body:
        values["body"], former["body"] = wanted.body, ChangedText(before.body)
    if not former:
        return values, [], None
    source = Source(repository_id=site.repository.id, issue_id=before.id, is_pull=before.is_pull)
    await references.note_all(tx, site, source, wanted.references)
    return values, ["edited"], Changes(title=former.get("title"), body=former.get("body"))


async def _change_milestone(
    tx: Tx, site: Site, before: IssueRow, milestone_id: int | None, values: dict[str, object]
) -> list[IssueAction]:
    held = before.milestone_id or 0
    if milestone_id is None or milestone_id == held:
        return []
    if milestone_id and await milestones.get(tx, site.repository.id, milestone_id) is None:
        raise Invalid.field("milestone", "unknown", "is no milestone of the repository")
    values["milestone_id"] = milestone_id or None
    counted = "open_issues" if before.state == "open" else "closed_issues"
    if held:
        await milestones.count(tx, held, **{counted: -1})
    if milestone_id:
        await milestones.count(tx, milestone_id, **{counted: 1})
    moved = Details(milestone=milestone_id, old_milestone=held)
    await site.note(tx, before.id, comments.MILESTONE, details=moved)
    return ["milestoned" if milestone_id else "demilestoned"]


async def _change_due_date(
    tx: Tx, site: Site, before: IssueRow, wanted: Edit, values: dict[str, object]
) -> None:
    """The text of the row in the timeline is the day, after a change also the former one."""
    due_date = due(wanted.due_date)
    if (due_date is None and not wanted.no_due_date) or due_date == before.due_date:
        return
    values["due_date"] = due_date
    days = [f"{moment:%Y-%m-%d}" for moment in (due_date, before.due_date) if moment is not None]
    kind = comments.DUE_CHANGED if len(days) == 2 else comments.DUE_SET if due_date else comments.DUE_UNSET
    await site.note(tx, before.id, kind, "|".join(days))


async def _change_assignees(
    tx: Tx, site: Site, before: IssueRow, account_ids: list[int]
) -> list[IssueAction]:
    held = await store.assignees_of(tx, before.id)
    if held == account_ids:
        return []
    await store.set_assignees(tx, before.id, account_ids)
    added = [account_id for account_id in account_ids if account_id not in held]
    removed = [account_id for account_id in held if account_id not in account_ids]
    for account_id in removed:
        taken = Details(assignee=account_id, removed=True)
        await site.note(tx, before.id, comments.ASSIGNEES, details=taken)
    for account_id in added:
        await site.note(tx, before.id, comments.ASSIGNEES, details=Details(assignee=account_id))
    actions: list[IssueAction] = []
    if removed:
        actions.append("unassigned")
    if added:
        actions.append("assigned")
    return actions


async def refuse_twin(tx: Tx, repository_id: int, branches: Any) -> None:
    """Raises Conflict when a pull request between the same branches is open. ``branches`` has their columns."""
    twin = await pulls.open_twin(
        tx,
        repository_id,
        base_branch=branches.base_branch,
        head_repository_id=branches.head_repository_id,
        head_branch=branches.head_branch,
    )
    if twin is not None:
        raise Conflict(f"pull request #{twin} between these branches is open")


async def _change_state(
    tx: Tx, site: Site, before: IssueRow, state: Literal["open", "closed"], values: dict[str, object]
) -> IssueAction:
    if before.is_pull and before.merged:
        raise Conflict("a merged pull request stays closed")
    closing = state == "closed"
    if before.is_pull and not closing:
        await refuse_twin(tx, site.repository.id, before)
    values |= {"state": state, "closed_at": now() if closing else None}
    await site.note(tx, before.id, comments.CLOSED if closing else comments.REOPENED)
    # What edit has put it into counts, else what it was in.
    await count_in_milestone(tx, values.get("milestone_id", before.milestone_id), closing=closing)
    more = -1 if closing else 1
    await repositories.count_open(tx, site.repository.id, more, is_pull=before.is_pull)
    return "closed" if closing else "reopened"


async def count_in_milestone(tx: Tx, milestone_id: Any, *, closing: bool) -> None:
    """An issue of the milestone was closed, or opened again."""
    if milestone_id:
        more = -1 if closing else 1
        await milestones.count(tx, milestone_id, open_issues=more, closed_issues=-more)
