"""The caller of a request: the principal that identity signs, and services that call each other.

A user's request carries ``Ingot-Principal``, signed by identity for at most 60 s. A call between services
carries ``Ingot-Service``, signed with the key of the calling service for one audience. A request without
``Ingot-Principal`` is anonymous; a request without ``Ingot-Service`` comes from outside. No other header
identifies the caller.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import jwt
import msgspec
from cachetools import TLRUCache
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ingot_chassis.errors import Unauthenticated
from ingot_chassis.security.keys import Jwks, SigningKey, key_id, public_key

PRINCIPAL_HEADER = "ingot-principal"
SERVICE_HEADER = "ingot-service"
LIFETIME = 60
LEEWAY = 5
CACHED_TOKENS = 10_000
WIDER_GROUPS = {"notification": "issue"}
"""The wider group of each group of scopes, which includes it."""


class Membership(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user's membership in one organization. ``teams`` maps team id to permission.

    ``everywhere`` is the combined permission of the user's teams with all repositories of the organization,
    or empty. A permission is read, write, admin, owner or none. Any other text has a level for each unit of a
    repository. ``creates``: a team lets the user create repositories there. For owners the other fields do
    not matter.
    """

    owner: bool = False
    teams: dict[int, str] = {}
    everywhere: str = ""
    creates: bool = False


class Principal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The caller. ``id`` 0 is anonymous. ``scopes`` lists the scopes of a token; None means all (a password).

    ``admin``: the caller administers the site, and the credential includes that right. ``via`` is the
    credential: "" (anonymous), "basic" (password), "session" (browser), "token", "ssh" or "mail" (a reply by
    mail). ``sudo_by`` is the administrator who acts as the caller. ``restricted_to`` lists the ids of
    repositories that a restricted token may reach; None means all. ``public_only``: the token may also reach
    everything that every caller may read, with all rights of its owner. Its ``restricted_to`` is empty.

    ``granted_only``: the account is restricted, independent of the token. It reads only its own data and data
    that it was given access to, even if other data is public. Never true for a site administrator.

    ``token_id`` and ``session_id`` are the ids of the caller's token or session, or 0. ``credential`` lets
    identity check that the credential is still valid; it is empty if that is not possible.
    """

    id: int = 0
    name: str = ""
    admin: bool = False
    via: str = ""
    scopes: list[str] | None = None
    organizations: dict[int, Membership] = {}
    sudo_by: str = ""
    restricted_to: list[int] | None = msgspec.field(default=None, name="confined_to")
    public_only: bool = False
    granted_only: bool = False
    token_id: int = 0
    session_id: int = 0
    credential: str = ""

    @property
    def signed_in(self) -> bool:
        return self.id > 0

    @property
    def by_password(self) -> bool:
        """Return whether the caller gave a password, with this request or at the start of the session."""
        return self.via in ("basic", "session")

    def may(self, scope: str) -> bool:
        """Return whether the credential includes ``scope``, such as ``read:user``.

        Write scopes include read scopes, and wide groups include their narrow ones.
        """
        if not scope or self.scopes is None:
            return True
        act, _, group = scope.partition(":")
        acts = (act, "write") if act == "read" else (act,)
        groups = (group, WIDER_GROUPS.get(group, group))
        granting = {"all", scope, *(f"{one}:{name}" for one in acts for name in groups)}
        return not granting.isdisjoint(self.scopes)

    def towards(self, repository_id: int, *, public: bool) -> "Principal":
        """Return the principal for a repository: anonymous if the token is restricted to other repositories.

        ``public``: every caller may read the repository.
        """
        if self.restricted_to is None or repository_id in self.restricted_to:
            return self
        return self if public and self.public_only else self.unidentified()

    def unidentified(self) -> "Principal":
        """Return the principal without the caller's account, for resources that a token does not reach.

        It reads what every caller may read. For a restricted account this is nothing.
        """
        return _READS_NOTHING if self.granted_only else ANONYMOUS


ANONYMOUS = Principal()
_READS_NOTHING = Principal(granted_only=True)


def sign_principal(
    principal: Principal, key: SigningKey, *, audience: list[str], lifetime: int = LIFETIME
) -> str:
    """Return the principal token of identity: a signed JWT that is valid for ``lifetime`` seconds."""
    issued = int(time.time())
    return key.sign(
        {
            "iss": "identity",
            "aud": audience,
            "iat": issued,
            "exp": issued + lifetime,
            "principal": msgspec.to_builtins(principal, str_keys=True),
        }
    )


FetchKeys = Callable[[], Awaitable[Jwks]]


class PrincipalVerifier:
    """Verifies principals with identity's published keys. For an unknown key id, it fetches the keys.

    Verified tokens are cached by their bytes until they expire.
    """

    REFETCH_SECONDS = 1.0

    def __init__(self, service: str, fetch_keys: FetchKeys) -> None:
        self._service, self._fetch = service, fetch_keys
        self._keys: dict[str, Ed25519PublicKey] = {}
        self._fetched_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._verified: TLRUCache[str, tuple[Principal, float]] = _cache_until_expiry()

    async def verify(self, token: str) -> Principal:
        """Return the principal.

        Raises Unauthenticated for an invalid or expired token, Unavailable without keys.
        """
        verified = self._verified.get(token)
        if verified is not None:
            return verified[0]
        claims = _decode(token, await self._key(token), self._service)
        principal = msgspec.convert(claims["principal"], Principal, strict=False, str_keys=True)
        self._verified[token] = (principal, float(claims["exp"]))
        return principal

    async def fetch_keys(self) -> None:
        """Fetch the keys, once for all callers that wait for them.

        Raises the errors of the request to identity. This fetch does not delay the next fetch for an unknown
        key.
        """
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch_keys(), name="keys of principals")
            self._fetching.add_done_callback(self._end_fetch)
        await asyncio.shield(self._fetching)

    async def _fetch_keys(self) -> None:
        fetched = await self._fetch()
        self._keys = {key.kid: public_key(key.x) for key in fetched.keys}

    def _end_fetch(self, task: asyncio.Task[None]) -> None:
        self._fetching = None
        if not task.cancelled():
            task.exception()  # callers that still wait get the error

    async def _key(self, token: str) -> Ed25519PublicKey:
        kid = _key_id_of(token)
        if kid not in self._keys and time.monotonic() - self._fetched_at > self.REFETCH_SECONDS:
            await self.fetch_keys()
            self._fetched_at = time.monotonic()
        if kid not in self._keys:
            raise Unauthenticated("signed with an unknown key")
        return self._keys[kid]


class ServiceIdentity:
    """This service's own key. It signs tokens for calls to peers."""

    def __init__(self, name: str, key: SigningKey) -> None:
        self.name, self._key = name, key
        self._tokens: dict[str, tuple[str, float]] = {}

    def token(self, audience: str) -> str:
        """Return a token for calls to ``audience``. A token is reused for the first half of its life."""
        token, renew_at = self._tokens.get(audience, ("", 0.0))
        if renew_at < time.time():
            issued = int(time.time())
            claims = {"iss": self.name, "aud": audience, "iat": issued, "exp": issued + LIFETIME}
            token = self._key.sign(claims)
            self._tokens[audience] = (token, issued + LIFETIME / 2)
        return token


class ServiceVerifier:
    """Verifies the calling service with the configured public keys (name -> base64url)."""

    def __init__(self, service: str, public_keys: Mapping[str, str]) -> None:
        self._service = service
        self._keys = {key_id(x): (name, public_key(x)) for name, x in public_keys.items()}
        self._verified: TLRUCache[str, tuple[str, float]] = _cache_until_expiry()

    def verify(self, token: str) -> str:
        """Return the name of the calling service from its token. Raises Unauthenticated."""
        verified = self._verified.get(token)
        if verified is not None:
            return verified[0]
        name, key = self._keys.get(_key_id_of(token), ("", None))
        if key is None:
            raise Unauthenticated("signed with an unknown key")
        claims = _decode(token, key, self._service)
        if claims.get("iss") != name:
            raise Unauthenticated("signed with the key of another service")
        self._verified[token] = (name, float(claims["exp"]))
        return name


def _cache_until_expiry() -> TLRUCache[str, tuple[Any, float]]:
    """Return a cache of verified tokens: content and expiry (seconds since 1970) by token."""
    return TLRUCache(CACHED_TOKENS, ttu=lambda _token, value, _now: value[1], timer=time.time)


def _decode(token: str, key: Ed25519PublicKey, audience: str) -> dict[str, Any]:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=["EdDSA"],
            audience=audience,
            leeway=LEEWAY,
            options={"require": ["exp", "iat", "aud", "iss"]},
        )
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"identity not accepted: {error}") from error


def _key_id_of(token: str) -> str:
    try:
        return str(jwt.get_unverified_header(token).get("kid", ""))
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"identity not readable: {error}") from error
