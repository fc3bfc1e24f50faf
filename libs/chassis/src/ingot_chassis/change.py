"""Writes on hot paths: compiled once and, on PostgreSQL, handed to the driver itself, as `lookup` does with reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Delete, Dialect, Insert, Update

from ingot_chassis.driver import DRIVER_ERRORS, as_sqlalchemy_tells, summary
from ingot_chassis.lookup import Found, needs_conversion
from ingot_chassis.telemetry import client_span

if TYPE_CHECKING:  # a database announces events by a Change
    from ingot_chassis.database import Executor


class Change:
    """One INSERT, UPDATE or DELETE, run inside a transaction. What differs from run to run are ``bindparam``s.

    An INSERT of PostgreSQL's that knows ``on_conflict_do_nothing`` will do for SQLite as well.
    """

    def __init__(self, statement: Insert | Update | Delete) -> None:
        """Raises ValueError for a column of RETURNING whose type needs conversion."""
        for column in statement.returning_column_descriptions:
            if needs_conversion(column["type"]):
                raise ValueError(f"{column['name']} is of a type that the driver does not convert")
        self._statement = statement.inline() if isinstance(statement, Insert) else statement
        self._sql, self._order, self._constants = "", list[str](), dict[str, Any]()

    async def run(self, tx: "Executor", **values: Any) -> int:
        """Run it; how many rows it changed. Raises KeyError for a value that is missing, and DBAPIError."""
        if tx.driver is None:
            return (await tx.execute(self._statement, values)).rowcount
        with self._asked(tx.dialect):
            tag = await tx.driver.execute(self._sql, *self._ordered(values))
        return int(tag.rpartition(" ")[2])  # "UPDATE 1" (PostgreSQL's message CommandComplete)

    async def first(self, tx: "Executor", **values: Any) -> Any | None:
        """Run one with RETURNING; the first row that it returns, or None. Raises as ``run`` does."""
        if tx.driver is None:
            return (await tx.execute(self._statement, values)).first()
        with self._asked(tx.dialect):
            return await tx.driver.fetchrow(self._sql, *self._ordered(values), record_class=Found)

    async def each(self, tx: "Executor", rows: Sequence[dict[str, Any]]) -> None:
        """Run it for each of ``rows``, in one go. Raises as ``run`` does."""
        if not rows:
            return
        if tx.driver is None:
            await tx.execute(self._statement, rows)
            return
        with self._asked(tx.dialect):
            await tx.driver.executemany(self._sql, [self._ordered(row) for row in rows])

    @contextmanager
    def _asked(self, dialect: Dialect) -> Iterator[None]:
        """Around what the driver is asked: compiled before, with a span, and with errors as of any statement."""
        if not self._sql:
            self._compile(dialect)
        try:
            with client_span(lambda: summary(self._statement)):
                yield
        except DRIVER_ERRORS as error:
            raise as_sqlalchemy_tells(error) from error

    def _ordered(self, values: dict[str, Any]) -> list[Any]:
        given = {**self._constants, **values}
        return [given[name] for name in self._order]

    def _compile(self, dialect: Dialect) -> None:
        """Raises ValueError for a value whose type needs conversion, and for a default that is no constant."""
        compiled = self._statement.compile(dialect=dialect)
        for name, bound in compiled.binds.items():
            if needs_conversion(bound.type):
                raise ValueError(f"{name} is of a type that the driver does not convert")
        self._constants = {name: bound.value for name, bound in compiled.binds.items() if not bound.required}
        for column in compiled.prefetch:
            default: Any = column.default if isinstance(self._statement, Insert) else column.onupdate
            if not default.is_scalar:
                raise ValueError(f"the default of {column} is no constant")
            self._constants[column.key] = default.arg
        self._order = list(compiled.positiontup or ())
        self._sql = compiled.string
