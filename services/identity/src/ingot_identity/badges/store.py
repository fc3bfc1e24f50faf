"""SQL for badges. A badge exists as soon as one user has it."""

from collections.abc import Collection, Sequence

from sqlalchemy import Column, ForeignKey, String, Table, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

SLUG_LENGTH = 40

badge = Table(
    "badge",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("slug", String(SLUG_LENGTH), nullable=False, unique=True),
    **LASTING_IDS,
)
user_badge = Table(
    "user_badge",
    metadata,
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("badge_id", ForeignKey("badge.id", ondelete="CASCADE"), primary_key=True, index=True),
)


class BadgeRow(TypedRow):
    id: int
    slug: str


async def add(db: Executor, account_id: int, slugs: Collection[str]) -> None:
    """Give badges to a user. Badges that the user already has stay."""
    await db.execute(
        insert(db, badge).values([{"slug": slug} for slug in sorted(slugs)]).on_conflict_do_nothing()
    )
    ids = (await db.execute(select(badge.c.id).where(badge.c.slug.in_(slugs)))).scalars()
    values = [{"account_id": account_id, "badge_id": badge_id} for badge_id in sorted(ids)]
    await db.execute(insert(db, user_badge).values(values).on_conflict_do_nothing())


async def remove(db: Executor, account_id: int, slugs: Collection[str]) -> None:
    """Take badges from a user."""
    ids = select(badge.c.id).where(badge.c.slug.in_(slugs))
    await db.execute(
        delete(user_badge).where(user_badge.c.account_id == account_id, user_badge.c.badge_id.in_(ids))
    )


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[BadgeRow], int]:
    """Return a page of the badges of a user by slug, and their number."""
    statement = (
        select(badge)
        .join(user_badge, user_badge.c.badge_id == badge.c.id)
        .where(user_badge.c.account_id == account_id)
    )
    return await fetch_page(db, statement, page, BadgeRow, badge.c.slug)
