"""Prepared statements for frequent queries: compiled once, and run by the driver directly.

SQLAlchemy looks up the compiled form by walking the statement, and runs it in a greenlet. For a row by its
key that costs five times the work of the driver (ADR 12). SQLite's driver works in a thread. SQLAlchemy
switches to it four times per statement, this module once (ADR 22).
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

import asyncpg
from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    DateTime,
    Delete,
    Dialect,
    Float,
    Insert,
    Integer,
    Label,
    LargeBinary,
    Select,
    String,
    TypeDecorator,
    Update,
)
from sqlalchemy.sql import visitors
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from ingot_chassis.db.arrays import ArrayOf
from ingot_chassis.db.driver import (
    DRIVER_ERRORS,
    Driver,
    Executor,
    SqliteDriver,
    as_sqlalchemy_error,
    statement_summary,
)
from ingot_chassis.db.rows import TypedRow, check_columns
from ingot_chassis.db.sqlite import SqliteStatement
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.telemetry import client_span

_R = TypeVar("_R", bound=TypedRow)
_B = TypeVar("_B")

_DRIVER_FAILURES = (*DRIVER_ERRORS, OSError)
"""Errors after which SQLAlchemy runs the statement again, if allowed.

SQLAlchemy can tell a lost connection from a bad statement.
"""

UNCONVERTED_TYPES = (Boolean, DateTime, Float, Integer, LargeBinary, String, UtcDateTime)


def driver_row(columns: Iterable[str], base: type[_B]) -> type[_B]:
    """Return a class of rows whose ``columns``, in this order, are attributes, as in SQLAlchemy's rows.

    Reading a column by its index costs a fifth of a lookup by name.
    """
    fields = {name: property(itemgetter(index)) for index, name in enumerate(columns)}
    return type("DriverRow", (base,), {"__slots__": (), **fields})


class PreparedQuery(Generic[_R]):
    """A SELECT whose values are all ``bindparam``s. Its rows have the type ``row_type``."""

    def __init__(self, statement: Select[Any], row_type: type[_R]) -> None:
        """Check the statement.

        Raises ValueError for a column without a unique name, or with a type that needs conversion. Raises
        ValueError for a value that one database rejects: a list of an ``IN``, a literal in the statement, or
        a type that needs conversion. Raises TypeError for a column of ``row_type`` that ``statement`` does
        not select.
        """
        _check_values(statement)
        names = []
        for column in statement.selected_columns:
            if not isinstance(column, Column | Label) or column.name in names:
                raise ValueError(f"{column} needs a name of its own")
            if needs_conversion(column.type):
                raise ValueError(f"{column} is of a type that the driver does not convert")
            names.append(column.name)
        check_columns(row_type, tuple(names))
        self._statement = statement
        self._row, self._sqlite_row = driver_row(names, asyncpg.Record), driver_row(names, tuple)
        self._sql, self._order = "", list[str]()
        self._sqlite: SqliteStatement | None = None

    async def first(self, db: Executor, **values: Any) -> _R | None:
        """Return the first row, or None. Raises DBAPIError, and KeyError for a missing value."""
        driver = db.driver
        if driver is not None:
            try:
                with client_span(lambda: statement_summary(self._statement)):
                    row = await driver.fetchrow(*self._call(db, values), record_class=self._row)
                return cast("_R | None", row)
            except _DRIVER_FAILURES as error:
                _raise_if_final(db, driver, error)
        elif (rows := await self._read_sqlite(db, values, only_first=True)) is not None:
            return rows[0] if rows else None
        return cast("_R | None", (await db.execute(self._statement, values)).first())

    async def all(self, db: Executor, **values: Any) -> Sequence[_R]:
        """Return every row. Raises DBAPIError, and KeyError for a missing value."""
        driver = db.driver
        if driver is not None:
            try:
                with client_span(lambda: statement_summary(self._statement)):
                    rows = await driver.fetch(*self._call(db, values), record_class=self._row)
                return cast("Sequence[_R]", rows)
            except _DRIVER_FAILURES as error:
                _raise_if_final(db, driver, error)
        elif (rows_here := await self._read_sqlite(db, values, only_first=False)) is not None:
            return rows_here
        return cast("Sequence[_R]", (await db.execute(self._statement, values)).all())

    async def _read_sqlite(
        self, db: Executor, values: dict[str, Any], *, only_first: bool
    ) -> Sequence[_R] | None:
        """Return rows of a short read, or rows that SQLite's driver reads in its thread.

        None means that SQLAlchemy has to run the statement.
        """
        here, driver = db.short_reads, db.sqlite_driver
        if here is None and driver is None:
            return None
        if self._sqlite is None:
            compiled = self._statement.compile(dialect=db.dialect)
            kinds = [column.type for column in self._statement.selected_columns]
            self._sqlite = SqliteStatement(compiled, _constants(compiled), kinds, db.dialect)
        statement, row = self._sqlite, self._sqlite_row
        bound, rows = statement.values(values), None
        with client_span(lambda: statement_summary(self._statement)):
            if here is not None:
                rows = here.fetch(statement.sql, bound, only_first=only_first)
            if rows is None and driver is not None:
                rows = await _read_in_thread(driver, statement.sql, bound)
        return None if rows is None else cast("Sequence[_R]", [row(statement.row(one)) for one in rows])

    def _call(self, db: Executor, values: dict[str, Any]) -> list[Any]:
        """Return the SQL text, and its values in order."""
        if not self._sql:
            self._compile(db.dialect)
        return [self._sql, *(values[name] for name in self._order)]

    def _compile(self, dialect: Dialect) -> None:
        compiled = self._statement.compile(dialect=dialect)
        self._order = list(compiled.positiontup or ())
        self._sql = compiled.string


class PreparedWrite:
    """An INSERT, UPDATE or DELETE inside a transaction.

    Values that change from run to run are ``bindparam``s.

    PostgreSQL's INSERT with ``on_conflict_do_nothing`` also works on SQLite.
    """

    def __init__(self, statement: Insert | Update | Delete) -> None:
        """Check the statement. Raises ValueError for a column of RETURNING whose type needs conversion."""
        returned = statement.returning_column_descriptions
        for column in returned:
            if needs_conversion(column["type"]):
                raise ValueError(f"{column['name']} is of a type that the driver does not convert")
        self._returned = tuple(str(column["name"]) for column in returned)
        self._row = driver_row(self._returned, asyncpg.Record)
        self._statement = statement.inline() if isinstance(statement, Insert) else statement
        self._sql, self._order, self._constants = "", list[str](), dict[str, Any]()
        self._sqlite_row = driver_row(self._returned, tuple)
        self._sqlite: SqliteStatement | None = None

    async def run(self, tx: Executor, **values: Any) -> int:
        """Run the statement and return the number of changed rows.

        Raises DBAPIError, and KeyError for a missing value.
        """
        if tx.sqlite_driver is not None:
            with self._sqlite_call(tx.dialect) as statement:
                return (await tx.sqlite_driver.execute(statement.sql, statement.values(values))).rowcount
        if tx.driver is None:
            return (await tx.execute(self._statement, values)).rowcount
        with self._driver_call(tx.dialect):
            tag = await tx.driver.execute(self._sql, *self._ordered(values))
        return int(tag.rpartition(" ")[2])  # "UPDATE 1" (PostgreSQL's message CommandComplete)

    async def first(self, tx: Executor, row_type: type[_R], /, **values: Any) -> _R | None:
        """Run a statement with RETURNING. Return its first row, or None. Raises the errors of ``run``."""
        check_columns(row_type, self._returned)
        if tx.sqlite_driver is not None:
            rows = await self._sqlite_rows(tx.sqlite_driver, tx.dialect, values)
            return cast("_R | None", rows[0] if rows else None)
        if tx.driver is None:
            return cast("_R | None", (await tx.execute(self._statement, values)).first())
        with self._driver_call(tx.dialect):
            row = await tx.driver.fetchrow(self._sql, *self._ordered(values), record_class=self._row)
        return cast("_R | None", row)

    async def all(self, tx: Executor, row_type: type[_R], /, **values: Any) -> Sequence[_R]:
        """Run a statement with RETURNING. Return all its rows. Raises the errors of ``run``."""
        check_columns(row_type, self._returned)
        if tx.sqlite_driver is not None:
            return cast("Sequence[_R]", await self._sqlite_rows(tx.sqlite_driver, tx.dialect, values))
        if tx.driver is None:
            return cast("Sequence[_R]", (await tx.execute(self._statement, values)).all())
        with self._driver_call(tx.dialect):
            rows = await tx.driver.fetch(self._sql, *self._ordered(values), record_class=self._row)
        return cast("Sequence[_R]", rows)

    async def each(self, tx: Executor, rows: Sequence[dict[str, Any]]) -> None:
        """Run the statement for each of ``rows``, in one call of the driver. Raises the errors of ``run``."""
        if not rows:
            return
        if tx.sqlite_driver is not None:
            with self._sqlite_call(tx.dialect) as statement:
                await tx.sqlite_driver.executemany(statement.sql, [statement.values(row) for row in rows])
            return
        if tx.driver is None:
            await tx.execute(self._statement, rows)
            return
        with self._driver_call(tx.dialect):
            await tx.driver.executemany(self._sql, [self._ordered(row) for row in rows])

    @contextmanager
    def _driver_call(self, dialect: Dialect) -> Iterator[None]:
        """Wrap a call of the driver: compile first, add a span, and convert errors."""
        if not self._sql:
            self._compile(dialect)
        try:
            with client_span(lambda: statement_summary(self._statement)):
                yield
        except _DRIVER_FAILURES as error:
            raise as_sqlalchemy_error(error) from error

    async def _sqlite_rows(
        self, driver: SqliteDriver, dialect: Dialect, values: dict[str, Any]
    ) -> Sequence[Any]:
        with self._sqlite_call(dialect) as statement:
            rows = await driver.execute_fetchall(statement.sql, statement.values(values))
            return [self._sqlite_row(statement.row(cast("tuple[Any, ...]", row))) for row in rows]

    @contextmanager
    def _sqlite_call(self, dialect: Dialect) -> Iterator[SqliteStatement]:
        """Wrap a call like ``_driver_call``; yield a statement for SQLite's driver."""
        if self._sqlite is None:
            kinds = [column["type"] for column in self._statement.returning_column_descriptions]
            self._sqlite = SqliteStatement(*self._compiled(dialect), kinds, dialect)
        try:
            with client_span(lambda: statement_summary(self._statement)):
                yield self._sqlite
        except sqlite3.Error as error:
            raise as_sqlalchemy_error(error) from error

    def _ordered(self, values: dict[str, Any]) -> list[Any]:
        parameters = {**self._constants, **values}
        return [parameters[name] for name in self._order]

    def _compile(self, dialect: Dialect) -> None:
        compiled, self._constants = self._compiled(dialect)
        self._order, self._sql = list(compiled.positiontup or ()), compiled.string

    def _compiled(self, dialect: Dialect) -> tuple[SQLCompiler, dict[str, Any]]:
        """Return the compiled statement, and the values that are equal in every call.

        Raises ValueError for a value whose type needs conversion, and for a default that is not a constant.
        """
        compiled = self._statement.compile(dialect=dialect)
        for name, bound in compiled.binds.items():
            if needs_conversion(bound.type) and not isinstance(bound.type, ArrayOf):
                raise ValueError(f"{name} is of a type that the driver does not convert")
        constants = _constants(compiled)
        for column in compiled.prefetch:
            default: Any = column.default if isinstance(self._statement, Insert) else column.onupdate
            if not default.is_scalar:
                raise ValueError(f"the default of {column} is no constant")
            constants[column.key] = default.arg
        return compiled, constants


def _constants(compiled: Any) -> dict[str, Any]:
    """Return the constant values of the statement."""
    return {name: bound.value for name, bound in compiled.binds.items() if not bound.required}


async def _read_in_thread(driver: SqliteDriver, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return rows that SQLite's driver reads in its thread. Raises DBAPIError.

    All rows are read in one call. The open cursor of a cancelled call would show its old state to the next
    reader.
    """
    try:
        return cast("list[tuple[Any, ...]]", await driver.execute_fetchall(sql, values))
    except sqlite3.Error as error:
        raise as_sqlalchemy_error(error) from error


def _check_values(statement: Select[Any]) -> None:
    """Raise ValueError for a value that the driver of one database rejects."""
    for element in visitors.iterate(statement):
        if not isinstance(element, BindParameter):
            continue
        if element.expanding:
            raise ValueError(
                f"{element.key} is a list of an IN: name it by any_of, which takes it as one value"
            )
        if not element.required:
            raise ValueError(
                f"{element.value!r} stands in the statement: use a bindparam or a literal_column"
            )
        if needs_conversion(element.type) and not isinstance(element.type, ArrayOf):
            raise ValueError(f"{element.key} is of a type that the driver does not convert: {element.type!r}")


def needs_conversion(kind: TypeEngine[Any]) -> bool:
    """Return whether SQLAlchemy converts the values of PostgreSQL's driver."""
    decorated = isinstance(kind, TypeDecorator) and not isinstance(kind, UtcDateTime)
    return decorated or not isinstance(kind, UNCONVERTED_TYPES)


def _raise_if_final(db: Executor, driver: Driver, error: Exception) -> None:
    """Raise if a retry is impossible, because the transaction has failed together with the statement."""
    if driver.is_in_transaction() or (driver.is_closed() and not db.repeats):
        raise as_sqlalchemy_error(error) from error
