"""Who is calling: the principal that identity signs, and the services that call each other.

A person's request carries ``Ingot-Principal``, made by identity for at most 60 s; a call between services
carries ``Ingot-Service``, signed with the key of the calling service for one audience. A request without the
first is anonymous, without the second it comes from outside. No other header says anything about the caller.
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


class Membership(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person is in one organization; ``teams`` maps team id to its permission.

    ``everywhere`` is the highest permission of those teams that have all repositories of the organization; empty
    without one. ``creates``: a team lets them create repositories there. Owners need neither.
    """

    owner: bool = False
    teams: dict[int, str] = {}
    everywhere: str = ""
    creates: bool = False


class Principal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The caller. ``id`` 0 is nobody. ``scopes`` None means all (a password), a list what a token may do.

    ``admin``: they administer the site, and with a credential that reaches so far; its scopes are looked at already.
    ``via`` is how they came: "" anonymous, "basic" (password), "session" (browser) or "token"; ``sudo_by`` the
    administrator who acts as them. ``restricted_to`` lists the ids of the repositories that a restricted token may reach; None means all.
    ``token_id`` and ``session_id`` are the token or the session of theirs that they came with; 0 without one.
    ``credential`` is for identity alone, which finds out with it whether the credential is still valid; empty where it cannot.
    """

    id: int = 0
    name: str = ""
    admin: bool = False
    via: str = ""
    scopes: list[str] | None = None
    organizations: dict[int, Membership] = {}
    sudo_by: str = ""
    restricted_to: list[int] | None = msgspec.field(default=None, name="confined_to")
    token_id: int = 0
    session_id: int = 0
    credential: str = ""

    @property
    def signed_in(self) -> bool:
        return self.id > 0

    @property
    def by_password(self) -> bool:
        """Whether they gave their password, with this request or when their session began."""
        return self.via in ("basic", "session")

    def may(self, scope: str) -> bool:
        """Whether the credential reaches ``scope``, such as ``read:user``. Writing includes reading."""
        if not scope or self.scopes is None:
            return True
        wider = scope.replace("read:", "write:", 1)
        return any(own in (scope, wider, "all") for own in self.scopes)

    def towards(self, repository_id: int) -> "Principal":
        """Who they are to a repository: nobody, if their token is restricted to others."""
        return self if self.restricted_to is None or repository_id in self.restricted_to else ANONYMOUS


ANONYMOUS = Principal()


def sign_principal(
    principal: Principal, key: SigningKey, *, audience: list[str], lifetime: int = LIFETIME
) -> str:
    """The principal token that identity hands out: a JWT."""
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
    """Checks principals against identity's published keys, which it fetches when it meets a new key id.

    Verified tokens are remembered by their bytes until they expire.
    """

    REFETCH_SECONDS = 1.0

    def __init__(self, service: str, fetch_keys: FetchKeys) -> None:
        self._service, self._fetch = service, fetch_keys
        self._keys: dict[str, Ed25519PublicKey] = {}
        self._fetched_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._verified: TLRUCache[str, tuple[Principal, float]] = _cache_until_expiry()

    async def verify(self, token: str) -> Principal:
        """The principal. Raises Unauthenticated for a false or expired token, Unavailable without keys."""
        verified = self._verified.get(token)
        if verified is not None:
            return verified[0]
        claims = _decode(token, await self._key(token), self._service)
        principal = msgspec.convert(claims["principal"], Principal, strict=False, str_keys=True)
        self._verified[token] = (principal, float(claims["exp"]))
        return principal

    async def fetch_keys(self) -> None:
        """Fetch the keys, once for all who wait for them. Raises as the call to identity.

        Before there are tokens: the next unknown key is asked for at once.
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
            task.exception()  # whoever still waits gets it

    async def _key(self, token: str) -> Ed25519PublicKey:
        kid = _key_id_of(token)
        if kid not in self._keys and time.monotonic() - self._fetched_at > self.REFETCH_SECONDS:
            await self.fetch_keys()
            self._fetched_at = time.monotonic()
        if kid not in self._keys:
            raise Unauthenticated("signed with an unknown key")
        return self._keys[kid]


class ServiceIdentity:
    """This service's own key: makes the tokens that its peers ask for."""

    def __init__(self, name: str, key: SigningKey) -> None:
        self.name, self._key = name, key
        self._tokens: dict[str, tuple[str, float]] = {}

    def token(self, audience: str) -> str:
        """A token for calls to ``audience``; used again until half its life is over."""
        token, renew_at = self._tokens.get(audience, ("", 0.0))
        if renew_at < time.time():
            issued = int(time.time())
            claims = {"iss": self.name, "aud": audience, "iat": issued, "exp": issued + LIFETIME}
            token = self._key.sign(claims)
            self._tokens[audience] = (token, issued + LIFETIME / 2)
        return token


class ServiceVerifier:
    """Checks which service calls, against the configured public keys (name -> base64url)."""

    def __init__(self, service: str, public_keys: Mapping[str, str]) -> None:
        self._service = service
        self._keys = {key_id(x): (name, public_key(x)) for name, x in public_keys.items()}
        self._verified: TLRUCache[str, tuple[str, float]] = _cache_until_expiry()

    def verify(self, token: str) -> str:
        """The name of the calling service. Raises Unauthenticated."""
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
    """A cache by token, of what it says and when it expires (seconds since 1970)."""
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
