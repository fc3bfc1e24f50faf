"""The flow from a user's consent to tokens. This module stores the decisions of the provider.

A code works once, within ten minutes. A refresh token works once. A second use of either means theft, so
every token from the same code is revoked.
"""

from collections.abc import Mapping
from typing import Any

from authlib.oauth2.rfc6749.util import extract_basic_authorization
from joserfc.jwk import RSAKey

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.oauth2.rules import scopes as oauth2_scopes
from ingot_identity.oauth2.rules import userinfo
from ingot_identity.oauth2.rules.protocol import (
    ACCESS_LIFETIME,
    CODE_LIFETIME,
    REFRESH_LIFETIME,
    Answer,
    Pairs,
    Provider,
    RequestRows,
)
from ingot_identity.oauth2.rules.requests import Consent, issue_tokens
from ingot_identity.oauth2.store import grants as store
from ingot_identity.oauth2.store.grants import OAuth2GrantRow
from ingot_identity.oauth2.store.tables import OAuth2ApplicationRow, OAuth2TokenKind
from ingot_identity.sessions import store as browser_sessions
from ingot_identity.tokens import rules as tokens


async def needs_consent(db: Executor, consent: Consent, account: AccountRow) -> bool:
    """True if the user must consent.

    Public clients always need consent, because they cannot prove their identity (RFC 8252, 8.6).
    """
    application = consent.application
    if not application.confidential or consent.parameter("prompt") in ("consent", "select_account"):
        return True
    if application.skip_consent:
        return False
    row = await store.get(db, account.id, application.id)
    return row is None or not oauth2_scopes.covers(row.scopes, consent.scope)


async def give_consent(tx: Tx, consent: Consent, account_id: int, session_sha256: bytes) -> str:
    """Grant the requested scopes. Return the URL that passes the code to the application.

    Raises NotFound if the session or the application was deleted.
    """
    await lock_for_update(tx, account_id)  # a new password ends all sessions and grants
    session = await browser_sessions.get(tx, session_sha256)
    application = consent.application
    if session is None or session.id != account_id or not await store.lock_application(tx, application.id):
        raise NotFound
    before = await store.get(tx, account_id, application.id)
    scopes = oauth2_scopes.union(before.scopes if before else "", consent.scope)
    grant_id = await store.save(tx, account_id, application.id, scopes)
    location = consent.code_location(session)
    expires_at = now() + CODE_LIFETIME
    await store.add_authorization(
        tx,
        grant_id=grant_id,
        scopes=consent.scope,
        redirect_uri=consent.parameter("redirect_uri"),
        code_sha256=tokens.digest(consent.provider.code),
        code_challenge=consent.parameter("code_challenge"),
        nonce=consent.parameter("nonce"),
        signed_in_at=session.signed_in_at,
        code_expires_at=expires_at,
        expires_at=expires_at,
    )
    return location


async def exchange(
    tx: Tx, presenter: Presenter, key: RSAKey, pairs: Pairs, authorization: str, issuer: str
) -> Answer:
    """Answer a token request with a code or a refresh token.

    ``authorization`` is the Authorization header. If the code or token was used before, all tokens from the
    same code are revoked.
    """
    rows = await _read_rows(tx, presenter, key, dict(pairs), authorization)
    provider, answer = issue_tokens(rows, pairs, authorization, issuer)
    if provider.replayed and rows.account is not None:
        await store.remove_authorization(tx, provider.replayed)
        tx.emit(CredentialsRevoked(user_id=rows.account.id), key=rows.account.id)
        details = {"application": rows.application.name} if rows.application else {}
        await add_entry(tx, Actor(), "oauth2_grant.replay", f"user {rows.account.login}", details)
    elif provider.issued:
        await _save_tokens(tx, provider)
    return answer


async def introspect(
    db: Executor, application: OAuth2ApplicationRow, secret: str, issuer: str
) -> dict[str, Any]:
    """Return the introspection of a token (RFC 7662). Tokens of other applications are inactive."""
    row = await store.get_live_token(db, tokens.digest(secret))
    if row is None or row.application_id != application.id:
        return {"active": False}
    return {
        "active": True,
        "scope": row.scopes,
        "client_id": application.client_id,
        "username": row.login,
        "token_type": "Bearer" if row.kind == OAuth2TokenKind.ACCESS else "refresh_token",
        "exp": int(row.expires_at.timestamp()),
        "iat": int(row.created_at.timestamp()),
        "sub": str(row.account_id),
        "aud": application.client_id,
        "iss": issuer,
    }


async def revoke(tx: Tx, application: OAuth2ApplicationRow, secret: str) -> None:
    """Revoke a token of the application (RFC 7009). An unknown token is ignored.

    Revoking a refresh token revokes all tokens from its code.
    """
    row = await store.lock_token(tx, tokens.digest(secret))
    if row is None or row.application_id != application.id:
        return
    if row.kind == OAuth2TokenKind.REFRESH:
        await store.remove_authorization(tx, row.authorization_id)
    else:
        await store.remove_token(tx, row.id)
    tx.emit(CredentialsRevoked(user_id=row.account_id), key=row.account_id)


async def revoke_grant(tx: Tx, account_id: int, grant_id: int) -> OAuth2GrantRow:
    """Revoke a grant of an account to an application, and return it. Raises NotFound."""
    row = await store.get_of_account(tx, account_id, grant_id)
    if row is None:
        raise NotFound
    await store.remove_grant(tx, grant_id)
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)
    return row


def client_id_of(form: Mapping[str, str], authorization: str) -> str:
    """Return the client id of the request: from the Basic credentials, or else from the form."""
    try:
        name, _ = extract_basic_authorization({"Authorization": authorization})
    except ValueError:
        name = None
    return name or form.get("client_id", "")


async def get_application(db: Executor, client_id: str) -> OAuth2ApplicationRow | None:
    """Return the application, or None. An id with characters that are not printable ASCII has none."""
    return (
        await store.get_application(db, client_id)
        if client_id.isascii() and client_id.isprintable()
        else None
    )


async def _read_rows(
    tx: Tx, presenter: Presenter, key: RSAKey, form: Mapping[str, str], authorization: str
) -> RequestRows:
    application = await get_application(tx, client_id_of(form, authorization))
    if application is None:
        return RequestRows(None)
    code, token = form.get("code", ""), form.get("refresh_token", "")
    by_code = form.get("grant_type") == "authorization_code"
    row = await store.lock_authorization(tx, tokens.digest(code)) if by_code else None
    token_row = await store.lock_token(tx, tokens.digest(token)) if not by_code else None
    holder = row or token_row
    account = await accounts.get(tx, holder.account_id) if holder else None
    claims = userinfo.claims(presenter, account, row.scopes.split()) if row and account else {}
    return RequestRows(application, row, token_row, account, claims, key)


async def _save_tokens(tx: Tx, provider: Provider) -> None:
    rows, issued = provider.rows, provider.issued
    if rows.authorization is not None:
        chain, scopes = rows.authorization.id, rows.authorization.scopes
        await store.mark_code_used(tx, chain)
    elif rows.token is not None:
        chain, scopes = rows.token.authorization_id, rows.token.scopes
        await store.mark_token_used(tx, rows.token.id)
    else:
        raise LookupError("tokens without a code or a refresh token")
    for kind, name, lifetime, granted in (
        (OAuth2TokenKind.ACCESS, "access_token", ACCESS_LIFETIME, issued["scope"]),
        # A refresh token keeps all scopes, whatever part of them was asked for now.
        (OAuth2TokenKind.REFRESH, "refresh_token", REFRESH_LIFETIME, scopes),
    ):
        await store.add_token(
            tx, chain, kind, sha256=tokens.digest(issued[name]), scopes=granted, expires_at=now() + lifetime
        )


async def end_all(tx: Tx, account_id: int) -> None:
    """End all sessions of the account, and all its grants to applications."""
    await browser_sessions.remove_of_account(tx, account_id)
    await store.remove_of_account(tx, account_id)
