"""The smallest service that has events: a counter per key, and a reader of them."""

import msgspec
from sqlalchemy import Column, Integer, MetaData, String, Table

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
