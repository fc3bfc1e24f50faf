"""The condition that a row belongs to one of many repositories: their ids are written into the statement.

Only so does PostgreSQL's planner know how many they are, which decides between reading each of them and walking all
issues from the newest on. As one constant they cost nothing to plan, and are hashed; as a parameter each they take 27 µs.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, Boolean, ColumnElement, Dialect, String, TypeDecorator, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Ids(TypeDecorator[Collection[int]]):
    """Written as an array of PostgreSQL's, as JSON on SQLite."""

    impl = String
    cache_ok = True

    def process_literal_param(self, value: Collection[int] | None, dialect: Dialect) -> str:
        text = ",".join(map(str, sorted(value or ())))
        return f"{{{text}}}" if dialect.name == "postgresql" else f"[{text}]"


class is_among(FunctionElement[bool]):  # noqa: N801 - written like the functions of SQL
    """Whether ``column`` is one of ``ids``."""

    inherit_cache = True
    name = "is_among"
    _is_implicitly_boolean = True  # SQLite would compare with 1, and use no index
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], ids: Collection[int]) -> None:
        super().__init__(
            column, bindparam(None, ids, type_=_Ids(BigInteger), unique=True, literal_execute=True)
        )


@compiles(is_among, "postgresql")
def _on_postgresql(element: is_among, compiler: SQLCompiler, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY (CAST({ids} AS BIGINT[]))"


@compiles(is_among, "sqlite")
def _on_sqlite(element: is_among, compiler: SQLCompiler, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"  # noqa: S608 - both are compiled SQL
