"""The condition of a search by text: the title, the body or a comment contains it as it is, in any case of letters.

On PostgreSQL the texts have trigram indexes (pg_trgm). The text is written into the statement: only so does the planner
know whether it is rare, when the index finds it, or common, when walking from the newest on finds it soon.
"""

from collections.abc import Collection

from sqlalchemy import ColumnElement, String, bindparam, func, select, union

from ingot_issues.store.comments import CommentKind
from ingot_issues.store.repository_ids import is_among
from ingot_issues.store.tables import comment, issue

MOST_MATCHES = 10_000
"""Issues, and comments, that a text finds at most, the newest: an exact number would cost as much as looking at each."""
_ESCAPE = "/"


def contains_text(text: str, repository_ids: Collection[int]) -> ColumnElement[bool]:
    """Whether an issue of these repositories has the text."""
    pattern = text.lower()
    for special in (_ESCAPE, "%", "_"):
        pattern = pattern.replace(special, _ESCAPE + special)
    value = bindparam("text_pattern", f"%{pattern}%", type_=String, literal_execute=True)

    def has_it(column: ColumnElement[str]) -> ColumnElement[bool]:
        return func.lower(column).like(value, escape=_ESCAPE)

    in_issues = (
        select(issue.c.id)
        .where(is_among(issue.c.repository_id, repository_ids), has_it(issue.c.title) | has_it(issue.c.body))
        .order_by(issue.c.id.desc())
        .limit(MOST_MATCHES)
        .subquery("in_issues")
    )
    in_comments = (
        select(comment.c.issue_id)
        .where(
            is_among(comment.c.repository_id, repository_ids),
            comment.c.kind == CommentKind.COMMENT,
            has_it(comment.c.body),
        )
        .order_by(comment.c.id.desc())
        .limit(MOST_MATCHES)
        .subquery("in_comments")
    )
    # Not flattened: else the planner may walk all issues, and look for each among the matches.
    ids = (
        union(select(in_issues.c.id), select(in_comments.c.issue_id))
        .cte("matches")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    return issue.c.id.in_(select(ids.c.id))
