"""Sessions of browsers. The cookie has a random secret, and the database has its SHA-256.

Forms contain a token that only pages for this browser have, so other sites cannot send them (CSRF).
"""

import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import NamedTuple

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, NotFound
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.sessions import store
from ingot_identity.tokens import rules as tokens

LIFETIME = timedelta(hours=12)
LONGEST_ADDRESS, LONGEST_USER_AGENT = 64, 255


class ProviderSession(NamedTuple):
    """The session at the provider that signed a person in. Its fields are columns."""

    source_id: int
    provider_session: str
    sealed_id_token: bytes | None


def new_secret() -> str:
    """Return a new secret for a cookie."""
    return secrets.token_hex(32)


async def start(
    tx: Tx,
    account_id: int,
    password_stamp: str,
    *,
    replaced: str = "",
    address: str = "",
    user_agent: str = "",
    proved: bool = True,
    provider: ProviderSession | None = None,
) -> str:
    """Start a session. Return its secret. ``replaced`` is the secret of the browser's earlier session.

    ``proved``: the person has just given a proof, so forms need no new proof at first. ``password_stamp`` is
    the stamp of the given password. Raises Denied if it is no longer the stamp of the account's password: a
    change of the password ends all sessions. Also raises Denied for an account that may not sign in.
    """
    row = await lock_for_update(tx, account_id)
    if row.login_prohibited or not row.active:
        raise Denied("This account may not sign in.")
    if stamp_of(row.password_hash) != password_stamp:
        raise Denied("The password was changed meanwhile. Sign in again.")
    if replaced:
        await end(tx, replaced)
    secret = new_secret()
    await store.add(
        tx,
        account_id,
        proved=proved,
        sha256=tokens.digest(secret),
        expires_at=now() + LIFETIME,
        address=address[:LONGEST_ADDRESS],
        user_agent=user_agent[:LONGEST_USER_AGENT],
        **(provider._asdict() if provider else {}),
    )
    return secret


async def end(tx: Tx, secret: str) -> None:
    """End the session with this secret, if it exists."""
    account_id = await store.remove(tx, tokens.digest(secret))
    if account_id is not None:
        tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)


async def end_of_source(
    tx: Tx, source_id: int, *, provider_session: str = "", account_id: int = 0
) -> set[int]:
    """End sessions that a provider began: by the provider's session, by account, or both.

    Return the accounts of the sessions.
    """
    ended = await store.remove_of_source(
        tx, source_id, provider_session=provider_session, account_id=account_id
    )
    for id_ in sorted(ended):
        tx.emit(CredentialsRevoked(user_id=id_), key=id_)
    return ended


async def end_one(tx: Tx, account_id: int, session_id: int) -> None:
    """End a session of the account. Raises NotFound."""
    if not await store.remove_of(tx, account_id, session_id):
        raise NotFound
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)


def form_token(cookie: str) -> str:
    """Return a new form token for the browser with this cookie. It does not reveal the cookie."""
    nonce = secrets.token_hex(8)
    return f"{nonce}.{_signature(cookie, nonce)}"


def is_form_token(token: str, cookie: str) -> bool:
    nonce, _, signature = token.partition(".")
    return bool(cookie) and hmac.compare_digest(signature.encode(), _signature(cookie, nonce).encode())


def _signature(cookie: str, nonce: str) -> str:
    return hmac.new(cookie.encode(), f"ingot form {nonce}".encode(), hashlib.sha256).hexdigest()


def stamp_of(password_hash: str) -> str:
    """Return the stamp of a password: a part of the digest of its salted hash.

    It changes with the password, and does not reveal it.
    """
    return hashlib.sha256(password_hash.encode()).hexdigest()[:16]
