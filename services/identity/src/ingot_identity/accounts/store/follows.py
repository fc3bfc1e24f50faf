"""Follows as profiles show them: the table, and queries for the numbers."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    ScalarSelect,
    Table,
    UniqueConstraint,
    bindparam,
    delete,
    func,
    select,
    tuple_,
)

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_identity.accounts.store.tables import AccountRow, account, metadata

follow = Table(
    "follow",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("follower_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("followed_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    UniqueConstraint("follower_id", "followed_id"),
    Index("ix_follow_followers", "followed_id", "id"),
    Index("ix_follow_following", "follower_id", "id"),
    **LASTING_IDS,
)


class FollowCounts(TypedRow):
    """The numbers of followers of an account, and of accounts that it follows."""

    followers: int
    following: int


class FollowCountsRow(FollowCounts):
    """The follow counts of the account with this id."""

    id: int


class ProfileRow(AccountRow, FollowCounts):
    """An account with its follow counts."""


def _count(own: Column[Any]) -> ScalarSelect[int]:
    return select(func.count()).where(own == account.c.id).correlate(account).scalar_subquery()


_FOLLOWERS = _count(follow.c.followed_id).label("followers")


_FOLLOWING = _count(follow.c.follower_id).label("following")


_COUNTS = PreparedQuery(
    select(account.c.id, _FOLLOWERS, _FOLLOWING).where(any_of(account.c.id, "account_ids")), FollowCountsRow
)


_PROFILE = PreparedQuery(
    select(account, _FOLLOWERS, _FOLLOWING).where(account.c.id == bindparam("account_id", type_=BigId)),
    ProfileRow,
)


async def list_counts(db: Executor, account_ids: Collection[int]) -> dict[int, FollowCountsRow]:
    """Return the follow counts of each account, by account id."""
    return {row.id: row for row in await _COUNTS.all(db, account_ids=list(account_ids))}


async def get_profile(db: Executor, account_id: int) -> ProfileRow | None:
    """Return an account and its follow counts, in one statement; None if the account does not exist."""
    return await _PROFILE.first(db, account_id=account_id)


async def remove_between(db: Executor, account_id: int, other_id: int) -> None:
    """Delete the follows between two accounts, in both directions."""
    pairs = [(account_id, other_id), (other_id, account_id)]
    await db.execute(delete(follow).where(tuple_(follow.c.follower_id, follow.c.followed_id).in_(pairs)))
