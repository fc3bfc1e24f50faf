"""SQL for placeholders: what people of a source did, of which no column here keeps a name.

Texts and reviews keep their authors in ``original_author``. A placeholder has one of the other roles.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, Text, delete, func, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_contracts.repos.imports import GHOST_ID
from ingot_issues.attachments.store import attachment
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.reactions.store import reaction
from ingot_issues.records.store.tables import comment, issue, pull
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviewers.store.tables import review, review_comment
from ingot_issues.schema import metadata
from ingot_issues.times.store.tracked import tracked_time

# `person` is a login at the source in lower case. `row_id` is a row of the table of `role`, or 0 where the issue
# identifies it. `details` is JSON: the columns of a request for a review.
placeholder = Table(
    "placeholder",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigId, nullable=False),
    Column("person", String(255), nullable=False),
    Column("role", Integer, nullable=False),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("row_id", BigId, nullable=False),
    Column("details", Text),
    Index("ix_placeholder_of_person", "repository_id", "person", "id"),
    **LASTING_IDS,
)


class Role(IntEnum):
    """Values of the column ``role``."""

    REACTION = 1
    TIME = 2
    MERGER = 3
    RESOLVER = 4
    ASSIGNEE = 5
    REVIEWER = 6


READERS = (Role.ASSIGNEE, Role.REVIEWER)
"""Roles of people who must be able to read the repository."""
AUTHORED: Mapping[str, Table] = {one.name: one for one in (issue, comment, review, review_comment)}
"""Tables, by their names, whose rows keep the name of their author at the source."""


class PlaceholderRow(TypedRow):
    """A thing that a person of the source did."""

    id: int
    role: int
    issue_id: int
    row_id: int
    details: str | None


class AssigneeRow(TypedRow):
    """An assignee of an issue."""

    issue_id: int
    account_id: int
    position: int


async def add_all(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(placeholder.insert(), values)


async def list_first(
    db: Executor, repository_id: int, person: str, roles: Collection[Role], limit: int
) -> Sequence[PlaceholderRow]:
    """Return the first placeholders of a person."""
    columns = [placeholder.c[name] for name in PlaceholderRow.__annotations__]
    statement = select(*columns).where(
        placeholder.c.repository_id == repository_id,
        placeholder.c.person == person,
        placeholder.c.role.in_(roles),
    )
    return await fetch_all(db, statement.order_by(placeholder.c.id).limit(limit), PlaceholderRow)


async def remove(db: Executor, ids: Collection[int]) -> None:
    await db.execute(delete(placeholder).where(placeholder.c.id.in_(ids)))


async def remove_assignees(db: Executor, repository_id: int, issue_id: int, people: Collection[str]) -> None:
    """Delete the placeholders of people who are no assignees of an issue any more."""
    await db.execute(
        delete(placeholder).where(
            placeholder.c.repository_id == repository_id,
            placeholder.c.issue_id == issue_id,
            placeholder.c.role == Role.ASSIGNEE,
            placeholder.c.person.in_(people),
        )
    )


async def remove_of_repository(db: Executor, repository_id: int) -> None:
    await db.execute(delete(placeholder).where(placeholder.c.repository_id == repository_id))


async def authored_ids(
    db: Executor, name: str, repository_id: int, person: str, after: int, limit: int
) -> list[int]:
    """Return ids of rows of a table that the ghost has for a person of the source, in their order."""
    table = AUTHORED[name]
    statement = select(table.c.id).where(
        table.c.id > after,
        table.c.author_id == GHOST_ID,
        func.lower(table.c.original_author) == person,
    )
    if table is review:
        statement = statement.join(issue, issue.c.id == review.c.issue_id)
    elif table is review_comment:
        statement = statement.join(review, review.c.id == review_comment.c.review_id)
        statement = statement.join(issue, issue.c.id == review.c.issue_id)
    owner = comment if table is comment else issue
    statement = statement.where(owner.c.repository_id == repository_id)
    return list((await db.execute(statement.order_by(table.c.id).limit(limit))).scalars())


async def change_authors(db: Executor, name: str, ids: Collection[int], account_id: int) -> None:
    """Give rows of the ghost in a table, and the files of texts, to an account."""
    table = AUTHORED[name]
    is_ghost = table.c.author_id == GHOST_ID
    await db.execute(update(table).where(table.c.id.in_(ids), is_ghost).values(author_id=account_id))
    if table is issue:
        of_texts = attachment.c.issue_id.in_(ids), attachment.c.comment_id.is_(None)
    elif table is comment:
        of_texts = attachment.c.comment_id.in_(ids), attachment.c.comment_id.is_not(None)
    else:
        return
    ghost_has = attachment.c.uploader_id == GHOST_ID
    await db.execute(update(attachment).where(*of_texts, ghost_has).values(uploader_id=account_id))


async def change_reactions(db: Executor, ids: Collection[int], account_id: int) -> None:
    """Give reactions of the ghost to an account. Those that the account has itself are deleted."""
    own = reaction.alias("own")
    is_double = (
        select(own.c.id)
        .where(
            own.c.issue_id == reaction.c.issue_id,
            own.c.comment_id.is_not_distinct_from(reaction.c.comment_id),
            own.c.content == reaction.c.content,
            own.c.account_id == account_id,
        )
        .exists()
    )
    of_ghost = reaction.c.id.in_(ids), reaction.c.account_id == GHOST_ID
    await db.execute(delete(reaction).where(*of_ghost, is_double))
    await db.execute(update(reaction).where(*of_ghost).values(account_id=account_id))


async def change_times(db: Executor, ids: Collection[int], account_id: int) -> None:
    of_ghost = tracked_time.c.id.in_(ids), tracked_time.c.account_id == GHOST_ID
    await db.execute(update(tracked_time).where(*of_ghost).values(account_id=account_id))


async def change_mergers(db: Executor, issue_ids: Collection[int], account_id: int) -> None:
    of_ghost = pull.c.issue_id.in_(issue_ids), pull.c.merged_by == GHOST_ID
    await db.execute(update(pull).where(*of_ghost).values(merged_by=account_id))


async def change_resolvers(db: Executor, ids: Collection[int], account_id: int) -> None:
    of_ghost = review_comment.c.id.in_(ids), review_comment.c.resolver_id == GHOST_ID
    await db.execute(update(review_comment).where(*of_ghost).values(resolver_id=account_id))


async def assignees_of(db: Executor, issue_ids: Collection[int]) -> Sequence[AssigneeRow]:
    columns = (assignee.c.issue_id, assignee.c.account_id, assignee.c.position)
    statement = select(*columns).where(assignee.c.issue_id.in_(issue_ids))
    return await fetch_all(db, statement, AssigneeRow)


async def add_assignees(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(assignee.insert(), values)


async def reviewers_of(db: Executor, issue_ids: Collection[int], account_id: int) -> set[int]:
    """Return the issues that have a request for a review, or a review, of an account."""
    statement = select(review.c.issue_id).where(
        review.c.issue_id.in_(issue_ids), review.c.author_id == account_id
    )
    return set((await db.execute(statement)).scalars())


async def add_requests(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(review.insert(), [{**one, "state": ReviewState.REQUEST_REVIEW} for one in values])
