"""The table of activities, and SQL for feeds and heatmaps.

Readers get only activities in repositories and units that they may read now.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Select,
    String,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    false,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    true,
    union,
    update,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import Tx
from ingot_repos.catalog.store.tables import account, metadata, repository, team_grant
from ingot_repos.catalog.store.viewers import LIMITED, NOBODY, PUBLIC, Viewer, ViewerKind, visible
from ingot_repos.social.store.tables import watch

SLOT_SECONDS = 15 * 60
"""Seconds that one entry of a heatmap covers."""
MOST_COUNTED = 5_000
"""Maximum number of entries of a feed that are counted. There may be further pages."""
SWEPT = 1_000
"""Number of rows that one transaction of the sweep reads."""
ALWAYS = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
"""The period of a feed without a date."""

activity = Table(
    "activity",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("actor_id", BigInteger, nullable=False),
    # As in the API: op_type.
    Column("kind", String(30), nullable=False),
    # The unit of the repository that it belongs to; empty: all of them.
    Column("unit", String(10), nullable=False),
    # The number of an issue or pull request, or the id of a release. 0: none.
    Column("subject_id", BigInteger, nullable=False),
    Column("comment_id", BigInteger, nullable=False),
    # A JSON object, see `rules.Details`.
    Column("details", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # `created_at` in units of SLOT_SECONDS, for heatmaps.
    Column("slot", Integer, nullable=False),
    # In the order of the lists.
    Index("ix_activity_of_repository", "repository_id", "created_at", "id"),
    Index("ix_activity_of_actor", "actor_id", "created_at", "id"),
    Index("ix_activity_of_subject", "repository_id", "subject_id"),
    **LASTING_IDS,
)

_COLUMNS = ("repository_id", "actor_id", "kind", "unit", "subject_id", "comment_id", "details", "created_at")
_ACTOR = account.alias("actor")
_UNITS = ("code", "issues", "pulls", "releases")
_SWITCHES = {
    "issues": repository.c.issues_enabled,
    "pulls": repository.c.pulls_enabled,
    "releases": repository.c.releases_enabled,
}
_ORDER = (activity.c.created_at.desc(), activity.c.id.desc())


class NewActivity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity to record. ``details`` is JSON."""

    repository_id: int
    actor_id: int
    kind: str
    unit: str = ""
    subject_id: int = 0
    comment_id: int = 0
    details: str = "{}"


class ActivityRow(TypedRow):
    """An activity with its actor."""

    id: int
    repository_id: int
    actor_id: int
    kind: str
    subject_id: int
    comment_id: int
    details: str
    created_at: datetime
    login: str
    full_name: str
    email: str
    avatar_url: str
    profile: str | None


class _CountedRow(ActivityRow, TotalRow):
    """An activity of a feed, and the number of entries of the feed."""


class SlotRow(TypedRow):
    """The number of activities in a period of SLOT_SECONDS. ``slot`` counts the periods since 1970."""

    slot: int
    contributions: int


class ActivityReader(msgspec.Struct, frozen=True):
    """The reader of activities in SQL. ``units`` has a viewer for each unit.

    ``units`` is empty if the reader has the same access in all units.
    """

    viewer: Viewer
    units: Mapping[str, Viewer] = {}

    @property
    def key(self) -> tuple[ViewerKind, bool]:
        """Return the key of the conditions that apply to this kind of reader."""
        return self.viewer.kind, bool(self.units)

    def values(self) -> dict[str, Any]:
        """Return the parameters of ``_readable``."""
        values = self.viewer.values()
        for unit, viewer in self.units.items():
            values |= viewer.values(unit)
        return values


def _addition() -> PreparedWrite:
    names = [*_COLUMNS, "slot"]
    values = [bindparam(name, type_=activity.c[name].type).label(f"new_{name}") for name in names]
    is_there = repository.c.id == bindparam("repository_id", type_=BigId)
    return PreparedWrite(insert(activity).from_select(names, select(*values).where(is_there)))


_ADD = _addition()


async def add(tx: Tx, new: NewActivity, created_at: datetime) -> None:
    """Record an activity, unless its repository is deleted."""
    slot = int(created_at.timestamp()) // SLOT_SECONDS
    await _ADD.run(tx, **msgspec.structs.asdict(new), created_at=created_at, slot=slot)


async def change_comment(tx: Tx, new: NewActivity) -> None:
    """Replace the details of a comment's activity."""
    await tx.execute(update(activity).where(*_of_comment(new)).values(details=new.details))


async def remove_comment(tx: Tx, new: NewActivity) -> None:
    """Remove the activity of a comment."""
    await tx.execute(delete(activity).where(*_of_comment(new)))


def _of_comment(new: NewActivity) -> tuple[ColumnElement[bool], ...]:
    return (
        activity.c.repository_id == new.repository_id,
        activity.c.subject_id == new.subject_id,
        activity.c.comment_id == new.comment_id,
        activity.c.kind == new.kind,
    )


async def remove_of_subject(tx: Tx, repository_id: int, subject_id: int, units: Sequence[str]) -> None:
    """Remove the activities of an issue, pull request or release."""
    of_subject = activity.c.repository_id == repository_id, activity.c.subject_id == subject_id
    await tx.execute(delete(activity).where(*of_subject, activity.c.unit.in_(units)))


async def remove_of_actor(tx: Tx, actor_id: int) -> None:
    """Remove the activities of a deleted user."""
    await tx.execute(delete(activity).where(activity.c.actor_id == actor_id))


async def remove_older(tx: Tx, until: datetime) -> int:
    """Remove activities before ``until`` among the first SWEPT rows. Return the number of removed rows."""
    first = select(activity.c.id).order_by(activity.c.id).limit(SWEPT)
    removed = delete(activity).where(activity.c.id.in_(first), activity.c.created_at < until)
    return (await tx.execute(removed)).rowcount


def _readable(kind: ViewerKind, *, by_unit: bool) -> ColumnElement[bool]:
    """Return the condition that the reader may read the activity and see its actor."""
    switched_on = [or_(not_(_is_of(unit)), switch.is_(true())) for unit, switch in _SWITCHES.items()]
    return and_(_actor_shown(kind), *switched_on, _by_unit(kind) if by_unit else visible(kind))


def _by_unit(kind: ViewerKind) -> ColumnElement[bool]:
    """Return the condition for a reader whose teams differ by unit. Pull requests also need the code."""
    kind = kind._replace(in_teams=True)
    needs = {unit: [visible(kind, unit)] for unit in _UNITS}
    needs["pulls"] += needs["code"]
    return or_(
        and_(_is_of(""), visible(kind)),
        *(and_(_is_of(unit), *conditions) for unit, conditions in needs.items()),
    )


def _is_of(unit: str) -> ColumnElement[bool]:
    """Return the condition that the activity belongs to ``unit``, as a constant in the statement."""
    return activity.c.unit == literal_column(f"'{unit}'")


def _actor_shown(kind: ViewerKind) -> ColumnElement[bool]:
    """Return the condition that the actor shows their activities to the reader."""
    if kind.restricted:
        kind = NOBODY
    if kind.admin:
        return true()
    levels = [PUBLIC, LIMITED] if kind.signed_in and not kind.granted_only else [PUBLIC]
    shown = and_(_ACTOR.c.hide_activity.is_(false()), _ACTOR.c.visibility.in_(levels))
    return or_(shown, _ACTOR.c.id == bindparam("viewer_id", type_=BigId)) if kind.signed_in else shown


def _of_readers(columns: Select[Any], key: tuple[ViewerKind, bool], *conditions: Any) -> Select[Any]:
    kind, by_unit = key
    statement = columns.join(repository, repository.c.id == activity.c.repository_id)
    statement = statement.join(account, account.c.id == repository.c.owner_id)
    statement = statement.join(_ACTOR, _ACTOR.c.id == activity.c.actor_id)
    return statement.where(*conditions, _readable(kind, by_unit=by_unit))


_PERIOD = (
    activity.c.created_at >= bindparam("since", type_=UtcDateTime),
    activity.c.created_at < bindparam("until", type_=UtcDateTime),
)
_OWN = ("id", "repository_id", "actor_id", "kind", "subject_id", "comment_id", "details", "created_at")
_ROW = (
    *(activity.c[name] for name in _OWN),
    *(_ACTOR.c[name] for name in ("login", "full_name", "email", "avatar_url", "profile")),
)


class Feed:
    """The activities that meet a condition, the latest first.

    Readers get only activities that they may read.
    """

    def __init__(self, condition: ColumnElement[bool]) -> None:
        self._condition = condition
        self._pages: dict[tuple[ViewerKind, bool], PreparedPage[_CountedRow]] = {}

    async def read(
        self,
        db: Executor,
        reader: ActivityReader,
        page: Slice,
        period: tuple[datetime, datetime] = ALWAYS,
        **values: Any,
    ) -> tuple[Sequence[ActivityRow], int]:
        """Return a page of entries, and the number of entries, counted up to MOST_COUNTED."""
        key = reader.key
        if key not in self._pages:
            ids = _of_readers(select(activity.c.id).select_from(activity), key, self._condition, *_PERIOD)
            rows = select(*_ROW).select_from(activity.join(_ACTOR, _ACTOR.c.id == activity.c.actor_id))
            self._pages[key] = PreparedPage(rows, _CountedRow, *_ORDER, ids=ids, count_at_most=MOST_COUNTED)
        since, until = period
        values |= {"since": since, "until": until, **reader.values()}
        return await self._pages[key].read(db, page, **values)


_ACCOUNT = bindparam("account_id", type_=BigId)
OF_REPOSITORY = Feed(activity.c.repository_id == bindparam("repository_id", type_=BigId))
OF_OWNER = Feed(repository.c.owner_id == _ACCOUNT)
OF_TEAM = Feed(
    repository.c.id.in_(
        select(team_grant.c.repository_id).where(team_grant.c.team_id == bindparam("team_id", type_=BigId))
    )
)
BY_ACTOR = Feed(activity.c.actor_id == _ACCOUNT)
RECEIVED = Feed(
    # A union of what two indexes find.
    activity.c.id.in_(
        union(
            select(activity.c.id).where(activity.c.actor_id == _ACCOUNT),
            select(activity.c.id)
            .join(watch, watch.c.repository_id == activity.c.repository_id)
            .where(watch.c.user_id == _ACCOUNT),
        )
    )
)


async def list_slots(
    db: Executor, reader: ActivityReader, actor_id: int, since: datetime
) -> Sequence[SlotRow]:
    """List the numbers of readable activities of a user since ``since``, by time."""
    values = {"account_id": actor_id, "since": since, "until": ALWAYS[1], **reader.values()}
    return await _slots(reader.key).all(db, **values)


@cache
def _slots(key: tuple[ViewerKind, bool]) -> PreparedQuery[SlotRow]:
    number = func.count().label("contributions")
    columns = select(activity.c.slot, number).select_from(activity)
    statement = _of_readers(columns, key, activity.c.actor_id == _ACCOUNT, *_PERIOD)
    return PreparedQuery(statement.group_by(activity.c.slot).order_by(literal_column("slot")), SlotRow)
