"""SQL conditions that differ between databases, such as a list as one parameter.

SQLAlchemy's expanding ``IN`` is a different statement for each length of the list.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    CompoundSelect,
    Dialect,
    Select,
    String,
    TableValuedAlias,
    TypeDecorator,
    bindparam,
    column,
    literal_column,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class ArrayOf(TypeDecorator[list[Any]]):
    """A list parameter: an array in PostgreSQL, JSON in SQLite."""

    impl = String
    cache_ok = True

    def __init__(self, item_type: TypeEngine[Any]) -> None:
        super().__init__()
        self.item_type = item_type

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return ARRAY(self.item_type) if dialect.name == "postgresql" else String()

    def process_bind_param(self, value: Iterable[Any] | None, dialect: Dialect) -> Any:
        values = list(value or ())
        return values if dialect.name == "postgresql" else json.dumps(values)


class Condition(FunctionElement[bool]):
    """A condition with one ``compiles`` function per database."""

    _is_implicitly_boolean = True  # SQLite would compare with 1, and use no index
    type = Boolean()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.inherit_cache = True  # SQLAlchemy requires this in each class


class any_of(Condition):  # noqa: N801 - written like the functions of SQL
    """True if ``column`` is in the list ``values``, given as a parameter or its name."""

    def __init__(self, column: ColumnElement[Any], values: str | BindParameter[Any]) -> None:
        named = bindparam(values, type_=ArrayOf(column.type)) if isinstance(values, str) else values
        super().__init__(column, named)
        self.item_type = column.type


class any_of_few(any_of):  # noqa: N801 - written like the functions of SQL
    """True if ``column`` is in a list that is nearly always short. The column must have an index.

    PostgreSQL plans the statement once, for a list of ten values. With ``any_of`` it would plan the statement
    again at each call, because the plan for a shorter list is cheaper.
    """


TRIGRAM = 3
"""Characters of the shortest text that an index of trigrams finds."""
COUNTED = 10_000
"""The largest count of matches. An exact count would cost as much as reading all matches."""


class _IsMatch(Condition):
    """True if a row of ``id_column`` matches in SQLite's FTS5 index ``table``. Always true on PostgreSQL."""


def has_trigrams(
    id_column: ColumnElement[int], table: str, text: str, *, of: str = ""
) -> ColumnElement[bool]:
    """Return a condition: a row may contain ``text``, by SQLite's trigram index ``table``.

    ``of`` is the column to search; empty searches all columns. The condition is also true for texts that are
    too short for the index. It is true, too, for texts with letters that FTS5 may fold differently.
    """
    phrase = trigram_phrase(text, of=of)
    if phrase is None:
        return true()
    return _IsMatch(id_column, literal_column(table), bindparam(None, phrase, type_=String, unique=True))


def has_phrase(id_column: ColumnElement[int], table: str, name: str) -> ColumnElement[bool]:
    """Return a condition: a row may contain the phrase in the parameter ``name``, by SQLite's trigram index.

    ``table`` is the index. The phrase is a result of ``trigram_phrase``.
    """
    return _IsMatch(id_column, literal_column(table), bindparam(name, type_=String))


def by_index(ids: Select[Any] | CompoundSelect[Any], name: str) -> CTE:
    """Return the ids as a subquery ``name`` that SQLite does not flatten.

    The planner does not know the searched text of a prepared statement. If it flattened the subquery, it
    could walk the rows in order and check each row.
    """
    return ids.cte(name).prefix_with("MATERIALIZED", dialect="postgresql")


def trigram_phrase(text: str, *, of: str = "") -> str | None:
    """Return the FTS5 query for ``text`` in the column ``of``, or in all columns if it is empty.

    Return None if FTS5 cannot find the text.
    """
    is_plain = all(letter.isascii() or letter.lower() == letter.upper() for letter in text)
    if not is_plain or len(text) < TRIGRAM:
        return None
    phrase = '"' + text.replace('"', '""') + '"'
    return f"{of} : {phrase}" if of else phrase


@compiles(_IsMatch)
def _without_index(_element: _IsMatch, _compiler: SQLCompiler, **_options: Any) -> str:
    return "true"


@compiles(_IsMatch, "sqlite")
def _match_on_sqlite(element: _IsMatch, compiler: SQLCompiler, **options: Any) -> str:
    id_column, table, phrase = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{id_column} IN (SELECT rowid FROM {table} WHERE {table} MATCH {phrase})"  # noqa: S608 - compiled


class each_of(FunctionElement[Any]):  # noqa: N801 - written like the functions of SQL
    """The values of the list parameter ``name``, as rows of one column: use ``table_valued("value")``."""

    inherit_cache = True
    name = "each_of"

    def __init__(self, name: str, item_type: TypeEngine[Any]) -> None:
        super().__init__(bindparam(name, type_=ArrayOf(item_type)))


@compiles(each_of, "postgresql")
def _rows_on_postgresql(element: each_of, compiler: SQLCompiler, **options: Any) -> str:
    (values,) = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(SELECT unnest({values}) AS value)"


@compiles(each_of, "sqlite")
def _rows_on_sqlite(element: each_of, compiler: SQLCompiler, **options: Any) -> str:
    (values,) = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_each({values})"


class _RowsOf(FunctionElement[Any]):
    """An SQL table from one JSON parameter: the first clause. The other clauses name its columns."""

    inherit_cache = True
    name = "rows_of"


def rows_of(name: str, *columns: str) -> TableValuedAlias:
    """Return a table of the rows in the parameter ``name``: lists of integers, written by ``json_rows``."""
    rows = _RowsOf(bindparam(name, type_=String()), *map(literal_column, columns))
    return rows.table_valued(*(column(one, BigInteger) for one in columns))


def json_rows(rows: Iterable[Sequence[int]]) -> str:
    """Encode ``rows`` as the value of a parameter of ``rows_of``."""
    return json.dumps(list(rows))


@compiles(_RowsOf, "postgresql")
def _numbers_on_postgresql(element: _RowsOf, compiler: SQLCompiler, **options: Any) -> str:
    values, *names = (compiler.process(clause, **options) for clause in element.clauses)
    columns = (f"CAST(value ->> {index} AS bigint) AS {name}" for index, name in enumerate(names))
    selected = ", ".join(columns)
    return f"(SELECT {selected} FROM json_array_elements(CAST({values} AS json)))"  # noqa: S608 - compiled


@compiles(_RowsOf, "sqlite")
def _numbers_on_sqlite(element: _RowsOf, compiler: SQLCompiler, **options: Any) -> str:
    values, *names = (compiler.process(clause, **options) for clause in element.clauses)
    columns = (f"json_extract(value, '$[{index}]') AS {name}" for index, name in enumerate(names))
    return f"(SELECT {', '.join(columns)} FROM json_each({values}))"  # noqa: S608 - compiled SQL


@compiles(any_of, "postgresql")
def _on_postgresql(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(any_of_few, "postgresql")
def _few_on_postgresql(element: any_of_few, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    kind = compiler.dialect.type_compiler_instance.process(ARRAY(element.item_type))
    return f"{column} = ANY (CAST((SELECT {values}) AS {kind}))"


@compiles(any_of, "sqlite")
def _on_sqlite(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both are compiled SQL
