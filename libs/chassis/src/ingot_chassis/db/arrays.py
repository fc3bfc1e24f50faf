"""A list as one value of a statement: one with an expanding ``IN`` is another statement for each length."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Dialect, String, TypeDecorator, bindparam
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


class any_of(FunctionElement[bool]):  # noqa: N801 - written like the functions of SQL
    """Whether ``column`` is one of the values in the parameter ``name``, a list."""

    inherit_cache = True
    name = "any_of"
    _is_implicitly_boolean = True  # SQLite would compare with 1, and use no index
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=ArrayOf(column.type)))


@compiles(any_of, "postgresql")
def _on_postgresql(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(any_of, "sqlite")
def _on_sqlite(element: any_of, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both are compiled SQL
