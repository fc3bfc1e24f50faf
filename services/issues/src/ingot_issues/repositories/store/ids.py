"""Ids of repositories as a result, and the condition that a row belongs to one of many repositories.

The ids are literals in the statement, because PostgreSQL's planner must know their number. With it, the
planner decides between reading each repository and scanning all issues, latest first. One constant for all
ids costs nothing to plan, and is hashed. One parameter per id costs 27 µs per id.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Dialect, String, TypeDecorator, bindparam, not_, or_

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.rows import TypedRow


class RepositoryIdRow(TypedRow):
    """The id of a repository in the result of a query."""

    repository_id: int


class _Ids(TypeDecorator[Collection[int]]):
    """A literal of ids: an array in PostgreSQL, JSON in SQLite."""

    impl = String
    cache_ok = True

    def process_literal_param(self, value: Collection[int] | None, dialect: Dialect) -> str:
        text = ",".join(map(str, sorted(value or ())))
        return f"{{{text}}}" if dialect.name == "postgresql" else f"[{text}]"


def is_among(column: ColumnElement[Any], ids: Collection[int]) -> any_of:
    """Return the condition that ``column`` is one of ``ids``."""
    return any_of(column, bindparam(None, ids, type_=_Ids(), unique=True, literal_execute=True))


def of_units(
    repository_id: ColumnElement[int],
    is_pull: ColumnElement[bool],
    without_issues: Collection[int],
    without_pulls: Collection[int],
) -> list[ColumnElement[bool]]:
    """Return the condition for issues outside ``without_issues`` and pull requests outside ``without_pulls``.

    Both are ids of repositories. They are usually empty, so most statements have no condition.
    """
    where: list[ColumnElement[bool]] = []
    if without_issues:
        where.append(or_(is_pull, not_(is_among(repository_id, without_issues))))
    if without_pulls:
        where.append(or_(not_(is_pull), not_(is_among(repository_id, without_pulls))))
    return where
