"""SQL for the files of pull requests that people have viewed."""

from sqlalchemy import Column, ForeignKey, LargeBinary, Table, bindparam, delete, func, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_issues.schema import metadata

# Viewed files of a pull request: SHA-256 digests of the path and of its changes.
file_view = Table(
    "file_view",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
    Column("path_sha256", LargeBinary(32), primary_key=True),
    Column("changes_sha256", LargeBinary(32), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)


class FileViewRow(TypedRow):
    path_sha256: bytes
    changes_sha256: bytes


_OWN = PreparedQuery(
    select(file_view.c.path_sha256, file_view.c.changes_sha256).where(
        file_view.c.issue_id == bindparam("issue_id", type_=BigId),
        file_view.c.account_id == bindparam("account_id", type_=BigId),
    ),
    FileViewRow,
)


async def list_own(db: Executor, issue_id: int, account_id: int) -> list[FileViewRow]:
    """Return the viewed files of one person."""
    return list(await _OWN.all(db, issue_id=issue_id, account_id=account_id))


async def count(db: Executor, issue_id: int, account_id: int) -> int:
    """Return the number of viewed files."""
    statement = select(func.count()).where(
        file_view.c.issue_id == issue_id, file_view.c.account_id == account_id
    )
    return int((await db.execute(statement)).scalar_one())


async def save(db: Executor, issue_id: int, account_id: int, path: bytes, changes: bytes) -> None:
    """Record that a person has viewed these changes of a file."""
    values = {"changes_sha256": changes, "created_at": now()}
    key = {"issue_id": issue_id, "account_id": account_id, "path_sha256": path}
    statement = insert(db, file_view).values(**key, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


async def remove(db: Executor, issue_id: int, account_id: int, path: bytes) -> None:
    """Delete a person's record of a viewed file."""
    await db.execute(
        delete(file_view).where(
            file_view.c.issue_id == issue_id,
            file_view.c.account_id == account_id,
            file_view.c.path_sha256 == path,
        )
    )


async def remove_of_account(db: Executor, account_id: int) -> None:
    """Delete all records of files that an account has viewed."""
    await db.execute(delete(file_view).where(file_view.c.account_id == account_id))
