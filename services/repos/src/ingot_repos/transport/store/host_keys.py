"""The table of the sealed host keys of the SSH server, and its SQL."""

from collections.abc import Sequence

from sqlalchemy import Column, LargeBinary, String, Table, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import metadata

ssh_host_key = Table(
    "ssh_host_key",
    metadata,
    Column("algorithm", String(40), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
"""The private keys of the SSH server, one of each algorithm, shared by all of its replicas."""


class HostKeyRow(TypedRow):
    algorithm: str
    sealed: bytes


async def list_all(db: Executor) -> Sequence[HostKeyRow]:
    statement = select(ssh_host_key.c.algorithm, ssh_host_key.c.sealed).order_by(ssh_host_key.c.algorithm)
    return await fetch_all(db, statement, HostKeyRow)


async def add(tx: Executor, algorithm: str, sealed: bytes) -> None:
    """Insert a key. Do nothing if another process has inserted a key of this algorithm."""
    values = {"algorithm": algorithm, "sealed": sealed, "created_at": now()}
    await tx.execute(insert(tx, ssh_host_key).values(values).on_conflict_do_nothing())
