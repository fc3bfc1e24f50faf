"""Opening, changing, closing issues; pull requests are changed the same way."""

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict, Invalid
from ingot_chassis.tables import now
from ingot_contracts.issues import ChangedText, Changes, IssueAction
from ingot_issues.core.site import Site
from ingot_issues.store import comments, labels, milestones, pulls, repositories
from ingot_issues.store import issues as store
from ingot_issues.store.issues import IssueRow

TITLE_LENGTH = 255


class Opening(msgspec.Struct, kw_only=True):
    """What a new issue or pull request starts with. Ids that the repository does not have are left out."""

    title: str
    body: str = ""
    assignees: list[int] = []
    milestone_id: int = 0
    labels: list[int] = []
    label_names: list[str] = []
    due_date: datetime | None = None


class Edit(msgspec.Struct, kw_only=True):
    """What is to change; what is None stays. ``milestone_id`` 0 takes it off, ``due_date`` may be taken off, too."""

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    assignees: list[int] | None = None
    milestone_id: int | None = None
    due_date: datetime | None = None
    no_due_date: bool = False


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
    await site.enter(tx)
    number = await repositories.next_number(tx, site.repository.id)
    issue_id = await write_opened(tx, site, opening, number=number, is_pull=False)
    await site.count_open(tx, 1, is_pull=False)
    row = await site.announce(tx, issue_id, "opened")
    return await edit(tx, site, row, Edit(state="closed")) if closed else row


async def write_opened(tx: Tx, site: Site, opening: Opening, *, number: int, is_pull: bool) -> int:
    """Insert the issue and what is on it from the start; its id."""
    repository_id = site.repository.id
    milestone = (
        await milestones.get(tx, repository_id, opening.milestone_id) if opening.milestone_id else None
    )
    issue_id = await store.add(
        tx,
        repository_id=repository_id,
        number=number,
        is_pull=is_pull,
        author_id=site.actor_id,
        title=clean_title(opening.title),
        body=opening.body,
        state="open",
        milestone_id=milestone.id if milestone else None,
        due_date=due(opening.due_date),
    )
    if opening.assignees:
        await store.set_assignees(tx, issue_id, opening.assignees)
    if opening.labels or opening.label_names:
        known = await labels.known(tx, repository_id, opening.labels, opening.label_names)
        await store.add_labels(tx, issue_id, known)
    return issue_id


async def edit(tx: Tx, site: Site, seen: IssueRow, wanted: Edit) -> IssueRow:
    """Change an issue or pull request and tell what changed; the new row. Raises Invalid or Conflict."""
    await site.enter(tx)
    before = await store.get_by_id(tx, seen.id) or seen
    values, actions, changes = _text_changes(before, wanted)
    actions += await _change_milestone(tx, site, before, wanted.milestone_id, values)
    due_date = due(wanted.due_date)
    if due_date or wanted.no_due_date:
        values["due_date"] = due_date
    if wanted.assignees is not None:
        actions += await _change_assignees(tx, before, wanted.assignees)
    if wanted.state is not None and wanted.state != before.state:
        actions.append(await _change_state(tx, site, before, wanted.state, values))
    if values or actions:
        await store.change(tx, before.id, **values)
    return await site.announce(tx, before.id, *actions, changes=changes)


def _text_changes(
    before: IssueRow, wanted: Edit
) -> tuple[dict[str, object], list[IssueAction], Changes | None]:
    values: dict[str, object] = {}
    former: dict[str, ChangedText] = {}
    title = clean_title(wanted.title) if wanted.title else before.title
    if title != before.title:
        values["title"], former["title"] = title, ChangedText(before.title)
    if wanted.body is not None and wanted.body != before.body:
        values["body"], former["body"] = wanted.body, ChangedText(before.body)
    if not former:
        return values, [], None
    return values, ["edited"], Changes(title=former.get("title"), body=former.get("body"))


async def _change_milestone(
    tx: Tx, site: Site, before: IssueRow, milestone_id: int | None, values: dict[str, object]
) -> list[IssueAction]:
    if milestone_id is None or milestone_id == (before.milestone_id or 0):
        return []
    if milestone_id == 0:
        values["milestone_id"] = None
        return ["demilestoned"]
    if await milestones.get(tx, site.repository.id, milestone_id) is None:
        raise Invalid.field("milestone", "unknown", "is no milestone of the repository")
    values["milestone_id"] = milestone_id
    return ["milestoned"]


async def _change_assignees(tx: Tx, before: IssueRow, account_ids: list[int]) -> list[IssueAction]:
    held = await store.assignees_of(tx, before.id)
    if held == account_ids:
        return []
    await store.set_assignees(tx, before.id, account_ids)
    added, removed = set(account_ids) - set(held), set(held) - set(account_ids)
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
    await comments.add(
        tx,
        repository_id=site.repository.id,
        issue_id=before.id,
        author_id=site.actor_id,
        body="",
        kind=comments.CLOSED if closing else comments.REOPENED,
    )
    await site.count_open(tx, -1 if closing else 1, is_pull=before.is_pull)
    return "closed" if closing else "reopened"
