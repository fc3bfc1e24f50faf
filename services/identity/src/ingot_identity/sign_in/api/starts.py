"""The start of a session in a browser."""

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.messages.components import MessageComponents
from ingot_identity.networks.rules import note_sign_in
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.rules import ProviderSession, stamp_of
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sources.store.tables import LOCAL


async def start_session(
    request: IdentityRequest, browser: Browser, actor: Actor, password_stamp: str, source_id: int = LOCAL
) -> str:
    """Start a session. Return its secret. ``source_id`` is the source that verified the password.

    Raises Denied if the password has changed since the user gave it, or if the account may not sign in.
    """
    async with request.db.transaction() as tx:
        secret = await browser_sessions.start(
            tx,
            actor.id,
            password_stamp,
            replaced=browser.session_secret,
            address=client_address(),
            user_agent=request.headers.get("user-agent", ""),
            provider=ProviderSession(source_id, "", None) if source_id != LOCAL else None,
        )
        await note_sign_in(
            tx,
            request.part(MessageComponents).messages,
            actor.id,
            address=client_address(),
            user_agent=request.headers.get("user-agent", ""),
        )
        await add_entry(tx, actor, "session.start", f"user {actor.login}", {})
    return secret


async def start_session_without_password(
    request: IdentityRequest, browser: Browser, row: AccountRow, via: str
) -> str:
    """Start a session of an account that was identified without a password. Return its secret.

    ``via`` is the kind of the sign-in, such as ``passkey``. Raises Denied if the account may not sign in.
    """
    async with request.db.transaction() as tx:
        await accounts.mark_signed_in(tx, row.id)
    actor = Actor(row.id, row.login, via=via, address=client_address())
    return await start_session(request, browser, actor, stamp_of(row.password_hash))
