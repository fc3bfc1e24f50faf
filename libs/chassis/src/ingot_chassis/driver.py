"""PostgreSQL's driver, where statements go to it directly: the shape of its errors, and of the spans around it."""

from typing import Any, TypeAlias

import asyncpg
from sqlalchemy import Executable, Select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

Driver: TypeAlias = "asyncpg.Connection[Any]"
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


def as_sqlalchemy_tells(error: Exception) -> DBAPIError:
    """An error of the driver in the shape of all others of a database."""
    kind = (
        IntegrityError if isinstance(error, asyncpg.IntegrityConstraintViolationError) else OperationalError
    )
    return kind(None, None, error)


def summary(statement: Executable) -> str:
    """``SELECT account``: what a span of the statement is called. Never any value."""
    verb = type(statement).__name__.upper()
    if isinstance(statement, Select):
        return " ".join([verb, *(str(getattr(t, "name", "…")) for t in statement.columns_clause_froms[:1])])
    table = getattr(statement, "table", None)
    return verb if table is None else f"{verb} {table.name}"
