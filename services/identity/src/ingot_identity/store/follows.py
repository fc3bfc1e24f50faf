"""SQL for who follows whom."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, ScalarSelect, bindparam, delete, func, select, tuple_

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.store.tables import AccountRow, account, follow


class FollowCounts(TypedRow):
    """How many follow an account, and how many it follows."""

    followers: int
    following: int


class FollowCountsRow(FollowCounts):
    """The counts of the account with this id."""

    id: int


class ProfileRow(AccountRow, FollowCounts):
    """An account with its counts."""


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


async def add(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        insert(db, follow).values(follower_id=follower_id, followed_id=followed_id).on_conflict_do_nothing()
    )


async def remove(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        delete(follow).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )


async def exists(db: Executor, follower_id: int, followed_id: int) -> bool:
    rows = await db.execute(
        select(follow.c.id).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )
    return rows.first() is not None


async def list_followers(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Accounts that follow the account, in the order in which they began."""
    return await _accounts(db, follow.c.followed_id, account_id, follow.c.follower_id, page)


async def list_following(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Accounts that the account follows, in the order in which that began."""
    return await _accounts(db, follow.c.follower_id, account_id, follow.c.followed_id, page)


async def list_counts(db: Executor, account_ids: Collection[int]) -> dict[int, FollowCountsRow]:
    """How many follow each of the accounts, and how many it follows."""
    return {row.id: row for row in await _COUNTS.all(db, account_ids=list(account_ids))}


async def get_profile(db: Executor, account_id: int) -> ProfileRow | None:
    """An account and its counts by one statement."""
    return await _PROFILE.first(db, account_id=account_id)


async def remove_between(db: Executor, account_id: int, other_id: int) -> None:
    """Neither of the two follows the other any more."""
    pairs = [(account_id, other_id), (other_id, account_id)]
    await db.execute(delete(follow).where(tuple_(follow.c.follower_id, follow.c.followed_id).in_(pairs)))


async def _accounts(
    db: Executor, own: Column[Any], account_id: int, others: Column[Any], page: Slice
) -> tuple[Sequence[AccountRow], int]:
    statement = select(account).join(follow, others == account.c.id)
    ids = select(follow.c.id).where(own == account_id)
    return await fetch_page(db, statement, page, AccountRow, follow.c.id, ids=ids)
