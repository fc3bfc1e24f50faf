"""The smallest service that has events: a counter per key, and a reader of them."""

import msgspec
from sqlalchemy import Column, Integer, MetaData, String, Table, func, select

from ingot_chassis.db.database import Database
from ingot_chassis.db.tables import NAMING, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
tally = Table(
    "tally",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("count", Integer, nullable=False),
)


class Counted(msgspec.Struct, frozen=True, kw_only=True, tag="counter.number.counted.v1"):
    """A number was counted."""

    name: str
    number: int


EVENTS = 3


async def count_unsent(database: Database) -> int:
    """Count the events that wait for the relay."""
    outbox = database.metadata.tables["outbox"]
    async with database.read() as db:
        counted = await db.execute(select(func.count()).where(outbox.c.sent_at.is_(None)))
        return int(counted.scalar_one())
