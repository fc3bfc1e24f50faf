"""A subquery that returns all of its rows as one text, so one statement reads an issue with its labels."""

from typing import Any

from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class JsonRows(FunctionElement[str]):
    """The rows of a subquery as the text of one JSON array of arrays."""

    inherit_cache = True
    type = Text()


@compiles(JsonRows, "postgresql")
def _compile_for_postgresql(element: JsonRows, compiler: Any, **options: Any) -> str:
    columns = compiler.process(element.clauses, **options)
    return f"CAST(coalesce(json_agg(json_build_array({columns})), '[]') AS TEXT)"


@compiles(JsonRows, "sqlite")
def _compile_for_sqlite(element: JsonRows, compiler: Any, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"
