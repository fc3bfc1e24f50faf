"""The condition of a search by text: the title, the body or a comment contains each word of it, in any case of letters.

What stands in quotation marks is looked for as it is. By relevance, issues with all of it in the title come first.

On PostgreSQL the texts have trigram indexes (pg_trgm). The text is written into the statement: only so does the planner
know whether it is rare, when the index finds it, or common, when walking from the newest on finds it soon.

On SQLite the virtual tables ``issue_trigrams`` and ``comment_trigrams`` (FTS5) say which rows may have the text.
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
    func,
    literal_column,
    select,
    true,
    union,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from ingot_chassis.db.arrays import Condition
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.repository_ids import is_among
from ingot_issues.store.tables import comment, issue

MOST_MATCHES = 10_000
"""Issues, and comments, that a text finds at most, the newest: an exact number would cost as much as looking at each."""
_MOST: ColumnElement[int] = literal_column(str(MOST_MATCHES))
"""Written into the statement like the text: as a parameter it would be unknown to a plan that is kept."""
ESCAPE = "/"
_TRIGRAM = 3
_WORD = re.compile(r'"([^"]*\S[^"]*)"|(\S+)')
MAX_WORDS = 8
"""What comes after so many is looked for as it is, together with the last of them: each word costs a search."""


class may_match(Condition):  # noqa: N801 - written like the functions of SQL
    """Whether the index ``table`` of SQLite's has the text in the row ``id_column``; true elsewhere."""

    def __init__(self, id_column: ColumnElement[int], table: str, text: str) -> None:
        phrase = bindparam(None, '"' + text.replace('"', '""') + '"', type_=String, unique=True)
        super().__init__(id_column, literal_column(table), phrase)


@compiles(may_match)
def _without_index(_element: may_match, _compiler: SQLCompiler, **_options: Any) -> str:
    return "true"


@compiles(may_match, "sqlite")
def _on_sqlite(element: may_match, compiler: SQLCompiler, **options: Any) -> str:
    id_column, table, phrase = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{id_column} IN (SELECT rowid FROM {table} WHERE {table} MATCH {phrase})"  # noqa: S608


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


def _may_match(id_column: ColumnElement[int], table: str, text: str) -> ColumnElement[bool]:
    """Texts that are too short for the index, or whose letters FTS5 may fold in another way, are looked for in all rows."""
    is_plain = all(letter.isascii() or letter.lower() == letter.upper() for letter in text)
    return may_match(id_column, table, text) if is_plain and len(text) >= _TRIGRAM else true()


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


def contains_text(text: str, repository_ids: Collection[int]) -> ColumnElement[bool]:
    """Whether an issue of these repositories has each word of the text, in any of its texts."""
    words = enumerate(words_of(text))
    return and_(*(_contains_word(word, number, repository_ids) for number, word in words))


def relevance(text: str) -> ColumnElement[int]:
    """Sorts issues that have the text: those with each word in the title come first."""
    words = enumerate(words_of(text))
    return case((and_(*(_has(issue.c.title, word, number) for number, word in words)), 0), else_=1)


def _has(column: ColumnElement[str], word: str, number: int) -> ColumnElement[bool]:
    value = bindparam(f"pattern_{number}", pattern_of(word), type_=String, literal_execute=True)
    return func.lower(column).like(value, escape=ESCAPE)


def _contains_word(word: str, number: int, repository_ids: Collection[int]) -> ColumnElement[bool]:
    in_issues = (
        select(issue.c.id)
        .where(
            _may_match(issue.c.id, "issue_trigrams", word),
            is_among(issue.c.repository_id, repository_ids),
            _has(issue.c.title, word, number) | _has(issue.c.body, word, number),
        )
        .order_by(issue.c.id.desc())
        .limit(_MOST)
        .subquery(f"in_issues_{number}")
    )
    in_comments = (
        select(comment.c.issue_id)
        .where(
            _may_match(comment.c.id, "comment_trigrams", word),
            is_among(comment.c.repository_id, repository_ids),
            comment.c.kind == CommentKind.COMMENT,
            _has(comment.c.body, word, number),
        )
        .order_by(comment.c.id.desc())
        .limit(_MOST)
        .subquery(f"in_comments_{number}")
    )
    ids = (
        union(select(in_issues.c.id), select(in_comments.c.issue_id))
        .cte(f"matches_{number}")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    return is_match(issue.c.id, select(ids.c.id).scalar_subquery())
