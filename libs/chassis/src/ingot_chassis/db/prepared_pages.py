"""Pages of lists by prepared statements. Each row also has the total, so most pages take one statement."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Integer, Select, bindparam, func

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TotalRow, count_of, cut_page, walk_to
from ingot_chassis.db.tables import BigId

NEAR = 500
"""Rows before a page that are skipped without determining the length of the list first."""

_R = TypeVar("_R", bound=TotalRow)


class PreparedPage(Generic[_R]):
    """A SELECT in a total order that is read by pages. Its values are all ``bindparam``s.

    Its rows have the type ``row_type``.
    """

    def __init__(
        self,
        statement: Select[Any],
        row_type: type[_R],
        *order: Any,
        ids: Select[Any] | None = None,
        count: Select[Any] | None = None,
        total: ColumnElement[int] | None = None,
        count_at_most: int | None = None,
    ) -> None:
        """Prepare the list. Raises the errors of ``PreparedQuery``.

        ``ids`` selects the columns that identify a row (see ``cut_page``). ``count`` is a cheaper SELECT of
        ``total``, the number of rows. ``total`` is the same number as a column of ``statement``. At most
        ``count_at_most`` rows are counted.
        """
        if count is not None:
            self._counting = count
        elif ids is not None or count_at_most is not None:
            self._counting = count_of(statement if ids is None else ids, count_at_most)
        else:
            number = func.count().label("total")
            self._counting = statement.with_only_columns(number, maintain_column_froms=True)
        self._statement, self._row_type, self._order, self._ids = statement, row_type, order, ids
        self._count_at_most = count_at_most
        # The other statements are prepared on first use: most lists are only read from their beginning.
        self._near = self._query(
            total if total is not None else self._counting.correlate(None).scalar_subquery(), backwards=False
        )

    @cached_property
    def _count(self) -> PreparedQuery[TotalRow]:
        return PreparedQuery(self._counting, TotalRow)

    @cached_property
    def _forwards(self) -> PreparedQuery[_R]:
        return self._query(bindparam("total", type_=BigId), backwards=False)

    @cached_property
    def _backwards(self) -> PreparedQuery[_R]:
        return self._query(bindparam("total", type_=BigId), backwards=True)

    def _query(self, total: ColumnElement[int], *, backwards: bool) -> PreparedQuery[_R]:
        statement = self._statement.add_columns(total.label("total"))
        limit, offset = bindparam("limit", type_=Integer), bindparam("offset", type_=BigId)
        cut = cut_page(statement, self._order, limit, offset, ids=self._ids, backwards=backwards)
        return PreparedQuery(cut, self._row_type)

    async def read(
        self, db: Executor, page: Slice, total: int | None = None, /, **values: Any
    ) -> tuple[Sequence[_R], int]:
        """Return the rows of ``page`` and the length of the list. A known length may be passed as ``total``.

        A page far from the beginning is found from the nearer end. A page in the middle walks along half of
        the list, or of its ``ids``. Raises KeyError for a missing value.
        """
        if total is None and page.offset < NEAR:
            rows = await self._near.all(db, limit=page.limit, offset=page.offset, **values)
            if rows or not page.offset:
                return rows, rows[0].total if rows else 0
        if total is None:
            total = await self.count(db, **values)
        walk = walk_to(page, total, count_at_most=self._count_at_most)
        if not walk.limit:
            return [], total
        values |= {"limit": walk.limit, "offset": walk.offset, "total": total}
        if walk.backwards:
            return (await self._backwards.all(db, **values))[::-1], total
        return await self._forwards.all(db, **values), total

    async def count(self, db: Executor, **values: Any) -> int:
        """Return the length of the list. Raises KeyError for a missing value."""
        row = await self._count.first(db, **values)
        return row.total if row is not None else 0
