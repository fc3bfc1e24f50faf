"""Conditions that the databases write in ways of their own, such as a list as one value of a statement.

A list with an expanding ``IN`` is another statement for each length.
"""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import BindParameter, Boolean, ColumnElement, Dialect, String, TypeDecorator, bindparam
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class ArrayOf(TypeDecorator[list[Any]]):
    """A parameter: an array of PostgreSQL's, JSON on SQLite."""

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
    """A condition with a ``compiles`` for each database; its clauses say which one it is."""

    _is_implicitly_boolean = True  # SQLite would compare with 1, and use no index
    type = Boolean()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.inherit_cache = True  # SQLAlchemy asks each class itself


class any_of(Condition):  # noqa: N801 - written like the functions of SQL
    """Whether ``column`` is one of ``values``: a parameter with a list, or the name of one."""

    def __init__(self, column: ColumnElement[Any], values: str | BindParameter[Any]) -> None:
        named = bindparam(values, type_=ArrayOf(column.type)) if isinstance(values, str) else values
        super().__init__(column, named)


class each_of(FunctionElement[Any]):  # noqa: N801 - written like the functions of SQL
    """The values in the parameter ``name``, a list, as rows of one column ``value``: use ``table_valued("value")``."""

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


@compiles(any_of, "postgresql")
def _on_postgresql(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(any_of, "sqlite")
def _on_sqlite(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both are compiled SQL
