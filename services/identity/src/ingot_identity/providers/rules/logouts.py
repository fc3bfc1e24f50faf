"""Back-channel logout: a provider ends the sessions that it began (Back-Channel Logout 1.0)."""

import hashlib
from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.providers.clients.metadata import PublishedMetadata
from ingot_identity.providers.rules.tokens import LOGOUT_SECONDS, InvalidToken, verify_logout_token
from ingot_identity.providers.store import logout_tokens
from ingot_identity.sessions import rules as sessions
from ingot_identity.sources.rules.configs import OidcConfig
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import SourceRow


async def end_sessions(
    db: Database,
    published: PublishedMetadata,
    source: SourceRow,
    config: OidcConfig,
    token: str,
    address: str,
) -> None:
    """End the sessions that a logout token names. If its subject has no account, nothing ends.

    Raises InvalidToken, also for a token that was used before. Raises ProviderFailed.
    """
    claims = await verify_logout_token(published, config, token)
    # Accounts are linked by another claim than ``sub`` where the source says so; then ``sid`` names them.
    subject = claims.get("sub") if config.subject_claim == "sub" else None
    session_id = claims.get("sid")
    async with db.transaction() as tx:
        await _use(tx, source, config, claims["jti"])
        account_id = 0
        if subject:
            identity = await identities.get(tx, source.id, subject)
            if identity is None:
                return
            account_id = identity.account_id
        provider_session = session_id if isinstance(session_id, str) else ""
        ended = await sessions.end_of_source(
            tx, source.id, provider_session=provider_session, account_id=account_id
        )
        for id_ in sorted(ended):
            account = await accounts.get(tx, id_)
            actor = Actor(via=source.kind, address=address)
            name = f"user {account.login}" if account else f"user {id_}"
            await add_entry(tx, actor, "session.end", name, {"source": source.name})


async def _use(tx: Tx, source: SourceRow, config: OidcConfig, token_id: str) -> None:
    """Record the use of a logout token. Raises InvalidToken for a token used before."""
    digest = hashlib.sha256(token_id.encode()).digest()
    expires_at = now() + timedelta(seconds=2 * (LOGOUT_SECONDS + config.clock_skew))
    if not await logout_tokens.add(tx, source.id, digest, expires_at):
        raise InvalidToken("the logout token came before")
