"""SQL for pending transfers, neither accepted nor rejected. A repository has at most one."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import and_, delete, or_, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_count, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import account, repository, transfer


class TransferRow(TypedRow):
    """A pending transfer. ``team_ids`` is a JSON list."""

    repository_id: int
    sender_id: int
    recipient_id: int
    team_ids: str
    created_at: datetime


class OfferRow(TypedRow):
    """A transfer with the name of its repository."""

    name: str
    owner_login: str
    sender_id: int
    recipient_id: int
    created_at: datetime


def teams_of(row: TransferRow) -> list[int]:
    """Return the ids of the new owner's teams that get the repository."""
    return msgspec.json.decode(row.team_ids, type=list[int])


async def add(
    db: Executor, repository_id: int, *, sender_id: int, recipient_id: int, team_ids: Sequence[int]
) -> bool:
    """Record a transfer. Return False if another transfer is pending."""
    values = {
        "repository_id": repository_id,
        "sender_id": sender_id,
        "recipient_id": recipient_id,
        "team_ids": msgspec.json.encode(team_ids).decode(),
        "created_at": now(),
    }
    added = await db.execute(insert(db, transfer).values(values).on_conflict_do_nothing())
    return added.rowcount == 1


async def get(db: Executor, repository_id: int) -> TransferRow | None:
    statement = select(transfer).where(transfer.c.repository_id == repository_id)
    return await fetch_first(db, statement, TransferRow)


async def list_latest(
    db: Executor, recipient_ids: Collection[int], most: int, *, but: Collection[tuple[int, int]] = ()
) -> tuple[Sequence[OfferRow], int]:
    """Return the latest ``most`` transfers to these accounts, and the total number.

    ``but`` are pairs of recipient and sender whose transfers are excluded.
    """
    is_theirs = and_(
        transfer.c.recipient_id.in_(recipient_ids),
        *(
            or_(transfer.c.recipient_id != recipient_id, transfer.c.sender_id != sender_id)
            for recipient_id, sender_id in but
        ),
    )
    columns = transfer.c.sender_id, transfer.c.recipient_id, transfer.c.created_at
    statement = (
        select(repository.c.name, account.c.login.label("owner_login"), *columns)
        .join(repository, repository.c.id == transfer.c.repository_id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(is_theirs)
        .order_by(transfer.c.created_at.desc(), transfer.c.repository_id.desc())
        .limit(most)
    )
    rows = await fetch_all(db, statement, OfferRow)
    if len(rows) < most:
        return rows, len(rows)
    return rows, await fetch_count(db, select(transfer.c.repository_id).where(is_theirs))


async def remove(db: Executor, repository_id: int, recipient_id: int) -> bool:
    """Delete the transfer to that account. Return True if it existed."""
    removed = await db.execute(
        delete(transfer).where(
            transfer.c.repository_id == repository_id, transfer.c.recipient_id == recipient_id
        )
    )
    return removed.rowcount == 1


async def remove_all(db: Executor, recipient_id: int) -> None:
    """Delete every transfer to a deleted account."""
    await db.execute(delete(transfer).where(transfer.c.recipient_id == recipient_id))
