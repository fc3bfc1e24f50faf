"""The audit log of a service: actor, action, subject and origin of each entry.

An entry is written in the transaction of its action, and logged after the commit. Entries contain no secrets:
callers pass names, never contents. A service with an audit log adds ``audit_table`` to its tables.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
import structlog
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    select,
    true,
    union_all,
)

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import Tx
from ingot_chassis.operations import AuditEntry, Detail
from ingot_chassis.telemetry import request_id

log = structlog.get_logger()

TABLE = "audit_entry"


class Actor(NamedTuple):
    """The person who acts. ``id`` 0 is an unknown person.

    ``sudo_by`` is the administrator who acts as this person.
    """

    id: int = 0
    login: str = ""
    via: str = ""
    sudo_by: str = ""
    address: str = ""


OPERATOR = Actor(login="(operator)", via="command")
"""The actor of the command line and of settings. No account can have that name."""


class AuditRow(TypedRow):
    id: str
    created_at: datetime
    action: str
    subject: str
    details: str
    actor_id: int
    actor: str
    sudo_by: str
    via: str
    address: str
    request_id: str


def _columns() -> list[Column[object]]:
    return [
        Column("id", String(24), primary_key=True),
        Column("created_at", UtcDateTime, nullable=False),
        Column("action", String(60), nullable=False),
        Column("subject", Text, nullable=False),
        # A JSON object.
        Column("details", Text, nullable=False),
        Column("actor_id", BigInteger, nullable=False),
        Column("actor", String(40), nullable=False),
        Column("sudo_by", String(40), nullable=False),
        Column("via", String(10), nullable=False),
        Column("address", String(64), nullable=False),
        Column("request_id", String(64), nullable=False),
    ]


def audit_table(metadata: MetaData) -> None:
    """Add the table of the audit log to ``metadata``."""
    Table(
        TABLE,
        metadata,
        *_columns(),
        Index("ix_audit_entry_actor", "actor", "id"),
        Index("ix_audit_entry_action", "action", "id"),
        Index("ix_audit_entry_actor_action", "actor", "action", "id"),
    )


_entries = Table(TABLE, MetaData(), *_columns())
_INSERT = PreparedWrite(_entries.insert().values({one.name: bindparam(one.name) for one in _columns()}))


async def add_entry(tx: Tx, actor: Actor, action: str, subject: str, details: Mapping[str, Detail]) -> None:
    """Record that ``actor`` did ``action`` to ``subject``."""
    time = now()
    values = {
        "id": _first_id(time) + secrets.token_hex(5),
        "created_at": time,
        "action": action,
        "subject": subject,
        "details": msgspec.json.encode(details).decode(),
        "actor_id": actor.id,
        "actor": actor.login,
        "sudo_by": actor.sudo_by,
        "via": actor.via,
        "address": actor.address[:64],
        "request_id": request_id()[:64],
    }
    await _INSERT.run(tx, **values)
    tx.on_commit(lambda: log.info("audit", **{**values, "created_at": str(time)}))


async def list_entries(
    db: Executor, *, service: str, limit: int, before: str = "", actor: str = "", action: str = ""
) -> list[AuditEntry]:
    """Return the latest ``limit`` entries, newest first.

    Optional filters: ids below ``before``, the ``actor``, and a prefix of the ``action``.
    """
    of_actor = _entries.c.actor == actor if actor else true()
    newest = select(_entries.c.id).where(of_actor, _entries.c.id < before if before else true())
    candidates = [newest.order_by(_entries.c.id.desc()).limit(limit)]
    if action:  # an index has the newest entries of each action, but not of several actions in order
        actions = [one for one in await _list_actions(db, of_actor) if one.startswith(action)]
        candidates = [candidates[0].where(_entries.c.action == one) for one in actions]
    if not candidates:
        return []
    ids = union_all(*(select(each.subquery().c.id) for each in candidates))
    statement = select(_entries).where(_entries.c.id.in_(ids)).order_by(_entries.c.id.desc()).limit(limit)
    return [_entry(row, service) for row in await fetch_all(db, statement, AuditRow)]


async def _list_actions(db: Executor, of_actor: ColumnElement[bool]) -> Sequence[str]:
    """Return the distinct actions of all entries, or of one actor. Each is found by an index lookup."""
    first = select(func.min(_entries.c.action).label("action")).where(of_actor).cte("step", recursive=True)
    following = select(func.min(_entries.c.action)).where(of_actor, _entries.c.action > first.c.action)
    steps = first.union_all(select(following.scalar_subquery()).where(first.c.action.is_not(None)))
    return (await db.execute(select(steps.c.action).where(steps.c.action.is_not(None)))).scalars().all()


async def delete_entries(database: Database, *, older_than: timedelta) -> None:
    """Delete entries older than ``older_than``."""
    async with database.transaction() as tx:
        await tx.execute(delete(_entries).where(_entries.c.id < _first_id(now() - older_than)))


def _first_id(time: datetime) -> str:
    """Return the smallest id of an entry of that time: its microseconds in hexadecimal digits."""
    return f"{int((time - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1)):014x}"


def _entry(row: AuditRow, service: str) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        created_at=row.created_at.replace(microsecond=0),
        service=service,
        action=row.action,
        subject=row.subject,
        details=msgspec.json.decode(row.details),
        actor_id=row.actor_id,
        actor=row.actor,
        sudo_by=row.sudo_by,
        via=row.via,
        address=row.address,
        request_id=row.request_id,
    )
