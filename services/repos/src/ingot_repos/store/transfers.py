"""SQL for transfers that the new owner has neither accepted nor rejected yet. A repository has one at most."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_repos.store.tables import transfer


class TransferRow(TypedRow):
    """``team_ids`` is a JSON list."""

    repository_id: int
    sender_id: int
    recipient_id: int
    team_ids: str
    created_at: datetime


def teams_of(row: TransferRow) -> list[int]:
    """The teams of the new owner that get the repository."""
    return msgspec.json.decode(row.team_ids, type=list[int])


async def add(
    db: Executor, repository_id: int, *, sender_id: int, recipient_id: int, team_ids: Sequence[int]
) -> bool:
    """Note a transfer; False when another one waits."""
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


async def remove(db: Executor, repository_id: int, recipient_id: int) -> bool:
    """End the transfer to that account; whether it was there."""
    removed = await db.execute(
        delete(transfer).where(
            transfer.c.repository_id == repository_id, transfer.c.recipient_id == recipient_id
        )
    )
    return removed.rowcount == 1


async def remove_all(db: Executor, recipient_id: int) -> None:
    """End every transfer to an account that was deleted."""
    await db.execute(delete(transfer).where(transfer.c.recipient_id == recipient_id))
