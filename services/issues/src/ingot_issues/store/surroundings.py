"""Issues with all that is shown of them, read in one statement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Row, Select, Text, and_, bindparam, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ingot_chassis.database import Executor
from ingot_chassis.tables import BigId
from ingot_contracts.repos import Repository
from ingot_issues.store.tables import (
    account,
    assignee,
    issue,
    issue_label,
    label,
    milestone,
    pull,
    repository,
)


class Person(NamedTuple):
    """An account, as far as others see it."""

    id: int
    login: str
    full_name: str
    email: str
    avatar_url: str


class ShownLabel(NamedTuple):
    """A label on an issue."""

    id: int
    name: str
    color: str


class ShownMilestone(NamedTuple):
    """A milestone that an issue is in."""

    id: int
    title: str
    description: str
    state: str
    due_on: datetime | None
    closed_at: datetime | None
    open_issues: int
    closed_issues: int


@dataclass
class Surroundings:
    """What the views of some issues need beside the issues' own rows, by id."""

    labels: dict[int, Sequence[ShownLabel]] = field(default_factory=dict)
    assignees: dict[int, list[int]] = field(default_factory=dict)
    milestones: dict[int, ShownMilestone] = field(default_factory=dict)
    accounts: dict[int, Person] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "Surroundings":
        """Of rows of `Whole`."""
        around = cls()
        for row in rows:
            around._add(row)
        return around

    def _add(self, row: Any) -> None:
        self._show(
            row.author_id, row.author_login, row.author_full_name, row.author_email, row.author_avatar_url
        )
        self._show(
            row.merged_by, row.merger_login, row.merger_full_name, row.merger_email, row.merger_avatar_url
        )
        self._show(
            row.viewer_id, row.viewer_login, row.viewer_full_name, row.viewer_email, row.viewer_avatar_url
        )
        if row.labelled != "[]":
            self.labels[row.id] = _labels(row.labelled)
        if row.assigned != "[]":
            assigned = _assigned(row.assigned)
            self.assignees[row.id] = [one.id for one in assigned]
            for one in assigned:
                self._show(one.id, one.login, one.full_name, one.email, one.avatar_url)
        if row.milestone_id and row.milestone_title is not None:
            self.milestones[row.milestone_id] = ShownMilestone(
                row.milestone_id,
                row.milestone_title,
                row.milestone_description,
                row.milestone_state,
                row.milestone_due_on,
                row.milestone_closed_at,
                row.milestone_open_issues,
                row.milestone_closed_issues,
            )
        if row.head_view is not None:
            head = _repository(row.head_view)
            self.repositories[head.id] = head

    def _show(self, account_id: int, login: str | None, *more: Any) -> None:
        """Unless the account is deleted."""
        if login is not None:
            self.accounts[account_id] = Person(account_id, login, *more)


class _Assigned(NamedTuple):
    """An assignee; without a name when the account is deleted."""

    position: int
    id: int
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None


class _Rows(FunctionElement[str]):
    """The rows of a subquery as the text of one JSON array of arrays."""

    inherit_cache = True
    type = Text()


@compiles(_Rows, "postgresql")
def _rows_of_postgresql(element: _Rows, compiler: Any, **options: Any) -> str:
    columns = compiler.process(element.clauses, **options)
    return f"CAST(coalesce(json_agg(json_build_array({columns})), '[]') AS TEXT)"


@compiles(_Rows, "sqlite")
def _rows_of_sqlite(element: _Rows, compiler: Any, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"


_LABELS = msgspec.json.Decoder(list[ShownLabel])
_ASSIGNED = msgspec.json.Decoder(list[_Assigned])
KEPT = 512
"""Texts whose meaning is kept: many issues of a list have the same people and labels around them."""


@lru_cache(KEPT)
def _labels(text: str) -> tuple[ShownLabel, ...]:
    """By name."""
    return tuple(sorted(_LABELS.decode(text), key=lambda found: (found.name.lower(), found.id)))


@lru_cache(KEPT)
def _repository(view: bytes) -> Repository:
    return msgspec.json.decode(view, type=Repository)


@lru_cache(KEPT)
def _assigned(text: str) -> tuple[_Assigned, ...]:
    """In the order they were named."""
    return tuple(sorted(_ASSIGNED.decode(text)))


_PERSON = (account.c.id, account.c.login, account.c.full_name, account.c.email, account.c.avatar_url)


def _whole() -> Select[Any]:
    head = repository.alias("head")
    author, merger, viewer = account.alias("author"), account.alias("merger"), account.alias("viewer")
    labels = (
        select(_Rows(label.c.id, label.c.name, label.c.color))
        .select_from(issue_label.join(label, label.c.id == issue_label.c.label_id))
        .where(issue_label.c.issue_id == issue.c.id)
        .correlate(issue)
        .scalar_subquery()
    )
    assigned = (
        select(_Rows(assignee.c.position, assignee.c.account_id, *_PERSON[1:]))
        .select_from(assignee.outerjoin(account, account.c.id == assignee.c.account_id))
        .where(assignee.c.issue_id == issue.c.id)
        .correlate(issue)
        .scalar_subquery()
    )
    return (
        select(
            issue,
            pull.c.id.label("pull_id"),
            *(column for column in pull.c if column.name not in ("id", "issue_id")),
            *(
                milestone.c[name].label(f"milestone_{name}")
                for name in ShownMilestone._fields
                if name != "id"
            ),
            head.c.view.label("head_view"),
            labels.label("labelled"),
            assigned.label("assigned"),
            viewer.c.id.label("viewer_id"),
            *(
                person.c[name].label(f"{person.name}_{name}")
                for person in (author, merger, viewer)
                for name in Person._fields
                if name != "id"
            ),
        )
        .outerjoin(pull, pull.c.issue_id == issue.c.id)
        .outerjoin(author, author.c.id == issue.c.author_id)
        .outerjoin(merger, merger.c.id == pull.c.merged_by)
        .outerjoin(viewer, viewer.c.id == bindparam("viewer", 0, type_=BigId))
        .outerjoin(milestone, milestone.c.id == issue.c.milestone_id)
        .outerjoin(head, and_(head.c.id == pull.c.head_repository_id, head.c.id != issue.c.repository_id))
    )


WHOLE = _whole()
"""Issues with their surroundings; the parameter ``viewer`` is one more account that is shown."""

Whole: Any = msgspec.defstruct(
    "Whole",
    [(str(column.name), Any, None) for column in WHOLE.selected_columns] + [("total", int, 0)],
    frozen=True,
    gc=False,
)
"""A row of it, made as ``Whole(*row)``: views read each column, a struct gives it fastest. Lists add the ``total``."""


async def people(db: Executor, ids: Iterable[int]) -> Surroundings:
    """Accounts alone."""
    wanted = sorted(set(ids))
    if not wanted:
        return Surroundings()
    found = await db.execute(_PEOPLE, {"ids": wanted})
    return Surroundings(accounts={row.id: Person._make(row) for row in found})


_PEOPLE = select(*_PERSON).where(account.c.id.in_(bindparam("ids", expanding=True)))


NEW = (
    issue.c.id,
    select(_Rows(*_PERSON)).where(account.c.id == bindparam("author", type_=BigId)).scalar_subquery(),
)
"""What the INSERT of an issue gives back for ``newly``; the parameter ``author`` is its author once more."""


def newly(added: Any, values: dict[str, Any]) -> Any:
    """The `Whole` of an issue that was inserted with these values, with nobody around it but its author."""
    issue_id, text = added
    shown = {
        f"author_{name}": value
        for author in msgspec.json.decode(text, type=list[Person])
        for name, value in author._asdict().items()
        if name != "id"
    }
    return Whole(**values, **shown, id=issue_id, comments=0, locked=False, labelled="[]", assigned="[]")


async def labels_of(db: Executor, issue_id: int) -> Sequence[Row[Any]]:
    """The labels on an issue by name."""
    statement = select(label).join(issue_label, issue_label.c.label_id == label.c.id)
    rows = (await db.execute(statement.where(issue_label.c.issue_id == issue_id))).all()
    return sorted(rows, key=lambda row: (row.name.lower(), row.id))
