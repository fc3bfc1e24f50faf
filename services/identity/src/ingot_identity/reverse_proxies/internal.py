"""For the gateway: sign-ins of users of the reverse proxy."""

import structlog
from litestar import post

from ingot_chassis.errors import Denied, Invalid
from ingot_chassis.http.policy import services
from ingot_contracts.identity.credentials import ProxySession, ProxySignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.messages.components import MessageComponents
from ingot_identity.reverse_proxies.components import ReverseProxyComponents
from ingot_identity.reverse_proxies.rules import sign_in
from ingot_identity.sessions.rules import LIFETIME

log = structlog.get_logger()


@post("/internal/proxy-sign-ins", policy=services("gateway"), include_in_schema=False, status_code=200)
async def start_proxy_session(request: IdentityRequest, data: ProxySignIn) -> ProxySession:
    """Start a session of a user whom the reverse proxy has identified. An empty secret: the user has none.

    The reason is only in the log: the person may not own the account of that name.
    """
    messages = request.part(MessageComponents).messages
    first_sign_in = request.part(ReverseProxyComponents).first_sign_in
    try:
        async with request.db.transaction() as tx:
            secret = await sign_in(tx, request.presenter, messages, first_sign_in, data)
    except (Denied, Invalid) as error:
        log.info("a user of the reverse proxy gets no session", user=data.user, reason=error.message)
        return ProxySession(secret="", seconds=0)
    return ProxySession(secret=secret, seconds=int(LIFETIME.total_seconds()))


routes = [start_proxy_session]
