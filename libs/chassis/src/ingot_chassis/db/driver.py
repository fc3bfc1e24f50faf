"""What runs a statement: SQLAlchemy, or the driver of the database directly; the shape of its errors and of its spans."""

import sqlite3
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import aiosqlite
import asyncpg
from sqlalchemy import CursorResult, Dialect, Executable, Select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from ingot_chassis.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from ingot_chassis.db.short_reads import ShortReads

Driver: TypeAlias = "asyncpg.Connection[Any]"
SqliteDriver: TypeAlias = aiosqlite.Connection
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
AWAY_ERRORS = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""PostgreSQL is not there, or ends: nothing is wrong with the statement, and it may work a moment later.

An ``InternalClientError`` is how the driver says that PostgreSQL has ended the connection while nobody used it, and that
the end of the stream is not there yet.

An ``InterfaceError`` that is also a ``ValueError`` is about a value, which will not do later, either.
"""

FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
"""Of SQLite (sqlite.org/rescode.html); to it a quota that is used up is no more than a write that failed."""


class Executor(Protocol):
    """What store functions take: a transaction or a reading connection."""

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]: ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def dialect_name(self) -> str: ...

    @property
    def driver(self) -> "Driver | None": ...

    @property
    def sqlite_driver(self) -> "SqliteDriver | None": ...

    @property
    def repeats(self) -> bool: ...

    @property
    def short_reads(self) -> "ShortReads | None": ...


def as_sqlalchemy_error(error: Exception) -> DBAPIError:
    """An error of the driver in the shape of all others of a database."""
    violations = (asyncpg.IntegrityConstraintViolationError, sqlite3.IntegrityError)
    kind = IntegrityError if isinstance(error, violations) else OperationalError
    return kind(None, None, error)


def is_away(error: Exception) -> TypeGuard[DBAPIError]:
    """Whether a statement failed because its database is not there now."""
    if not isinstance(error, DBAPIError):
        return False
    causes = (error.orig, getattr(error.orig, "__cause__", None))
    return error.connection_invalidated or any(
        isinstance(cause, AWAY_ERRORS) and not isinstance(cause, ValueError) for cause in causes
    )


def is_full(error: Exception) -> bool:
    """Whether a statement failed because there is no room on the disk, or no more of what may be used of it.

    The codes say so: texts of errors quote values of users.
    """
    if not isinstance(error, DBAPIError):
        return False
    state, code = (getattr(error.orig, name, None) for name in ("sqlstate", "sqlite_errorcode"))
    return state == asyncpg.DiskFullError.sqlstate or code in FULL_CODES


def is_outage(error: Exception) -> bool:
    """Whether a database is away or full: nothing is wrong with what it was asked for, which may work later."""
    return isinstance(error, DatabaseUnavailable) or is_away(error) or is_full(error)


def statement_summary(statement: Executable) -> str:
    """``SELECT account``: what a span of the statement is called. Never any value."""
    verb = type(statement).__name__.upper()
    if isinstance(statement, Select):
        return " ".join([verb, *(str(getattr(t, "name", "…")) for t in statement.columns_clause_froms[:1])])
    table = getattr(statement, "table", None)
    return verb if table is None else f"{verb} {table.name}"
