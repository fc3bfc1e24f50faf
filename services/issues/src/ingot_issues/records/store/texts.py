"""Text search: each word is in the title, the body or a comment, regardless of case.

Words in quotation marks are a phrase. By relevance, issues with all words in the title come first.

On PostgreSQL the texts have trigram indexes (pg_trgm), which also include the repository (btree_gin). The
text is a literal in the statement, since the planner must know whether it is rare or common. For a rare text
the planner uses the index. For a common text the planner scans issues, the latest first.

On SQLite the virtual tables ``issue_trigrams`` and ``comment_trigrams`` (FTS5) find the candidates. They
contain all repositories, so a repository with few texts is searched without them.
"""

import re
from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    true,
    union,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from ingot_chassis.db.arrays import Condition, by_index, has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_issues.records.store.tables import comment, issue
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.repositories.store.ids import is_among
from ingot_issues.repositories.store.tables import counter

MOST_MATCHES = 10_000
"""The latest matching issues, and comments, that a search returns. An exact count would read all matches."""
_MOST: ColumnElement[int] = literal_column(str(MOST_MATCHES))
"""A literal like the text: a cached plan would not know the value of a parameter."""
ESCAPE = "/"
_WORD = re.compile(r'"([^"]*\S[^"]*)"|(\S+)')
MAX_WORDS = 8
"""Words of a search.

The rest of a longer text is searched as part of the last word, since each word costs a search.
"""


FEW = 500
"""Maximum number of issues, and of comments, of a repository for which SQLite scans all texts."""


class _SizeRow(TypedRow):
    """The number of all issues of a repository, and the number of its comments, up to FEW + 1."""

    issues: int
    comments: int


_COMMENTS = (
    select(comment.c.id)
    .where(comment.c.repository_id == counter.c.repository_id)
    .limit(literal_column(str(FEW + 1)))
)
_SIZE = PreparedQuery(
    select(
        (counter.c.last_number - counter.c.deleted_issues).label("issues"),
        select(func.count())
        .select_from(_COMMENTS.correlate(counter).subquery())
        .scalar_subquery()
        .label("comments"),
    ).where(counter.c.repository_id == bindparam("repository_id", type_=BigId)),
    _SizeRow,
)


async def uses_index(db: Executor, repository_id: int) -> bool:
    """Return whether a search in one repository uses the text indexes.

    On PostgreSQL this is always True, and the planner decides.
    """
    if db.dialect_name != "sqlite":
        return True
    size = await _SIZE.first(db, repository_id=repository_id)
    return size is not None and max(size.issues, size.comments) > FEW


class is_of(Condition):  # noqa: N801
    """True if a row belongs to one repository. ``column`` is the repository's id.

    The text indexes contain ``repository_id + 0``. With the plain column PostgreSQL would search them once
    per repository. On SQLite the sum keeps the planner from using another index.
    """


@compiles(is_of)
def _of_repository(element: is_of, compiler: SQLCompiler, **options: Any) -> str:
    column, repository_id = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column} = {repository_id} AND {column} + 0 = {repository_id})"


@compiles(is_of, "sqlite")
def _of_repository_on_sqlite(element: is_of, compiler: SQLCompiler, **options: Any) -> str:
    column, repository_id = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} + 0 = {repository_id}"


class is_match(Condition):  # noqa: N801
    """True if ``id_column`` is in the result of a statement.

    On PostgreSQL the ids are an array, and their rows are looked up. Otherwise the planner may scan all
    issues and search the ids for each.
    """


@compiles(is_match)
def _among_rows(element: is_match, compiler: SQLCompiler, **options: Any) -> str:
    id_column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{id_column} IN {ids}"


@compiles(is_match, "postgresql")
def _in_array(element: is_match, compiler: SQLCompiler, **options: Any) -> str:
    id_column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{id_column} = ANY (ARRAY{ids})"


def pattern_of(text: str) -> str:
    """Return the LIKE pattern, with ESCAPE, for lower-case texts that contain ``text``."""
    pattern = text.lower()
    for special in (ESCAPE, "%", "_"):
        pattern = pattern.replace(special, ESCAPE + special)
    return f"%{pattern}%"


def words_of(text: str) -> list[str]:
    """Return the words of a search text, and its phrases in quotation marks."""
    words = [quoted or word for quoted, word in _WORD.findall(text)]
    return [*words[: MAX_WORDS - 1], " ".join(words[MAX_WORDS - 1 :])] if len(words) > MAX_WORDS else words


def contains_text(text: str, repository_ids: Collection[int], *, indexed: bool = True) -> ColumnElement[bool]:
    """Return the condition for issues of these repositories with each word of ``text``.

    A word may be in the title, the body or a comment. Without ``indexed``, SQLite scans all texts.
    """
    words = enumerate(words_of(text))
    return and_(*(_contains_word(word, number, repository_ids, indexed=indexed) for number, word in words))


def relevance(text: str) -> ColumnElement[int]:
    """Return a sort key of matching issues. Issues with each word in the title come first."""
    words = enumerate(words_of(text))
    return case((and_(*(_has(issue.c.title, word, number) for number, word in words)), 0), else_=1)


def _has(column: ColumnElement[str], word: str, number: int) -> ColumnElement[bool]:
    value = bindparam(f"pattern_{number}", pattern_of(word), type_=String, literal_execute=True)
    return func.lower(column).like(value, escape=ESCAPE)


def _is_in(
    column: ColumnElement[int], repository_ids: Collection[int], *, indexed: bool
) -> ColumnElement[bool]:
    if len(repository_ids) != 1:
        return is_among(column, repository_ids)
    (repository_id,) = repository_ids
    one = cast(bindparam("in_repository", repository_id, type_=BigId, literal_execute=True), BigId)
    return is_of(column, one) if indexed else column == one


def _contains_word(
    word: str, number: int, repository_ids: Collection[int], *, indexed: bool
) -> ColumnElement[bool]:
    in_issues = (
        select(issue.c.id)
        .where(
            has_trigrams(issue.c.id, "issue_trigrams", word) if indexed else true(),
            _is_in(issue.c.repository_id, repository_ids, indexed=indexed),
            _has(issue.c.title, word, number) | _has(issue.c.body, word, number),
        )
        .order_by(issue.c.id.desc())
        .limit(_MOST)
        .subquery(f"in_issues_{number}")
    )
    in_comments = (
        select(comment.c.issue_id)
        .where(
            has_trigrams(comment.c.id, "comment_trigrams", word) if indexed else true(),
            _is_in(comment.c.repository_id, repository_ids, indexed=indexed),
            comment.c.kind == CommentKind.COMMENT,
            _has(comment.c.body, word, number),
        )
        .order_by(comment.c.id.desc())
        .limit(_MOST)
        .subquery(f"in_comments_{number}")
    )
    ids = by_index(union(select(in_issues.c.id), select(in_comments.c.issue_id)), f"matches_{number}")
    return is_match(issue.c.id, select(ids.c.id).scalar_subquery())
