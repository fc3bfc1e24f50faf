"""SQL for grants of users to applications, with authorizations and tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db import transaction
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_first, fetch_page
from ingot_identity.accounts.store.tables import AccountRow, account
from ingot_identity.oauth2.store.tables import (
    OAuth2ApplicationRow,
    OAuth2AuthorizationRow,
    OAuth2ConsentRow,
    OAuth2TokenKind,
    OAuth2TokenRow,
    oauth2_application,
    oauth2_authorization,
    oauth2_grant,
    oauth2_token,
)


class OAuth2HolderRow(AccountRow):
    """The account for which an access token acts, and the scopes of the token."""

    token_id: int
    scopes: str


class OAuth2GrantRow(OAuth2ConsentRow):
    """A grant of a user, with the application and its owner.

    ``owner`` is empty for a built-in application.
    """

    created_at: datetime
    application: str
    owner: str


_GRANTS = (
    select(
        oauth2_grant.c.id,
        oauth2_grant.c.scopes,
        oauth2_grant.c.created_at,
        oauth2_application.c.name.label("application"),
        func.coalesce(account.c.login, "").label("owner"),
    )
    .join(oauth2_application, oauth2_application.c.id == oauth2_grant.c.application_id)
    .outerjoin(account, account.c.id == oauth2_application.c.account_id)
)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[OAuth2GrantRow], int]:
    """Return a page of the grants of an account, latest first, and their number."""
    own = _GRANTS.where(oauth2_grant.c.account_id == account_id)
    return await fetch_page(db, own, page, OAuth2GrantRow, oauth2_grant.c.id.desc())


async def get_of_account(db: Executor, account_id: int, grant_id: int) -> OAuth2GrantRow | None:
    own = _GRANTS.where(oauth2_grant.c.account_id == account_id, oauth2_grant.c.id == grant_id)
    return await fetch_first(db, own, OAuth2GrantRow)


async def remove_grant(db: Executor, grant_id: int) -> None:
    """Delete a grant, with all codes and tokens from it."""
    await db.execute(delete(oauth2_grant).where(oauth2_grant.c.id == grant_id))


async def get_application(db: Executor, client_id: str) -> OAuth2ApplicationRow | None:
    statement = select(oauth2_application).where(oauth2_application.c.client_id == client_id)
    return await fetch_first(db, statement, OAuth2ApplicationRow)


async def lock_application(db: Executor, application_id: int) -> bool:
    """Lock an application until the transaction ends. Return False if it does not exist."""
    statement = select(oauth2_application.c.id).where(oauth2_application.c.id == application_id)
    locked = await db.execute(statement.with_for_update(read=True, key_share=True))
    return locked.scalar() is not None


async def get(db: Executor, account_id: int, application_id: int) -> OAuth2ConsentRow | None:
    statement = select(oauth2_grant.c.id, oauth2_grant.c.scopes).where(
        oauth2_grant.c.account_id == account_id, oauth2_grant.c.application_id == application_id
    )
    return await fetch_first(db, statement, OAuth2ConsentRow)


async def save(db: Executor, account_id: int, application_id: int, scopes: str) -> int:
    """Record the consent of a user. Return the id of the grant."""
    statement = transaction.insert(db, oauth2_grant).values(
        account_id=account_id, application_id=application_id, scopes=scopes, created_at=now()
    )
    statement = statement.on_conflict_do_update(
        index_elements=["account_id", "application_id"], set_={"scopes": scopes}
    ).returning(oauth2_grant.c.id)
    return int((await db.execute(statement)).scalar_one())


async def add_authorization(db: Executor, **values: Any) -> None:
    await db.execute(insert(oauth2_authorization).values(created_at=now(), **values))


async def lock_authorization(db: Executor, code_sha256: bytes) -> OAuth2AuthorizationRow | None:
    """Return the authorization of a code, locked until the transaction ends; None for an unknown code.

    The code may be used already.
    """
    statement = (
        select(oauth2_authorization, oauth2_grant.c.application_id, oauth2_grant.c.account_id)
        .join(oauth2_grant, oauth2_grant.c.id == oauth2_authorization.c.grant_id)
        .where(oauth2_authorization.c.code_sha256 == code_sha256)
        .with_for_update(of=oauth2_authorization)
    )
    return await fetch_first(db, statement, OAuth2AuthorizationRow)


async def mark_code_used(db: Executor, authorization_id: int) -> None:
    await db.execute(
        update(oauth2_authorization)
        .where(oauth2_authorization.c.id == authorization_id)
        .values(code_used_at=now())
    )


async def remove_authorization(db: Executor, authorization_id: int) -> None:
    """Delete an authorization, with its code and tokens."""
    await db.execute(delete(oauth2_authorization).where(oauth2_authorization.c.id == authorization_id))


async def remove_token(db: Executor, token_id: int) -> None:
    await db.execute(delete(oauth2_token).where(oauth2_token.c.id == token_id))


async def add_token(
    db: Executor,
    authorization_id: int,
    kind: OAuth2TokenKind,
    *,
    sha256: bytes,
    scopes: str,
    expires_at: datetime,
) -> None:
    await db.execute(
        insert(oauth2_token).values(
            authorization_id=authorization_id,
            kind=kind,
            sha256=sha256,
            scopes=scopes,
            created_at=now(),
            expires_at=expires_at,
        )
    )
    await db.execute(
        update(oauth2_authorization)
        .where(oauth2_authorization.c.id == authorization_id, oauth2_authorization.c.expires_at < expires_at)
        .values(expires_at=expires_at)
    )


def _tokens(sha256: bytes) -> Select[Any]:
    return (
        select(oauth2_token, oauth2_grant.c.application_id, oauth2_grant.c.account_id, account.c.login)
        .join(oauth2_authorization, oauth2_authorization.c.id == oauth2_token.c.authorization_id)
        .join(oauth2_grant, oauth2_grant.c.id == oauth2_authorization.c.grant_id)
        .join(account, account.c.id == oauth2_grant.c.account_id)
        .where(oauth2_token.c.sha256 == sha256)
    )


async def lock_token(db: Executor, sha256: bytes) -> OAuth2TokenRow | None:
    """Return a token, locked with its chain until the transaction ends; None for an unknown token.

    The token may be used or expired.
    """
    statement = _tokens(sha256).with_for_update(of=[oauth2_authorization, oauth2_token])
    return await fetch_first(db, statement, OAuth2TokenRow)


async def get_live_token(db: Executor, sha256: bytes) -> OAuth2TokenRow | None:
    """Return the token; None if it is not valid or its account may not sign in."""
    statement = _tokens(sha256).where(
        oauth2_token.c.used_at.is_(None),
        oauth2_token.c.expires_at > now(),
        account.c.active,
        ~account.c.login_prohibited,
    )
    return await fetch_first(db, statement, OAuth2TokenRow)


async def get_holder(db: Executor, *, sha256: bytes = b"", token_id: int = 0) -> OAuth2HolderRow | None:
    """Return the account of an access token, found by digest or id. None if missing or expired."""
    statement = (
        select(account, oauth2_token.c.id.label("token_id"), oauth2_token.c.scopes)
        .join(oauth2_grant, oauth2_grant.c.account_id == account.c.id)
        .join(oauth2_authorization, oauth2_authorization.c.grant_id == oauth2_grant.c.id)
        .join(oauth2_token, oauth2_token.c.authorization_id == oauth2_authorization.c.id)
        .where(
            oauth2_token.c.sha256 == sha256 if sha256 else oauth2_token.c.id == token_id,
            oauth2_token.c.kind == OAuth2TokenKind.ACCESS,
            oauth2_token.c.expires_at > now(),
        )
    )
    return await fetch_first(db, statement, OAuth2HolderRow)


async def mark_token_used(db: Executor, token_id: int) -> None:
    await db.execute(update(oauth2_token).where(oauth2_token.c.id == token_id).values(used_at=now()))


async def remove_of_account(db: Executor, account_id: int) -> None:
    """Delete all grants of an account, with their codes and tokens."""
    await db.execute(delete(oauth2_grant).where(oauth2_grant.c.account_id == account_id))


async def remove_expired(db: Executor) -> None:
    """Delete expired codes and tokens.

    Used refresh tokens are kept as long as their chain, to recognize a second use.
    """
    past, is_access = now(), oauth2_token.c.kind == OAuth2TokenKind.ACCESS
    await db.execute(delete(oauth2_authorization).where(oauth2_authorization.c.expires_at <= past))
    await db.execute(delete(oauth2_token).where(is_access, oauth2_token.c.expires_at <= past))
