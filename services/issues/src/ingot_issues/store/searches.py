"""SQL for lists of issues and pull requests."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Integer, Select, bindparam, func, or_, select

from ingot_chassis.database import Executor
from ingot_chassis.lookup import Lookup
from ingot_chassis.paging import Page
from ingot_chassis.tables import BigId
from ingot_issues.store import milestones
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.surroundings import WHOLE, Whole
from ingot_issues.store.tables import account, assignee, counter, issue, issue_label, label

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


@lru_cache(maxsize=64)
def _listed(is_pull: bool | None, state: str, sort: str) -> tuple[Select[Any], Lookup]:
    """The page of ids of a list, and what is read for such ids; built once, as building costs more than running.

    The page is cut before anything is joined to it.
    """
    where: list[ColumnElement[bool]] = [issue.c.repository_id == bindparam("repository_id", type_=BigId)]
    if is_pull is not None:
        where.append(issue.c.is_pull.is_(is_pull))
    if state != "all":
        where.append(issue.c.state == bindparam("state"))
    ids = select(issue.c.id).where(*where).order_by(*SORTS[sort])
    page = ids.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=BigId))
    with_total = WHOLE.add_columns(_KEPT_TOTAL[state].scalar_subquery().label("total"))
    return page, Lookup(with_total.where(issue.c.id.in_(page)).order_by(*SORTS[sort]))


async def search(db: Executor, repository_id: int, wanted: Wanted, page: Page) -> tuple[list[IssueRow], int]:
    """A page of the issues of a repository with their surroundings, and how many there are in all."""
    where = _where(repository_id, wanted)
    given = {
        "repository_id": repository_id,
        "state": wanted.state,
        "limit": page.limit,
        "offset": page.offset,
        "viewer": 0,
    }
    sort = wanted.sort if wanted.sort in SORTS else "newest"
    ids, listed = _listed(wanted.is_pull, wanted.state, sort)
    if where:
        filtered = WHOLE.where(issue.c.id.in_(ids.where(*where))).order_by(*SORTS[sort])
        found = (await db.execute(filtered, given)).all()
    else:
        found = await listed.all(db, **given)
    rows = [Whole(*row) for row in found]
    if where or wanted.is_pull is not None:
        total = (await db.execute(_counted(repository_id, wanted, where))).scalar()
    elif rows:
        total = rows[0].total
    else:
        total = (await db.execute(_KEPT_TOTAL[wanted.state], {"repository_id": repository_id})).scalar()
    return rows, int(total or 0)


_KEPT_TOTAL = {
    state: select(number).where(counter.c.repository_id == bindparam("repository_id", type_=BigId))
    for state, number in {
        "open": counter.c.open_issues + counter.c.open_pulls,
        "closed": counter.c.last_number - counter.c.open_issues - counter.c.open_pulls,
        "all": counter.c.last_number,
    }.items()
}
"""Every number that was given is an issue for ever, so these need no counting."""


def _counted(repository_id: int, wanted: Wanted, where: list[ColumnElement[bool]]) -> Select[Any]:
    statement = select(func.count()).select_from(issue).where(issue.c.repository_id == repository_id, *where)
    if wanted.is_pull is not None:
        statement = statement.where(issue.c.is_pull == wanted.is_pull)
    return statement if wanted.state == "all" else statement.where(issue.c.state == wanted.state)


def _where(repository_id: int, wanted: Wanted) -> list[ColumnElement[bool]]:
    """What is asked for beside state and kind."""
    where: list[ColumnElement[bool]] = []
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
    if not wanted.label_names and not wanted.label_ids:
        return []
    on_it = select(issue_label.c.issue_id).join(label, label.c.id == issue_label.c.label_id)
    own = label.c.repository_id == repository_id
    where: list[ColumnElement[bool]] = []
    if wanted.label_names:
        name, names = func.lower(label.c.name), {name.lower() for name in wanted.label_names}
        named = on_it.where(own, name.in_(sorted(names))).group_by(issue_label.c.issue_id)
        where.append(issue.c.id.in_(named.having(func.count(name.distinct()) == len(names))))
    if wanted.label_ids:
        where.append(issue.c.id.in_(on_it.where(own, label.c.id.in_(wanted.label_ids))))
    return where


def _in_milestone(repository_id: int, wanted: Wanted) -> list[ColumnElement[bool]]:
    if not wanted.milestone_ids and not wanted.milestone_titles:
        return []
    found = milestones.ids_of(repository_id, wanted.milestone_ids, wanted.milestone_titles)
    return [issue.c.milestone_id.in_(found)]
