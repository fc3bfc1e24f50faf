"""Execution of statements, by SQLAlchemy or directly by the driver, with uniform errors and spans."""

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
"""Errors while PostgreSQL is unreachable or shuts down. The statement is valid and may succeed later.

An ``InternalClientError`` means that PostgreSQL ended the idle connection before the driver read the end of
its stream. An ``InterfaceError`` that is also a ``ValueError`` is about a value and is final.
"""

FULL_CODES = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR,
)
"""Codes of SQLite (sqlite.org/rescode.html) for a full disk.

An exceeded quota is reported as a failed write. A statement with triggers may report it as ``SQLITE_IOERR``,
without the kind of error.
"""


class Executor(Protocol):
    """The parameter type of store functions: a transaction or a reading connection."""

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
    """Wrap an error of the driver as SQLAlchemy's error."""
    violations = (asyncpg.IntegrityConstraintViolationError, sqlite3.IntegrityError)
    kind = IntegrityError if isinstance(error, violations) else OperationalError
    return kind(None, None, error)


def is_away(error: Exception) -> TypeGuard[DBAPIError]:
    """Return whether a statement failed because its database is unavailable."""
    if not isinstance(error, DBAPIError):
        return False
    causes = (error.orig, getattr(error.orig, "__cause__", None))
    return error.connection_invalidated or any(
        isinstance(cause, AWAY_ERRORS) and not isinstance(cause, ValueError) for cause in causes
    )


def is_full(error: Exception) -> bool:
    """Return whether a statement failed because the disk is full or a quota is exceeded.

    Only error codes count, because texts of errors may quote values of users.
    """
    if not isinstance(error, DBAPIError):
        return False
    state, code = (getattr(error.orig, name, None) for name in ("sqlstate", "sqlite_errorcode"))
    return state == asyncpg.DiskFullError.sqlstate or code in FULL_CODES


def is_outage(error: Exception) -> bool:
    """Return whether a database is unavailable or full. The statement is valid and may succeed later."""
    return isinstance(error, DatabaseUnavailable) or is_away(error) or is_full(error)


def statement_summary(statement: Executable) -> str:
    """Return the name of the statement's span, such as ``SELECT account``. It contains no value."""
    verb = type(statement).__name__.upper()
    if isinstance(statement, Select):
        return " ".join([verb, *(str(getattr(t, "name", "…")) for t in statement.columns_clause_froms[:1])])
    table = getattr(statement, "table", None)
    return verb if table is None else f"{verb} {table.name}"
