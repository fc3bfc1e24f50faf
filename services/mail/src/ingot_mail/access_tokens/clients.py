"""Access tokens of OAuth2 (RFC 6749), by a refresh token or the client's own credentials."""

import asyncio
import math
import re
import time
from typing import NamedTuple

import msgspec

MARGIN_SECONDS = 60.0
"""A token is replaced this long before it expires, or after half of a shorter life."""
PAUSE_SECONDS = 60.0
"""The least time between two requests if the first gave no token, or one that a server refused."""
_USUAL_SECONDS = 3600.0
_QUERY = re.compile(r"[?&]\w+=\S*")


class TokenError(ValueError):
    """There is no access token. The text is for the operator, and has no secret."""


class TokenEndpoint(NamedTuple):
    """A token endpoint, and the credentials for it. Without ``refresh`` the grant is client credentials."""

    url: str
    client: str
    secret: str
    refresh: str
    scope: str


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float | None = None
    refresh_token: str | None = None


class AccessTokens:
    """Requests access tokens, and caches the last one until it expires."""

    def __init__(self, endpoint: TokenEndpoint, *, seconds: float) -> None:
        """Use an endpoint. ``seconds`` is the timeout of a request."""
        self._endpoint, self._seconds = endpoint, seconds
        self._refresh = endpoint.refresh
        self._token: tuple[str, float] | None = None
        self._requested_at, self._failed = -math.inf, False
        self._lock = asyncio.Lock()

    @property
    def is_on(self) -> bool:
        """True if the settings name a token endpoint."""
        return bool(self._endpoint.url)

    def forget(self, token: str) -> None:
        """Drop a token that a server has rejected, unless a newer token has replaced it."""
        if self._token is not None and self._token[0] == token:
            self._token, self._failed = None, True

    async def get(self) -> str:
        """Return an access token. Raises TokenError."""
        async with self._lock:
            if self._token is not None and time.monotonic() < self._token[1]:
                return self._token[0]
            if self._failed and time.monotonic() < self._requested_at + PAUSE_SECONDS:
                raise TokenError("the last access token was refused or not given; the next attempt is later")
            self._requested_at, self._failed = time.monotonic(), True
            token = await self._request()
            seconds = _USUAL_SECONDS if token.expires_in is None else token.expires_in
            lifetime = max(seconds - MARGIN_SECONDS, seconds / 2)
            self._token, self._failed = (token.access_token, time.monotonic() + lifetime), False
            # Some endpoints take each refresh token once.
            self._refresh = token.refresh_token or self._refresh
            return token.access_token

    async def _request(self) -> _Token:
        """Return the response of the token endpoint. Raises TokenError."""
        import aiohttp  # so other sites start without it

        endpoint = self._endpoint
        form = {
            "client_id": endpoint.client,
            "client_secret": endpoint.secret,
            "grant_type": "client_credentials",
        }
        if self._refresh:
            form |= {"grant_type": "refresh_token", "refresh_token": self._refresh}
        if endpoint.scope:
            form["scope"] = endpoint.scope
        timeout = aiohttp.ClientTimeout(self._seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(endpoint.url, data=form, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise TokenError(f"the token endpoint answered {response.status}")
                return msgspec.json.decode(await response.read(), type=_Token, strict=False)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            reason = _QUERY.sub("?…", str(error)) or type(error).__name__
            raise TokenError(f"no token from the token endpoint: {reason}") from error
