"""Logout with a provider of OpenID Connect, started by the provider or by the user's browser."""

import msgspec
import structlog
from litestar import Response, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone, basic
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.providers.clients.http import ProviderFailed
from ingot_identity.providers.components import ProviderComponents
from ingot_identity.providers.rules.logouts import end_sessions
from ingot_identity.providers.rules.tokens import InvalidToken
from ingot_identity.sessions import store as session_store
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.oidc import Page, get_provider
from ingot_identity.sources.components import SourceComponents
from ingot_identity.sources.rules.configs import read_oidc
from ingot_identity.sources.store import sources as source_store
from ingot_identity.sources.store.tables import SourceKind

log = structlog.get_logger()


@post("/login/oidc/{name:str}/logout", policy=anyone(), include_in_schema=False, status_code=200)
async def end_by_provider(request: IdentityRequest, name: str) -> Page:
    """End the sessions that the provider's logout token names (back-channel logout)."""
    source, config = await get_provider(request, name)
    token = (await Browser(request).form()).get("logout_token", "")
    published = request.part(ProviderComponents).published
    try:
        await end_sessions(request.db, published, source, config, token, client_address())
    except InvalidToken as error:
        log.warning("a logout token is refused", source=source.name, reason=str(error))
        return _logout_answer(400, "invalid_request")
    except ProviderFailed as error:
        log.warning("a provider failed", source=source.name, reason=str(error))
        return _logout_answer(400, "temporarily_unavailable")
    return _logout_answer(200, "")


class SessionProvider(msgspec.Struct, kw_only=True):
    """The provider of a session.

    `sign_out_url` ends the session at the provider; it may be empty. Open it in a browser.
    """

    sign_out_url: str


@get(
    "/api/v1/user/sessions/{session_id:int}/provider",
    policy=basic(),
    operation_id="userGetSessionProvider",
    tags=["user"],
)
async def session_provider(request: IdentityRequest, session_id: int) -> SessionProvider:
    """Return the provider of a session of the caller. The status is 404 if it began without a provider."""
    async with request.db.read() as db:
        row = await session_store.get_provider_of(db, request.principal.id, session_id)
    if row is None:
        raise NotFound
    return SessionProvider(sign_out_url=await sign_out_url(request, row.source_id, row.sealed_id_token))


async def sign_out_url(request: IdentityRequest, source_id: int, sealed_id_token: bytes | None) -> str:
    """Return the URL that ends the session at the provider; empty if the provider has none.

    Also empty if the provider is unavailable, or if the source is disabled or does not end sessions there.
    """
    async with request.db.read() as db:
        source = await source_store.get(db, source_id)
    if source is None or not source.enabled or source.kind != SourceKind.OIDC:
        return ""
    config = read_oidc(source.config)
    if not config.sign_out_there:
        return ""
    parts = request.part(ProviderComponents)
    try:
        metadata = await parts.published.metadata(config.issuer)
    except ProviderFailed as error:
        log.warning("a provider failed", source=source.name, reason=str(error))
        return ""
    hint = request.part(SourceComponents).secrets.open(sealed_id_token)
    return metadata.end_session_url(config.client_id, hint, request.public_url)


def _logout_answer(status: int, error: str) -> Page:
    return Response(
        msgspec.json.encode({"error": error}) if error else b"",
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


routes = [end_by_provider, session_provider]
