"""Ids of repositories as a result, and the condition that a row belongs to one of many repositories.

The ids are literals in the statement, since PostgreSQL's planner must know how many there are. It then
decides between reading each repository and scanning all issues from the newest on. As one constant they cost
nothing to plan, and are hashed. As one parameter each they take 27 µs.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Dialect, String, TypeDecorator, bindparam, not_, or_

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.rows import TypedRow


class RepositoryIdRow(TypedRow):
    """A repository in the result of a query."""

    repository_id: int


class _Ids(TypeDecorator[Collection[int]]):
    """An array literal in PostgreSQL, JSON in SQLite."""

    impl = String
    cache_ok = True

    def process_literal_param(self, value: Collection[int] | None, dialect: Dialect) -> str:
        text = ",".join(map(str, sorted(value or ())))
        return f"{{{text}}}" if dialect.name == "postgresql" else f"[{text}]"


def is_among(column: ColumnElement[Any], ids: Collection[int]) -> any_of:
    """True if ``column`` is one of ``ids``."""
    return any_of(column, bindparam(None, ids, type_=_Ids(), unique=True, literal_execute=True))


def of_units(
    repository_id: ColumnElement[int],
    is_pull: ColumnElement[bool],
    without_issues: Collection[int],
    without_pulls: Collection[int],
) -> list[ColumnElement[bool]]:
    """Match issues, except of the repositories ``without_issues``, and pull requests in the same way.

    Such repositories are rare, so most statements have no condition.
    """
    where: list[ColumnElement[bool]] = []
    if without_issues:
        where.append(or_(is_pull, not_(is_among(repository_id, without_issues))))
    if without_pulls:
        where.append(or_(not_(is_pull), not_(is_among(repository_id, without_pulls))))
    return where
