"""The table of how long lists of the whole server are. Triggers write it (migration 0018), so no list has to be counted."""

from sqlalchemy import BigInteger, Column, String, Table

from ingot_chassis.db.tables import BigId
from ingot_identity.store.tables import metadata

list_count = Table(
    "list_count",
    metadata,
    # Several rows of one list, to be added up: were there one, all who create accounts would wait for its lock.
    Column("id", BigId, primary_key=True, autoincrement=True),
    # ``users``, ``emails``, or a visibility and ``organizations``.
    Column("list", String(30), nullable=False),
    Column("number", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
