"""Access tokens of OAuth2 (RFC 6749), by a refresh token or the client's own credentials."""

import asyncio
import math
import re
import time
from typing import NamedTuple, Protocol

import msgspec

from ingot_chassis.completion import complete

MARGIN_SECONDS = 60.0
"""A token is replaced this long before it expires, or after half of a shorter life."""
PAUSE_SECONDS = 60.0
"""The least time between two requests if the first gave no token, or one that a server refused."""
_USUAL_SECONDS = 3600.0
_QUERY = re.compile(r"[?&]\w+=\S*")


class TokenError(ValueError):
    """There is no access token. The text is for the operator, and has no secret."""


class TokenEndpoint(NamedTuple):
    """A token endpoint, and the credentials of the client for it."""

    url: str
    client: str
    secret: str
    scope: str


class RefreshTokens(Protocol):
    """The refresh token. At most one request uses it at a time."""

    async def take(self) -> str:
        """Return the token for one request; ``give_back`` must follow. Raises TokenError."""
        ...

    async def give_back(self, token: str, following: str | None) -> None:
        """End the request. ``following`` is the new refresh token of the response; None keeps ``token``."""
        ...


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float | None = None
    refresh_token: str | None = None


class AccessTokens:
    """Requests access tokens, and caches the last one until it expires."""

    def __init__(
        self, endpoint: TokenEndpoint, refresh_tokens: RefreshTokens | None = None, *, seconds: float
    ) -> None:
        """Use an endpoint. ``seconds`` is the timeout of a request.

        Without ``refresh_tokens``, the client requests tokens with its own credentials.
        """
        self._endpoint, self._refresh_tokens, self._seconds = endpoint, refresh_tokens, seconds
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
        """Return the cached access token, or request a new one. Raises TokenError.

        After a failed request or a rejected token, no request is sent until ``PAUSE_SECONDS`` after the
        last one. TokenError is raised at once instead.
        """
        async with self._lock:
            if self._token is not None and time.monotonic() < self._token[1]:
                return self._token[0]
            if self._failed and time.monotonic() < self._requested_at + PAUSE_SECONDS:
                raise TokenError("the last access token was refused or not given; the next attempt is later")
            self._requested_at, self._failed = time.monotonic(), True
            # The endpoint may have replaced the refresh token, although nothing waits for its answer any more.
            token = await complete(self._refreshed())
            seconds = _USUAL_SECONDS if token.expires_in is None else token.expires_in
            lifetime = max(seconds - MARGIN_SECONDS, seconds / 2)
            self._token, self._failed = (token.access_token, time.monotonic() + lifetime), False
            return token.access_token

    async def _refreshed(self) -> _Token:
        """Request an access token, and return the response. Raises TokenError.

        If the response has a new refresh token, it is stored first.
        """
        if self._refresh_tokens is None:
            return await self._request("")
        refresh, following = await self._refresh_tokens.take(), None
        try:
            token = await self._request(refresh)
            following = token.refresh_token
        finally:
            await self._refresh_tokens.give_back(refresh, following)
        return token

    async def _request(self, refresh: str) -> _Token:
        """Return the response of the token endpoint. Raises TokenError.

        Without a ``refresh`` token, the grant is the client's own credentials.
        """
        import aiohttp  # so other sites start without it

        endpoint = self._endpoint
        form = {
            "client_id": endpoint.client,
            "client_secret": endpoint.secret,
            "grant_type": "client_credentials",
        }
        if refresh:
            form |= {"grant_type": "refresh_token", "refresh_token": refresh}
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
