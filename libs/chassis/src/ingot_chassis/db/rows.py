"""Typed rows: the columns of a statement, declared once next to the table, so mypy finds misspelt columns.

A row is the driver's object. A ``TypedRow`` only declares its type, without a cost at run time. So a text
column that is declared as a ``StrEnum`` has plain text, which equals the enum's member.
"""

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
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
    """A row of a database. Annotations of a subclass are its columns. Rows are read-only."""


_R = TypeVar("_R", bound=TypedRow)
_T = TypeVar("_T")


def field_copier(
    row_type: type[_T], struct: type[msgspec.Struct], *, without: Collection[str] = ()
) -> Callable[[_T], dict[str, Any]]:
    """Return a function that copies the fields of ``struct`` from the columns of a row with equal names.

    ``without`` are fields with the name of a column but another meaning, such as a size in other units.
    Raises TypeError for a field whose types differ, and for a name in ``without`` that is not in both. Raises
    TypeError for fewer than two common fields.
    """
    columns, fields = get_type_hints(row_type), get_type_hints(struct)
    shared = [name for name in columns if name in struct.__struct_fields__]
    if unknown := set(without) - set(shared):
        raise TypeError(f"{row_type.__name__} and {struct.__name__} do not both have {sorted(unknown)}")
    names = tuple(name for name in shared if name not in without)
    for name in names:
        if not _is_part_of(columns[name], fields[name]):
            raise TypeError(
                f"{name} is {columns[name]} in {row_type.__name__}, {fields[name]} in {struct.__name__}"
            )
    if len(names) < 2:  # of one name the getter gives no tuple
        raise TypeError(f"{row_type.__name__} and {struct.__name__} have fewer than two fields in common")
    read = attrgetter(*names)
    return lambda row: dict(zip(names, read(row)))  # noqa: B905 - strict costs a tenth


def _is_part_of(column: Any, field: Any) -> bool:
    """True if every value of a column is valid for a field."""
    if get_origin(column) is Literal and isinstance(field, type):
        return all(isinstance(value, field) for value in get_args(column))
    both = isinstance(column, type) and isinstance(field, type)
    return bool(column == field or column in get_args(field) or (both and issubclass(column, field)))


class TotalRow(TypedRow):
    """A row with the length of its list as ``total``."""

    total: int


class Slice(Protocol):
    """The requested part of a list: a number of rows after an offset."""

    @property
    def limit(self) -> int: ...

    @property
    def offset(self) -> int: ...


class Walk(NamedTuple):
    """The position of a page: ``limit`` rows after ``offset`` others, in order or ``backwards``."""

    limit: int
    offset: int
    backwards: bool


def walk_to(page: Slice, total: int, *, count_at_most: int | None = None) -> Walk:
    """Return the walk to ``page`` from the nearer end of a list of ``total`` rows.

    ``limit`` is 0 for a page after the end. A list whose count stopped at ``count_at_most`` may be longer, so
    it is walked from its beginning.
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
    """Return the reverse of an ORDER BY."""
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
    """Return a SELECT of ``limit`` rows of ``statement`` after ``offset`` others, in ``order``.

    ``backwards`` counts from the end. ``ids`` selects one or several columns of ``statement`` that identify
    its rows, for all rows of the list. The page is cut from these columns. An index has them, so rows before
    the page are not joined.
    """
    order = backward(*order) if backwards else order
    if ids is None:
        return statement.order_by(*order).limit(limit).offset(offset)
    columns = list(ids.selected_columns)
    key = columns[0] if len(columns) == 1 else tuple_(*columns)
    page = ids.correlate(None).order_by(*order).limit(limit).offset(offset)
    return statement.where(key.in_(page)).order_by(*order)


_CHECKED: set[tuple[type[TypedRow], tuple[str, ...]]] = set()
"""Combinations of type and columns that were found correct. A lookup costs less than a comparison."""


def check_columns(row_type: type[TypedRow], columns: tuple[str, ...]) -> None:
    """Raise TypeError unless ``columns`` has every column that ``row_type`` declares."""
    if (row_type, columns) in _CHECKED:
        return
    missing = get_type_hints(row_type).keys() - set(columns)
    if missing:
        raise TypeError(f"{row_type.__name__} declares columns that are not selected: {sorted(missing)}")
    _CHECKED.add((row_type, columns))


async def fetch_first(db: Executor, statement: Executable, row_type: type[_R], /, **values: Any) -> _R | None:
    """Return the first row of ``statement``, or None. Raises the errors of ``check_columns``."""
    return cast("_R | None", (await _checked(db, statement, row_type, values)).first())


async def fetch_all(
    db: Executor, statement: Executable, row_type: type[_R], /, **values: Any
) -> Sequence[_R]:
    """Return every row of ``statement``. Raises the errors of ``check_columns``."""
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
    """Return the rows of ``page``, and the number of all rows of ``statement``.

    All ``list_page`` functions of stores return these two values. ``order`` must be a total order. The page
    is found from the nearer end. A page in the middle walks along half of the list, or of its ``ids`` (see
    ``cut_page``). ``count`` is a cheaper way to count the rows: a SELECT of one number. At most
    ``count_at_most`` rows are counted.
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
    """Return the number of rows of ``statement``."""
    return int((await db.execute(count_of(statement))).scalar_one())


def count_of(statement: Select[Any], at_most: int | None = None) -> Select[Any]:
    """Return a SELECT of the number of rows of ``statement`` as ``total``, up to ``at_most``."""
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
