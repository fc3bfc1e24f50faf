"""Access tokens of OAuth2 (RFC 6749), by a refresh token or the client's own credentials."""

import time
from typing import NamedTuple

import msgspec

MARGIN_SECONDS = 60.0
"""A token is replaced this long before it expires."""


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
    expires_in: float = 3600.0


class AccessTokens:
    """Gets access tokens, and keeps the last one until it expires."""

    def __init__(self, endpoint: TokenEndpoint, *, seconds: float) -> None:
        """Use an endpoint. ``seconds`` is its longest silence."""
        self._endpoint, self._seconds = endpoint, seconds
        self._token: tuple[str, float] | None = None

    @property
    def is_on(self) -> bool:
        """True if the settings name a token endpoint."""
        return bool(self._endpoint.url)

    def forget(self) -> None:
        """Drop the token, which a server has refused."""
        self._token = None

    async def get(self) -> str:
        """Return an access token. Raises TokenError."""
        import aiohttp  # so other sites start without it

        if self._token is not None and time.monotonic() < self._token[1]:
            return self._token[0]
        endpoint = self._endpoint
        form = {
            "client_id": endpoint.client,
            "client_secret": endpoint.secret,
            "grant_type": "client_credentials",
        }
        if endpoint.refresh:
            form |= {"grant_type": "refresh_token", "refresh_token": endpoint.refresh}
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
                token = msgspec.json.decode(await response.read(), type=_Token)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise TokenError(
                f"no token from the token endpoint: {str(error) or type(error).__name__}"
            ) from error
        self._token = token.access_token, time.monotonic() + token.expires_in - MARGIN_SECONDS
        return token.access_token
