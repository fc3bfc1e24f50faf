"""SQL for placeholders: actions of people at the source in rows that do not store the person's name.

Texts and reviews store their authors in ``original_author``. A placeholder has one of the other roles.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    delete,
    select,
    tuple_,
    update,
)

from ingot_chassis.db.arrays import ArrayOf, any_of
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
    """An action of a person at the source. ``person`` is a key of ``person_key``."""

    id: int
    person: str
    role: int
    issue_id: int
    row_id: int
    details: str | None


class AuthoredRow(TypedRow):
    """A row that belongs to the ghost, and the name of its author at the source."""

    id: int
    original_author: str


class ReviewerRow(TypedRow):
    """A pull request, and an account that has a review or a review request there."""

    issue_id: int
    author_id: int


class _RemovedRow(TypedRow):
    """A deleted placeholder."""

    id: int


class AssigneeRow(TypedRow):
    """An assignee of an issue."""

    issue_id: int
    account_id: int
    position: int


async def add_all(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(placeholder.insert(), values)


async def list_behind(
    db: Executor, repository_id: int, people: Collection[str], after: tuple[str, int], limit: int
) -> Sequence[PlaceholderRow]:
    """Return placeholders of ``people`` after ``after``, a person and an id, ordered by person and id."""
    columns = [placeholder.c[name] for name in PlaceholderRow.__annotations__]
    statement = select(*columns).where(
        placeholder.c.repository_id == repository_id,
        any_of(placeholder.c.person, bindparam("people", list(people), type_=ArrayOf(String()))),
        tuple_(placeholder.c.person, placeholder.c.id) > after,
    )
    order = (placeholder.c.person, placeholder.c.id)
    return await fetch_all(db, statement.order_by(*order).limit(limit), PlaceholderRow)


async def remove(db: Executor, ids: Collection[int]) -> set[int]:
    """Delete placeholders. Return the ids of placeholders that still existed."""
    statement = delete(placeholder).where(placeholder.c.id.in_(ids)).returning(placeholder.c.id)
    return {row.id for row in await fetch_all(db, statement, _RemovedRow)}


async def remove_assignees(db: Executor, repository_id: int, issue_id: int, people: Collection[str]) -> None:
    """Delete the placeholders of people as assignees of an issue."""
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


async def list_authored(
    db: Executor, name: str, repository_id: int, after: int, limit: int
) -> Sequence[AuthoredRow]:
    """Return rows of the ghost with an author at the source, in the order of ids after ``after``."""
    table = AUTHORED[name]
    statement = select(table.c.id, table.c.original_author).where(
        table.c.id > after, table.c.author_id == GHOST_ID, table.c.original_author != ""
    )
    if table is review:
        statement = statement.join(issue, issue.c.id == review.c.issue_id)
    elif table is review_comment:
        statement = statement.join(review, review.c.id == review_comment.c.review_id)
        statement = statement.join(issue, issue.c.id == review.c.issue_id)
    owner = comment if table is comment else issue
    statement = statement.where(owner.c.repository_id == repository_id)
    return await fetch_all(db, statement.order_by(table.c.id).limit(limit), AuthoredRow)


async def change_authors(db: Executor, name: str, accounts: Mapping[int, int]) -> None:
    """Move rows and the files of their texts from the ghost to accounts.

    The mapping has account ids by row id.
    """
    table = AUTHORED[name]
    await _give(db, table, table.c.id, table.c.author_id, accounts)
    if table is issue:
        of_text = attachment.c.comment_id.is_(None)
        await _give(db, attachment, attachment.c.issue_id, attachment.c.uploader_id, accounts, of_text)
    elif table is comment:
        await _give(db, attachment, attachment.c.comment_id, attachment.c.uploader_id, accounts)


async def _give(
    db: Executor,
    table: Table,
    key: Column[Any],
    owner: Column[Any],
    accounts: Mapping[int, int],
    *conditions: ColumnElement[bool],
) -> None:
    """Move rows of the ghost to accounts. ``accounts`` has account ids by the value of ``key``.

    Rows are changed one by one, in the order of the mapping.
    """
    if accounts:
        statement = update(table).where(key == bindparam("one"), owner == GHOST_ID, *conditions)
        values = [{"one": one, "account": account} for one, account in accounts.items()]
        await db.execute(statement.values({owner: bindparam("account")}), values)


async def change_reactions(db: Executor, accounts: Mapping[int, int]) -> None:
    """Move reactions from the ghost to accounts. ``accounts`` has account ids by reaction id.

    Reactions that an account already has are deleted.
    """
    own = reaction.alias("own")
    is_double = (
        select(own.c.id)
        .where(
            own.c.issue_id == reaction.c.issue_id,
            own.c.comment_id.is_not_distinct_from(reaction.c.comment_id),
            own.c.content == reaction.c.content,
            own.c.account_id == bindparam("account"),
        )
        .exists()
    )
    await _give(db, reaction, reaction.c.id, reaction.c.account_id, accounts, ~is_double)
    await db.execute(delete(reaction).where(reaction.c.id.in_(accounts), reaction.c.account_id == GHOST_ID))


async def change_times(db: Executor, accounts: Mapping[int, int]) -> None:
    await _give(db, tracked_time, tracked_time.c.id, tracked_time.c.account_id, accounts)


async def change_mergers(db: Executor, accounts: Mapping[int, int]) -> None:
    """Record accounts as the users who merged pull requests.

    ``accounts`` has account ids by pull request id.
    """
    await _give(db, pull, pull.c.issue_id, pull.c.merged_by, accounts)


async def change_resolvers(db: Executor, accounts: Mapping[int, int]) -> None:
    await _give(db, review_comment, review_comment.c.id, review_comment.c.resolver_id, accounts)


async def assignees_of(db: Executor, issue_ids: Collection[int]) -> Sequence[AssigneeRow]:
    columns = (assignee.c.issue_id, assignee.c.account_id, assignee.c.position)
    statement = select(*columns).where(assignee.c.issue_id.in_(issue_ids))
    return await fetch_all(db, statement, AssigneeRow)


async def add_assignees(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(assignee.insert(), values)


async def reviewers_of(db: Executor, issue_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return pairs of a pull request and an account that has a review or a review request there."""
    statement = select(review.c.issue_id, review.c.author_id).where(review.c.issue_id.in_(issue_ids))
    return {(row.issue_id, row.author_id) for row in await fetch_all(db, statement, ReviewerRow)}


async def add_requests(db: Executor, values: Sequence[dict[str, Any]]) -> None:
    if values:
        await db.execute(review.insert(), [{**one, "state": ReviewState.REQUEST_REVIEW} for one in values])
