"""Rows with types: the columns of a statement, declared once beside the table, so that mypy sees a misspelt one.

A row stays the object that the driver makes; a ``TypedRow`` only declares its type, which costs nothing. So a text
column that is declared as a ``StrEnum`` holds the text itself, which equals the member of the enum.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, cast, get_type_hints

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Executable,
    Integer,
    Select,
    func,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.sql import operators

from ingot_chassis.db.driver import Executor


class TypedRow:
    """What a subclass annotates is a column of the same name. Rows are read, never made or changed."""


_R = TypeVar("_R", bound=TypedRow)


class TotalRow(TypedRow):
    """How many rows a list has."""

    total: int


class Slice(Protocol):
    """The part of a list that is asked for."""

    @property
    def limit(self) -> int: ...

    @property
    def offset(self) -> int: ...


class Walk(NamedTuple):
    """The way to a page: the rows of ``limit`` behind ``offset`` others, in the order of the list or ``backwards``."""

    limit: int
    offset: int
    backwards: bool


def walk_to(page: Slice, total: int, *, count_at_most: int | None = None) -> Walk:
    """The way to ``page`` from the nearer end of a list of ``total`` rows. ``limit`` is 0 for a page behind its end.

    A list that was counted up to ``count_at_most`` may have more rows, so the way begins at its beginning.
    """
    if count_at_most is not None and total >= count_at_most:
        return Walk(page.limit, page.offset, backwards=False)
    length = max(0, min(page.limit, total - page.offset))
    behind = total - page.offset - length
    if not length:
        return Walk(0, 0, backwards=False)
    if behind < page.offset:
        return Walk(length, behind, backwards=True)
    return Walk(page.limit, page.offset, backwards=False)


def backward(*order: Any) -> tuple[ColumnElement[Any], ...]:
    """The reverse of an ORDER BY, in which no two rows are equal."""
    return tuple(map(_reversed, order))


def _reversed(column: Any) -> ColumnElement[Any]:
    match getattr(column, "modifier", None):
        case operators.nulls_last_op:
            return _reversed(column.element).nulls_first()
        case operators.nulls_first_op:
            return _reversed(column.element).nulls_last()
        case operators.desc_op:
            return cast("ColumnElement[Any]", column.element.asc())
        case operators.asc_op:
            return cast("ColumnElement[Any]", column.element.desc())
    return cast("ColumnElement[Any]", column.desc())


def cut_page(
    statement: Select[Any],
    order: Sequence[Any],
    limit: Any,
    offset: Any,
    *,
    ids: Select[Any] | None = None,
    backwards: bool = False,
) -> Select[Any]:
    """The ``limit`` rows of ``statement`` behind ``offset`` others, in ``order``, or from its end on ``backwards``.

    ``ids`` selects a column of ``statement`` that tells its rows apart, or several, of all rows of the list. The page is
    cut from these: an index has them, and nothing is joined to rows before the page.
    """
    order = backward(*order) if backwards else order
    if ids is None:
        return statement.order_by(*order).limit(limit).offset(offset)
    columns = list(ids.selected_columns)
    key = columns[0] if len(columns) == 1 else tuple_(*columns)
    page = ids.correlate(None).order_by(*order).limit(limit).offset(offset)
    return statement.where(key.in_(page)).order_by(*order)


_CHECKED: set[tuple[type[TypedRow], tuple[str, ...]]] = set()
"""What was found right: to look it up costs less than to compare."""


def check_columns(row_type: type[TypedRow], columns: tuple[str, ...]) -> None:
    """Raises TypeError unless ``columns`` has every column that ``row_type`` declares."""
    if (row_type, columns) in _CHECKED:
        return
    missing = get_type_hints(row_type).keys() - set(columns)
    if missing:
        raise TypeError(f"{row_type.__name__} declares columns that are not selected: {sorted(missing)}")
    _CHECKED.add((row_type, columns))


async def fetch_first(db: Executor, statement: Executable, row_type: type[_R], /, **values: Any) -> _R | None:
    """The first row of ``statement``, or None. Raises TypeError as ``check_columns`` does."""
    return cast("_R | None", (await _checked(db, statement, row_type, values)).first())


async def fetch_all(
    db: Executor, statement: Executable, row_type: type[_R], /, **values: Any
) -> Sequence[_R]:
    """Every row of ``statement``. Raises TypeError as ``check_columns`` does."""
    return cast("Sequence[_R]", (await _checked(db, statement, row_type, values)).all())


async def fetch_page(
    db: Executor,
    statement: Select[Any],
    page: Slice,
    row_type: type[_R],
    *order: Any,
    ids: Select[Any] | None = None,
    count: Select[Any] | None = None,
    count_at_most: int | None = None,
) -> tuple[Sequence[_R], int]:
    """The rows of ``page`` and how many ``statement`` has without it.

    In ``order`` no two rows are equal. The page is found from the nearer end, so one in the middle takes a walk along half
    of the list, or of its ``ids``, which are as ``cut_page`` takes them. ``count`` is a cheaper way to count the rows: a
    SELECT of one number. No more than ``count_at_most`` are counted.
    """
    if count is None:
        count = count_of(statement if ids is None else ids, count_at_most)
    total = int((await db.execute(count)).scalar_one())
    walk = walk_to(page, total, count_at_most=count_at_most)
    if not walk.limit:
        return [], total
    cut = cut_page(statement, order, walk.limit, walk.offset, ids=ids, backwards=walk.backwards)
    rows = await fetch_all(db, cut, row_type)
    return rows[::-1] if walk.backwards else rows, total


async def fetch_count(db: Executor, statement: Select[Any]) -> int:
    """How many rows ``statement`` has."""
    return int((await db.execute(count_of(statement))).scalar_one())


def count_of(statement: Select[Any], at_most: int | None = None) -> Select[Any]:
    """How many rows ``statement`` has, as ``total``; no more than ``at_most``."""
    rows = statement.order_by(None)
    if at_most is not None:
        rows = rows.limit(literal_column(str(at_most), Integer))
    return select(func.count().label("total")).select_from(rows.subquery())


async def _checked(
    db: Executor, statement: Executable, row_type: type[TypedRow], values: dict[str, Any]
) -> CursorResult[Any]:
    result = await db.execute(statement, values or None)
    check_columns(row_type, tuple(result.keys()))
    return result
