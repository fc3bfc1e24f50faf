"""SQL for issues and for what surrounds them in their views."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Row, Select, delete, func, or_, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_contracts.repos import Repository
from ingot_issues.store import milestones
from ingot_issues.store.tables import account, assignee, issue, issue_label, label, pull, repository

IssueRow = Row[Any]

SORTS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "newest": (issue.c.number.desc(),),
    "oldest": (issue.c.number.asc(),),
    "recentupdate": (issue.c.updated_at.desc(), issue.c.id.desc()),
    "leastupdate": (issue.c.updated_at.asc(), issue.c.id.asc()),
    "mostcomment": (issue.c.comments.desc(), issue.c.id.desc()),
    "leastcomment": (issue.c.comments.asc(), issue.c.id.desc()),
}


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which issues of a repository a list shows: with all of the named labels and any of the numbered ones.

    An empty value of a field does not filter.
    """

    is_pull: bool | None = None
    state: Literal["open", "closed", "all"] = "open"
    label_names: Sequence[str] = ()
    label_ids: Sequence[int] = ()
    milestone_ids: Sequence[int] = ()
    milestone_titles: Sequence[str] = ()
    text: str = ""
    since: datetime | None = None
    before: datetime | None = None
    created_by: str = ""
    assigned_by: str = ""
    sort: str = "newest"


@dataclass
class Surroundings:
    """Rows that views of some issues need beside the issues' own, by id."""

    labels: dict[int, list[Row[Any]]] = field(default_factory=dict)
    assignees: dict[int, list[int]] = field(default_factory=dict)
    milestones: dict[int, Row[Any]] = field(default_factory=dict)
    accounts: dict[int, Row[Any]] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)


def _issues() -> Select[Any]:
    """Issues, each with its pull request if it is one."""
    pull_columns = [column for column in pull.c if column.name not in ("id", "issue_id")]
    return select(issue, pull.c.id.label("pull_id"), *pull_columns).outerjoin(
        pull, pull.c.issue_id == issue.c.id
    )


async def add(db: Executor, **values: Any) -> int:
    """Insert an issue; its id."""
    values |= {"created_at": now(), "updated_at": now()}
    return int((await db.execute(issue.insert().values(values).returning(issue.c.id))).scalar_one())


async def get(db: Executor, repository_id: int, number: int) -> IssueRow | None:
    statement = _issues().where(issue.c.repository_id == repository_id, issue.c.number == number)
    return (await db.execute(statement)).first()


async def get_by_id(db: Executor, issue_id: int) -> IssueRow | None:
    return (await db.execute(_issues().where(issue.c.id == issue_id))).first()


async def change(db: Executor, issue_id: int, **values: Any) -> None:
    """Update an issue, and when it was last updated."""
    await db.execute(update(issue).where(issue.c.id == issue_id).values(updated_at=now(), **values))


async def count_comments(db: Executor, issue_id: int, more: int) -> None:
    await change(db, issue_id, comments=issue.c.comments + more)


async def set_assignees(db: Executor, issue_id: int, account_ids: Sequence[int]) -> None:
    await db.execute(delete(assignee).where(assignee.c.issue_id == issue_id))
    if account_ids:
        rows = [
            {"issue_id": issue_id, "account_id": account_id, "position": position}
            for position, account_id in enumerate(dict.fromkeys(account_ids))
        ]
        await db.execute(assignee.insert(), rows)


async def assignees_of(db: Executor, issue_id: int) -> list[int]:
    statement = select(assignee.c.account_id).where(assignee.c.issue_id == issue_id)
    return list((await db.execute(statement.order_by(assignee.c.position))).scalars())


async def add_labels(db: Executor, issue_id: int, label_ids: Sequence[int]) -> int:
    """Put labels on an issue; how many were not on it."""
    if not label_ids:
        return 0
    rows = [{"issue_id": issue_id, "label_id": label_id} for label_id in label_ids]
    statement = insert(db, issue_label).values(rows).on_conflict_do_nothing()
    return int((await db.execute(statement)).rowcount)


async def remove_labels(db: Executor, issue_id: int, label_ids: Sequence[int] | None = None) -> int:
    """Take labels, or all, off an issue; how many were on it."""
    statement = delete(issue_label).where(issue_label.c.issue_id == issue_id)
    if label_ids is not None:
        statement = statement.where(issue_label.c.label_id.in_(label_ids))
    return int((await db.execute(statement)).rowcount)


async def search(db: Executor, repository_id: int, wanted: Wanted, page: Page) -> tuple[list[IssueRow], int]:
    """A page of the issues of a repository, and how many there are in all."""
    where = _where(repository_id, wanted)
    rows = await db.execute(
        _issues()
        .where(*where)
        .order_by(*SORTS.get(wanted.sort, SORTS["newest"]))
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(issue).where(*where))
    return list(rows.all()), int(total.scalar_one())


def _where(repository_id: int, wanted: Wanted) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [issue.c.repository_id == repository_id]
    if wanted.is_pull is not None:
        where.append(issue.c.is_pull == wanted.is_pull)
    if wanted.state != "all":
        where.append(issue.c.state == wanted.state)
    if wanted.text:
        pattern = wanted.text.lower()
        where.append(
            or_(
                func.lower(issue.c.title).contains(pattern, autoescape=True),
                func.lower(issue.c.body).contains(pattern, autoescape=True),
            )
        )
    if wanted.since:
        where.append(issue.c.updated_at >= wanted.since)
    if wanted.before:
        where.append(issue.c.updated_at <= wanted.before)
    if wanted.created_by:
        where.append(issue.c.author_id.in_(_account_named(wanted.created_by)))
    if wanted.assigned_by:
        assigned = assignee.c.account_id.in_(_account_named(wanted.assigned_by))
        where.append(issue.c.id.in_(select(assignee.c.issue_id).where(assigned)))
    return [*where, *_labelled(repository_id, wanted), *_in_milestone(repository_id, wanted)]


def _account_named(login: str) -> Select[Any]:
    return select(account.c.id).where(account.c.lower_login == login.lower())


def _labelled(repository_id: int, wanted: Wanted) -> list[ColumnElement[bool]]:
    """On it: every one of the named labels, and any one of the numbered ones."""
    on_it = select(issue_label.c.issue_id).join(label, label.c.id == issue_label.c.label_id)
    own = label.c.repository_id == repository_id
    where: list[ColumnElement[bool]] = [
        issue.c.id.in_(on_it.where(own, func.lower(label.c.name) == name.lower()))
        for name in wanted.label_names
    ]
    if wanted.label_ids:
        where.append(issue.c.id.in_(on_it.where(own, label.c.id.in_(wanted.label_ids))))
    return where


def _in_milestone(repository_id: int, wanted: Wanted) -> list[ColumnElement[bool]]:
    if not wanted.milestone_ids and not wanted.milestone_titles:
        return []
    found = milestones.ids_of(repository_id, wanted.milestone_ids, wanted.milestone_titles)
    return [issue.c.milestone_id.in_(found)]


async def surroundings(db: Executor, rows: Sequence[IssueRow], *people: int) -> Surroundings:
    """What the views of ``rows`` need, in a number of statements that does not depend on theirs.

    ``people`` are more accounts that are shown.
    """
    around = Surroundings()
    ids = [row.id for row in rows]
    if ids:
        around.labels = await labels_of(db, ids)
        around.assignees = await _assignees(db, ids)
        wanted = {row.milestone_id for row in rows if row.milestone_id}
        if wanted:
            around.milestones = {row.id: row for row in await milestones.get_many(db, wanted)}
        heads = {row.head_repository_id for row in rows if row.pull_id} - {row.repository_id for row in rows}
        if heads:
            found = await db.execute(select(repository.c.view).where(repository.c.id.in_(heads)))
            views = [msgspec.json.decode(view, type=Repository) for view in found.scalars()]
            around.repositories = {view.id: view for view in views}
    shown = {*people, *(row.author_id for row in rows), *(row.merged_by for row in rows if row.merged_by)}
    shown.update(*around.assignees.values())
    if shown:
        accounts = await db.execute(select(account).where(account.c.id.in_(shown)))
        around.accounts = {row.id: row for row in accounts}
    return around


async def labels_of(db: Executor, issue_ids: Sequence[int]) -> dict[int, list[Row[Any]]]:
    """Issue id -> its labels by name."""
    statement = (
        select(issue_label.c.issue_id, label)
        .join(label, label.c.id == issue_label.c.label_id)
        .where(issue_label.c.issue_id.in_(issue_ids))
        .order_by(func.lower(label.c.name), label.c.id)
    )
    found: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in await db.execute(statement):
        found[row.issue_id].append(row)
    return found


async def _assignees(db: Executor, issue_ids: Sequence[int]) -> dict[int, list[int]]:
    statement = (
        select(assignee.c.issue_id, assignee.c.account_id)
        .where(assignee.c.issue_id.in_(issue_ids))
        .order_by(assignee.c.position)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for row in await db.execute(statement):
        found[row.issue_id].append(row.account_id)
    return found
