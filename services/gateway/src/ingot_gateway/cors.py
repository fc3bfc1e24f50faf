"""Access from pages of other origins in a browser (CORS), for the origins in the settings.

The gateway answers a preflight itself, without a credential: browsers send no credential with it, and the
response reveals only these settings.
"""

from collections.abc import Sequence

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from ingot_chassis.settings import SettingsError
from ingot_wire.framing import Headers

PREFIXES = ("/api/v1/", "/login/oauth/access_token")
"""The paths that scripts of other origins use."""
EXPOSED = (
    b"Allow, ETag, Link, Location, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
    b"X-Request-Id, X-Total-Count"
)
"""Headers of a response that a script may read."""
ANY = "*"


class CorsRules:
    """The headers that inform a browser about the rights of each origin."""

    def __init__(
        self,
        origins: Sequence[str],
        *,
        methods: Sequence[str],
        headers: Sequence[str],
        credentials: bool,
        max_age: int,
    ) -> None:
        """Parse the settings. Raises SettingsError for ``credentials`` together with the origin ``*``."""
        if credentials and ANY in origins:
            raise SettingsError(
                ["INGOT_GATEWAY_CORS_CREDENTIALS: name the origins; * lets every page act for its visitors"]
            )
        self._origins = frozenset(origin.rstrip("/").lower().encode() for origin in origins)
        self._any = ANY in origins
        self._credentials: Headers = [(b"access-control-allow-credentials", b"true")] if credentials else []
        self._preflight: Headers = [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", ", ".join(headers).encode()),
            (b"access-control-max-age", str(max_age).encode()),
        ]

    def of(self, origin: bytes) -> Headers:
        """Return the headers for a page of ``origin``. They include ``Vary`` if they depend on the origin.

        An origin that is not allowed gets only ``Vary``.
        """
        if self._any:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", EXPOSED)]
        vary: Headers = [(b"vary", b"Origin")]
        if origin.lower() not in self._origins:
            return vary
        allowed = [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED)]
        return [*vary, *allowed, *self._credentials]

    def of_preflight(self, origin: bytes) -> Headers:
        """Return the headers of the response to a preflight of ``origin``."""
        headers = self.of(origin)
        return [*headers, *self._preflight] if len(headers) > 1 else headers


class Cors:
    """ASGI middleware around the whole gateway, which adds CORS headers and answers preflights."""

    def __init__(self, rules: CorsRules, app: ASGIApp) -> None:
        self._rules, self._app = rules, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not scope["path"].startswith(PREFIXES):
            await self._app(scope, receive, send)
            return
        origin = _header(scope, b"origin")
        if scope["method"] == "OPTIONS" and origin and _header(scope, b"access-control-request-method"):
            headers = self._rules.of_preflight(origin)
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        headers = self._rules.of(origin)

        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self._app(scope, receive, send_with_rules)


def _header(scope: HTTPScope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")
