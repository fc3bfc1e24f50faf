"""Metadata of providers: their endpoints, and the keys that sign their tokens.

Both are cached for an hour. For an unknown key id the keys are read again, because providers replace their
keys. This happens at most every ``REFETCH_SECONDS``, because any client can send tokens with unknown keys.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from authlib.common.urls import add_params_to_uri
from authlib.oidc.discovery import get_well_known_url
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet

from ingot_identity.providers.clients.http import ProviderFailed, ProviderHttp

FRESH_SECONDS = 3600.0
REFETCH_SECONDS = 10.0
MOST_KEYS = 100
TYPES = ("RSA", "EC", "OKP")
"""Types of keys that have a public key."""
_ADDRESSES = (
    "authorization_endpoint",
    "token_endpoint",
    "jwks_uri",
    "userinfo_endpoint",
    "end_session_endpoint",
)
Endpoint = Annotated[str, msgspec.Meta(max_length=2000, pattern=r"^https?://[!-~]+$(?!\n)")]


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The used fields of the discovery document (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    userinfo_endpoint: Endpoint = ""
    end_session_endpoint: Endpoint = ""
    token_endpoint_auth_methods_supported: list[str] = []
    authorization_response_iss_parameter_supported: bool = False

    def end_session_url(self, client_id: str, id_token: str, back_to: str) -> str:
        """Return the URL that ends the session of a browser (RP-Initiated Logout 1.0), or ""."""
        if not self.end_session_endpoint:
            return ""
        hint = [("id_token_hint", id_token)] if id_token else []
        fields = [*hint, ("client_id", client_id), ("post_logout_redirect_uri", back_to)]
        return str(add_params_to_uri(self.end_session_endpoint, fields))


class _Published:
    """The metadata of one issuer, and the time at which it was read."""

    def __init__(self, metadata: Metadata, keys: KeySet | None, read_at: float) -> None:
        self.metadata, self.keys, self.read_at = metadata, keys, read_at
        self.refetched_at = float("-inf")


class PublishedMetadata:
    """The metadata of all providers, by issuer."""

    def __init__(self, http: ProviderHttp, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._http, self._clock = http, clock
        self._published: dict[str, _Published] = {}

    async def metadata(self, issuer: str) -> Metadata:
        """Return the metadata of an issuer. Raises ProviderFailed."""
        return (await self._read(issuer)).metadata

    async def keys(self, issuer: str, key_id: str | None) -> KeySet:
        """Return the keys of the issuer. Raises ProviderFailed.

        If none has that id, the keys are read again, at most every ``REFETCH_SECONDS``.
        """
        published = await self._read(issuer)
        if published.keys is None:
            published.keys = await self._fetch_keys(published.metadata)
        elif key_id not in {key.kid for key in published.keys} and (
            self._clock() - published.refetched_at > REFETCH_SECONDS
        ):
            published.refetched_at = self._clock()
            published.keys = await self._fetch_keys(published.metadata)
        return published.keys

    async def _read(self, issuer: str) -> _Published:
        published = self._published.get(issuer)
        if published is None or self._clock() - published.read_at > FRESH_SECONDS:
            published = _Published(await self._fetch(issuer), None, self._clock())
            self._published[issuer] = published
        return published

    async def _fetch(self, issuer: str) -> Metadata:
        reply = await self._http.request("GET", get_well_known_url(issuer, external=True))
        if reply.status != 200:
            raise ProviderFailed(f"the discovery document answers {reply.status}")
        fields = {name: value for name, value in reply.json().items() if value is not None}
        try:
            metadata = msgspec.convert(fields, Metadata)
        except msgspec.ValidationError as error:
            raise ProviderFailed(f"the discovery document is not valid: {error}") from error
        if metadata.issuer != issuer:
            raise ProviderFailed("the discovery document is of another issuer")
        if issuer.startswith("https:"):
            for name in _ADDRESSES:
                if getattr(metadata, name).startswith("http:"):
                    raise ProviderFailed(f"its {name} is without TLS")
        return metadata

    async def _fetch_keys(self, metadata: Metadata) -> KeySet:
        reply = await self._http.request("GET", metadata.jwks_uri)
        listed = reply.json().get("keys") if reply.status == 200 else None
        if not isinstance(listed, list):
            raise ProviderFailed(f"the keys answer {reply.status}, or are none")
        keys = [key for key in map(_key, listed[:MOST_KEYS]) if key is not None]
        if not keys:
            raise ProviderFailed("none of the keys can verify a token")
        return KeySet(keys)


def _key(fields: Any) -> Key | None:
    """Return a public key that verifies signatures; None for any other key."""
    if not isinstance(fields, dict) or fields.get("use", "sig") != "sig" or fields.get("kty") not in TYPES:
        return None
    try:
        return JWKRegistry.import_key(fields)
    except (JoseError, ValueError, TypeError):
        return None
