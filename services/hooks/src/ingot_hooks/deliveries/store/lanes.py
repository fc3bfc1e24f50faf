"""Lookups in one lane that read no other lanes, whatever PostgreSQL's planner chooses.

Statistics may be from a moment without running deliveries. Then each partial index seems to have one row. The
index of due deliveries has the order of the table, so it seems the cheapest for every lookup. Therefore a
lookup requests an order that only the right index has, and ``take_order_from_indexes`` forbids sorting.
"""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, String, func, literal_column, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from ingot_chassis.db.arrays import Condition
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow

LANE = ("hook_id", "repository_id")
TURN = ("next_attempt_at", "number")
"""The order of sending in a lane. Preceded by ``LANE`` it is the order of ``ix_delivery_waiting``."""


class IsOfLane(Condition):
    """True if a row is in a lane.

    On PostgreSQL the condition is a range. With equalities, the planner would ignore these columns in ORDER
    BY.
    """

    def __init__(
        self, row: FromClause, hook_id: ColumnElement[int], repository_id: ColumnElement[int]
    ) -> None:
        super().__init__(*(row.c[name] for name in LANE), hook_id, repository_id)


@compiles(IsOfLane, "postgresql")
def _on_postgresql(element: IsOfLane, compiler: SQLCompiler, **options: Any) -> str:
    row_hook, row_repository, hook, repository = (
        compiler.process(clause, **options) for clause in element.clauses
    )
    row, lane = f"({row_hook}, {row_repository})", f"({hook}, {repository})"
    return f"({row} >= {lane} AND {row} <= {lane})"


@compiles(IsOfLane, "sqlite")
def _on_sqlite(element: IsOfLane, compiler: SQLCompiler, **options: Any) -> str:
    row_hook, row_repository, hook, repository = (
        compiler.process(clause, **options) for clause in element.clauses
    )
    return f"({row_hook} = {hook} AND {row_repository} = {repository})"


class _PlannerRow(TypedRow):
    enable_sort: str
    enable_hashagg: str


def _settings_off() -> Select[Any]:
    columns: list[ColumnElement[Any]] = []
    for name in _PlannerRow.__annotations__:
        setting: ColumnElement[str] = literal_column(f"'{name}'")
        off: ColumnElement[str] = literal_column("'off'")
        columns.append(func.set_config(setting, off, true(), type_=String).label(name))
    return select(*columns)


_SETTINGS = PreparedQuery(_settings_off(), _PlannerRow)


async def take_order_from_indexes(tx: Executor) -> None:
    """Plan without sorts and hash tables until the transaction ends. Does nothing on SQLite."""
    if tx.dialect_name != "sqlite":
        await _SETTINGS.all(tx)
