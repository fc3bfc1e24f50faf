"""Pages of lists by prepared statements: each row also has the total of the list, so that most need one statement."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Integer, Select, bindparam, func

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import NEAR, Slice, TotalRow, backward, walk_to
from ingot_chassis.db.tables import BigId


class FirstRows(NamedTuple):
    """The part of a list that has its first rows."""

    limit: int
    offset: int = 0


_R = TypeVar("_R", bound=TotalRow)


class PreparedPage(Generic[_R]):
    """A list whose values are all ``bindparam``s, in an order in which no two rows are equal; its rows are of ``row_type``."""

    def __init__(
        self, statement: Select[Any], row_type: type[_R], *order: Any, count: Select[Any] | None = None
    ) -> None:
        """``count`` is a cheaper way to count the rows: a SELECT of ``total``. Raises as PreparedQuery does."""
        if count is None:
            count = statement.with_only_columns(func.count().label("total"), maintain_column_froms=True)
        near = statement.add_columns(count.correlate(None).scalar_subquery().label("total"))
        far = statement.add_columns(bindparam("total", type_=BigId).label("total"))
        self._near = PreparedQuery(_cut(near.order_by(*order)), row_type)
        self._forwards = PreparedQuery(_cut(far.order_by(*order)), row_type)
        self._backwards = PreparedQuery(_cut(far.order_by(*backward(*order))), row_type)
        self._count = PreparedQuery(count, TotalRow)

    async def read(self, db: Executor, page: Slice, **values: Any) -> tuple[Sequence[_R], int]:
        """The rows of ``page``, and how many the list has. Raises KeyError for a value that is missing.

        A page far from the beginning is found from the nearer end.
        """
        if page.offset < NEAR:
            rows = await self._near.all(db, limit=page.limit, offset=page.offset, **values)
            if rows or not page.offset:
                return rows, rows[0].total if rows else 0
        counted = await self._count.first(db, **values)
        total = counted.total if counted is not None else 0
        walk = walk_to(page, total)
        if not walk.limit:
            return [], total
        values |= {"limit": walk.limit, "offset": walk.offset, "total": total}
        if walk.backwards:
            return (await self._backwards.all(db, **values))[::-1], total
        return await self._forwards.all(db, **values), total


def _cut(statement: Select[Any]) -> Select[Any]:
    limit, offset = bindparam("limit", type_=Integer), bindparam("offset", type_=BigId)
    return statement.limit(limit).offset(offset)
