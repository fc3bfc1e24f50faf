"""Pages of lists by one prepared statement: each row also has the total of the list."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Integer, Select, bindparam, func

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow
from ingot_chassis.db.tables import BigId


class CountedRow(TypedRow):
    """How many rows the list has."""

    total: int


class FirstRows(NamedTuple):
    """The part of a list that has its first rows."""

    limit: int
    offset: int = 0


_R = TypeVar("_R", bound=CountedRow)


class PreparedPage(Generic[_R]):
    """A list whose values are all ``bindparam``s, in its order; its rows are of ``row_type``."""

    def __init__(self, statement: Select[Any], row_type: type[_R]) -> None:
        """Raises as PreparedQuery does."""
        total = func.count().label("total")
        counting = statement.with_only_columns(total, maintain_column_froms=True).order_by(None)
        page = statement.add_columns(counting.correlate(None).scalar_subquery().label("total"))
        page = page.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=BigId))
        self._page, self._counting = PreparedQuery(page, row_type), PreparedQuery(counting, CountedRow)

    async def read(self, db: Executor, page: Slice, **values: Any) -> tuple[Sequence[_R], int]:
        """The rows of ``page``, and how many the list has. Raises KeyError for a value that is missing."""
        rows = await self._page.all(db, limit=page.limit, offset=page.offset, **values)
        if rows or not page.offset:
            return rows, rows[0].total if rows else 0
        counted = await self._counting.first(db, **values)
        return rows, counted.total if counted is not None else 0
