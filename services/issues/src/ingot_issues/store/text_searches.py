"""The condition of a search by text: the title, the body or a comment contains each word of it, in any case of letters.

What stands in quotation marks is looked for as it is. By relevance, issues with all of it in the title come first.

On PostgreSQL the texts have trigram indexes (pg_trgm), which also know their repository (btree_gin). The text is written into the statement: only so does the planner
know whether it is rare, when the index finds it, or common, when walking from the newest on finds it soon.

On SQLite the virtual tables ``issue_trigrams`` and ``comment_trigrams`` (FTS5) say which rows may have the text. They find
those of all repositories, so a repository that has few texts is searched without them.
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
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.repository_ids import is_among
from ingot_issues.store.tables import comment, counter, issue

MOST_MATCHES = 10_000
"""Issues, and comments, that a text finds at most, the newest: an exact number would cost as much as looking at each."""
_MOST: ColumnElement[int] = literal_column(str(MOST_MATCHES))
"""Written into the statement like the text: as a parameter it would be unknown to a plan that is kept."""
ESCAPE = "/"
_WORD = re.compile(r'"([^"]*\S[^"]*)"|(\S+)')
MAX_WORDS = 8
"""What comes after so many is looked for as it is, together with the last of them: each word costs a search."""


FEW = 500
"""Issues, and comments, of a repository: on SQLite each of their texts is looked at."""


class _SizeRow(TypedRow):
    """How many issues a repository has, and how many comments, if not more than FEW."""

    issues: int
    comments: int


_COMMENTS = select(comment.c.id).where(comment.c.repository_id == counter.c.repository_id).limit(FEW + 1)
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
    """Whether a search in one repository asks the indexes of texts; on PostgreSQL the planner decides."""
    if db.dialect_name != "sqlite":
        return True
    size = await _SIZE.first(db, repository_id=repository_id)
    return size is not None and max(size.issues, size.comments) > FEW


class is_of(Condition):  # noqa: N801
    """Whether a row is of one repository: ``column`` is its id.

    The indexes of texts have ``repository_id + 0``: with the column itself PostgreSQL would ask them anew for each of many
    repositories. On SQLite it keeps the planner from taking another index than that of the texts.
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
    """Whether ``id_column`` is one of the ids of a statement. On PostgreSQL they are an array, whose rows are looked up.

    Else the planner may walk all issues, and look for each among the ids.
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
    """The pattern of LIKE for texts in lower case that contain this one, with ESCAPE."""
    pattern = text.lower()
    for special in (ESCAPE, "%", "_"):
        pattern = pattern.replace(special, ESCAPE + special)
    return f"%{pattern}%"


def words_of(text: str) -> list[str]:
    """The words of a text that is looked for, and what it has in quotation marks."""
    words = [quoted or word for quoted, word in _WORD.findall(text)]
    return [*words[: MAX_WORDS - 1], " ".join(words[MAX_WORDS - 1 :])] if len(words) > MAX_WORDS else words


def contains_text(text: str, repository_ids: Collection[int], *, indexed: bool = True) -> ColumnElement[bool]:
    """Whether an issue of these repositories has each word of the text, in any of its texts.

    ``indexed`` False: on SQLite each text of theirs is looked at.
    """
    words = enumerate(words_of(text))
    return and_(*(_contains_word(word, number, repository_ids, indexed=indexed) for number, word in words))


def relevance(text: str) -> ColumnElement[int]:
    """Sorts issues that have the text: those with each word in the title come first."""
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
