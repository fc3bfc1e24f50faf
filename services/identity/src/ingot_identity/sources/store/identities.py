"""SQL for the links of accounts with sources."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, delete, or_, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.sources.store.tables import IdentityRow, SourceKind, auth_source, external_identity

_BY_SUBJECT = PreparedQuery(
    select(external_identity).where(
        external_identity.c.source_id == bindparam("source_id", type_=BigId),
        external_identity.c.subject == bindparam("subject"),
    ),
    IdentityRow,
)
_OF_ACCOUNT = PreparedQuery(
    select(external_identity).where(
        external_identity.c.account_id == bindparam("account_id", type_=BigId),
        external_identity.c.source_id == bindparam("source_id", type_=BigId),
    ),
    IdentityRow,
)


async def get(db: Executor, source_id: int, subject: str) -> IdentityRow | None:
    """Return the link of the person with the id ``subject`` at the source, or None."""
    return await _BY_SUBJECT.first(db, source_id=source_id, subject=subject)


async def get_of_account(db: Executor, account_id: int, source_id: int) -> IdentityRow | None:
    return await _OF_ACCOUNT.first(db, account_id=account_id, source_id=source_id)


async def list_of_account(db: Executor, account_id: int) -> Sequence[IdentityRow]:
    """Return the links of an account, ordered by source."""
    statement = select(external_identity).where(external_identity.c.account_id == account_id)
    return await fetch_all(db, statement.order_by(external_identity.c.source_id), IdentityRow)


async def list_of_source(db: Executor, source_id: int) -> Sequence[IdentityRow]:
    """Return all links of a source, ordered by account."""
    statement = select(external_identity).where(external_identity.c.source_id == source_id)
    return await fetch_all(db, statement.order_by(external_identity.c.account_id), IdentityRow)


async def has_directory(db: Executor, account_id: int) -> bool:
    """True if the account is linked with an enabled directory, which has a password for it."""
    statement = (
        select(external_identity.c.id)
        .join(auth_source, auth_source.c.id == external_identity.c.source_id)
        .where(external_identity.c.account_id == account_id)
        .where(auth_source.c.kind == SourceKind.LDAP, auth_source.c.enabled)
    )
    return (await db.execute(statement)).first() is not None


async def has_enabled(db: Executor, account_id: int, *, besides: int = 0) -> bool:
    """True if the account is linked with an enabled source other than ``besides``."""
    statement = (
        select(external_identity.c.id)
        .join(auth_source, auth_source.c.id == external_identity.c.source_id)
        .where(external_identity.c.account_id == account_id)
        .where(auth_source.c.id != besides, auth_source.c.enabled)
    )
    return (await db.execute(statement)).first() is not None


async def add(db: Executor, **values: Any) -> bool:
    """Insert a link. Return False if the person or the account is already linked at the source."""
    values = {"created_at": now(), **values}
    statement = insert(db, external_identity).values(values).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1


async def change(db: Executor, identity_id: int, **values: Any) -> None:
    await db.execute(update(external_identity).where(external_identity.c.id == identity_id).values(**values))


async def forget_deactivation(db: Executor, account_id: int) -> None:
    """Clear the mark that a source deactivated the account, so no source activates it again."""
    statement = update(external_identity).where(external_identity.c.account_id == account_id)
    await db.execute(statement.values(deactivated=False))


async def keep_restriction(db: Executor, account_id: int) -> None:
    """Clear the marks that sources restricted the account, so only an administrator ends the restriction."""
    statement = update(external_identity).where(external_identity.c.account_id == account_id)
    await db.execute(statement.values(gave_restricted=False))


async def remove(db: Executor, account_id: int, source_id: int) -> bool:
    """Delete a link. Return False if it does not exist."""
    statement = delete(external_identity).where(
        external_identity.c.account_id == account_id, external_identity.c.source_id == source_id
    )
    return (await db.execute(statement)).rowcount == 1


class LinkableRow(TypedRow):
    """A source, and its link with an account. The columns of a missing link are None."""

    source_id: int
    kind: SourceKind
    name: str
    title: str
    enabled: bool
    icon_type: str
    login_name: str | None
    email: str | None
    created_at: datetime | None
    last_sign_in_at: datetime | None


async def list_linkable(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[LinkableRow], int]:
    """Return a page of sources that are linked or can be linked with the account, by title.

    Users can only link enabled providers of OpenID Connect.
    """
    can_link = and_(auth_source.c.enabled, auth_source.c.kind == SourceKind.OIDC)
    linked = external_identity.c.account_id == account_id
    statement = (
        select(
            auth_source.c.id.label("source_id"),
            auth_source.c.kind,
            auth_source.c.name,
            auth_source.c.title,
            auth_source.c.enabled,
            auth_source.c.icon_type,
            external_identity.c.login_name,
            external_identity.c.email,
            external_identity.c.created_at,
            external_identity.c.last_sign_in_at,
        )
        .outerjoin(external_identity, and_(external_identity.c.source_id == auth_source.c.id, linked))
        .where(or_(can_link, external_identity.c.id.is_not(None)))
    )
    return await fetch_page(db, statement, page, LinkableRow, auth_source.c.title, auth_source.c.id)
