"""SQL for the organizations of a user. Their rows are those of ``accounts``."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, exists, false, or_, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_identity.store.searches import has_name, list_accounts
from ingot_identity.store.tables import AccountKind, AccountRow, AccountVisibility, account, membership


async def list_page(
    db: Executor, user_id: int, page: Slice, *, viewer_id: int | None
) -> tuple[Sequence[AccountRow], int]:
    """Organizations a user belongs to, by name; those that ``viewer_id`` may see (0: nobody), None: all."""
    belongs: ColumnElement[bool] = membership.c.user_id == user_id
    if viewer_id is not None:
        belongs &= _shown_to(viewer_id)
    statement = select(account).join(membership, membership.c.organization_id == account.c.id).where(belongs)
    return await fetch_page(db, statement, page, AccountRow, account.c.lower_login)


async def list_visible(
    db: Executor, page: Slice, *, viewer_id: int | None, text: str = ""
) -> tuple[Sequence[AccountRow], int]:
    """Organizations with a text in a name, by name; those that ``viewer_id`` may know of (0: nobody), None: all."""
    matches: ColumnElement[bool] = and_(account.c.kind == AccountKind.ORGANIZATION, has_name(text))
    if viewer_id is not None:
        matches &= or_(_visible_to(viewer_id), _has_member(viewer_id))
    return await list_accounts(db, text, matches, page, account.c.lower_login)


def _shown_to(viewer_id: int) -> ColumnElement[bool]:
    """Fellow members see every membership, others the public ones of organizations they may know of."""
    return or_(_has_member(viewer_id), and_(membership.c.public, _visible_to(viewer_id)))


def _visible_to(viewer_id: int) -> ColumnElement[bool]:
    """Organizations that do not hide from whoever is no member."""
    levels = (AccountVisibility.PUBLIC, AccountVisibility.LIMITED)
    return account.c.visibility.in_(levels if viewer_id else levels[:1])


def _has_member(user_id: int) -> ColumnElement[bool]:
    if not user_id:
        return false()
    own = membership.alias("own")
    return exists().where(own.c.organization_id == account.c.id, own.c.user_id == user_id)
