"""Reads on hot paths: a statement that is compiled once and, on PostgreSQL, handed to the driver itself.

SQLAlchemy finds the compiled form of a statement by walking it, and crosses into a greenlet to run it. For a row by
its key that is five times the work of the driver (docs/adr/0012).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import asyncpg
from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    Integer,
    Label,
    LargeBinary,
    Select,
    String,
    TypeDecorator,
)
from sqlalchemy.types import TypeEngine

from ingot_chassis.driver import DRIVER_ERRORS, as_sqlalchemy_tells, summary
from ingot_chassis.tables import UtcDateTime
from ingot_chassis.telemetry import client_span

if TYPE_CHECKING:
    from ingot_chassis.database import Executor

_LEFT_TO_SQLALCHEMY = (*DRIVER_ERRORS, OSError)
"""Telling a lost connection from a bad statement, and forgetting it, is SQLAlchemy's."""

AS_THE_DRIVER_GIVES_THEM = (Boolean, DateTime, Float, Integer, LargeBinary, String, UtcDateTime)


def needs_conversion(kind: TypeEngine[Any]) -> bool:
    """Whether SQLAlchemy makes something else of what PostgreSQL's driver gives and takes."""
    decorated = isinstance(kind, TypeDecorator) and not isinstance(kind, UtcDateTime)
    return decorated or not isinstance(kind, AS_THE_DRIVER_GIVES_THEM)


def _raise_in_transaction(driver: "asyncpg.Connection[Any]", error: Exception) -> None:
    """The transaction has failed with the statement, so nobody can try again."""
    if driver.is_closed() or driver.is_in_transaction():
        raise as_sqlalchemy_tells(error) from error


class Found(asyncpg.Record):  # type: ignore[misc]
    """A row whose columns are attributes, as SQLAlchemy's are."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Lookup:
    """One SELECT whose values are all ``bindparam``s."""

    def __init__(self, statement: Select[Any]) -> None:
        """Raises ValueError for a column without a name of its own, or of a type that needs conversion."""
        names = set()
        for column in statement.selected_columns:
            if not isinstance(column, Column | Label) or column.name in names:
                raise ValueError(f"{column} needs a name of its own")
            if needs_conversion(column.type):
                raise ValueError(f"{column} is of a type that the driver does not convert")
            names.add(column.name)
        self._statement = statement
        self._sql, self._order = "", list[str]()

    async def first(self, db: "Executor", **values: Any) -> Any | None:
        """The first row, or None. Raises KeyError for a value that is missing."""
        driver = db.driver
        if driver is not None:
            try:
                with client_span(lambda: summary(self._statement)):
                    return await driver.fetchrow(*self._call(db, values), record_class=Found)
            except _LEFT_TO_SQLALCHEMY as error:
                _raise_in_transaction(driver, error)
        return (await db.execute(self._statement, values)).first()

    async def all(self, db: "Executor", **values: Any) -> Sequence[Any]:
        """Every row. Raises KeyError for a value that is missing."""
        driver = db.driver
        if driver is not None:
            try:
                with client_span(lambda: summary(self._statement)):
                    rows: list[Any] = await driver.fetch(*self._call(db, values), record_class=Found)
                return rows
            except _LEFT_TO_SQLALCHEMY as error:
                _raise_in_transaction(driver, error)
        return (await db.execute(self._statement, values)).all()

    def _call(self, db: "Executor", values: dict[str, Any]) -> list[Any]:
        """The SQL, and its values in order."""
        if not self._sql:
            self._compile(db.dialect)
        return [self._sql, *(values[name] for name in self._order)]

    def _compile(self, dialect: Dialect) -> None:
        compiled = self._statement.compile(dialect=dialect)
        self._order = list(compiled.positiontup or ())
        self._sql = compiled.string
