"""Who is calling: the principal that identity signs, and the services that call each other.

A person's request carries ``Ingot-Principal``, made by identity for at most 60 s; a call between services
carries ``Ingot-Service``, signed with the key of the calling service for one audience. A request without the
first is anonymous, without the second it comes from outside. No other header says anything about the caller.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ingot_chassis.errors import Unauthenticated
from ingot_chassis.keys import Jwks, SigningKey, key_id, public_key

PRINCIPAL_HEADER = "ingot-principal"
SERVICE_HEADER = "ingot-service"
LIFETIME = 60
LEEWAY = 5
CACHED = 10_000


class Membership(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person is in one organization; ``teams`` maps team id to its permission."""

    owner: bool = False
    teams: dict[int, str] = {}


class Principal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The caller. ``id`` 0 is nobody. ``scopes`` None means all (a password), a list what a token may do.

    ``admin``: they administer the site, and with a credential that reaches so far; its scopes are looked at already.
    ``via`` is how they came: "" anonymous, "basic" (password) or "token"; ``sudo_by`` the administrator who
    acts as them. ``confined_to`` lists the ids of what a restricted token may reach; None means all.
    """

    id: int = 0
    name: str = ""
    admin: bool = False
    via: str = ""
    scopes: list[str] | None = None
    organizations: dict[int, Membership] = {}
    sudo_by: str = ""
    confined_to: list[int] | None = None

    @property
    def signed_in(self) -> bool:
        return self.id > 0

    def may(self, scope: str) -> bool:
        """Whether the credential reaches ``scope``, such as ``read:user``. Writing includes reading."""
        if not scope or self.scopes is None:
            return True
        wider = scope.replace("read:", "write:", 1)
        return any(held in (scope, wider, "all") for held in self.scopes)

    def towards(self, id_: int) -> "Principal":
        """Who they are to the thing with ``id_``: nobody, if their token is restricted to others."""
        return self if self.confined_to is None or id_ in self.confined_to else ANONYMOUS


ANONYMOUS = Principal()


def sign_principal(
    principal: Principal, key: SigningKey, *, audience: list[str], lifetime: int = LIFETIME
) -> str:
    """The statement that identity hands out."""
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

    Verified statements are remembered by their bytes until they expire.
    """

    REFETCH_SECONDS = 1.0

    def __init__(self, service: str, fetch_keys: FetchKeys) -> None:
        self._service, self._fetch = service, fetch_keys
        self._keys: dict[str, Ed25519PublicKey] = {}
        self._fetched_at = float("-inf")
        self._known: OrderedDict[str, tuple[Principal, float]] = OrderedDict()

    async def verify(self, statement: str) -> Principal:
        """The principal. Raises Unauthenticated for a false or expired one, Unavailable without keys."""
        known = self._known.get(statement)
        if known is not None:
            if known[1] > time.time():
                return known[0]
            del self._known[statement]
        claims = _decoded(statement, await self._key(statement), self._service)
        principal = msgspec.convert(claims["principal"], Principal, strict=False, str_keys=True)
        self._known[statement] = (principal, float(claims["exp"]))
        if len(self._known) > CACHED:
            self._known.popitem(last=False)
        return principal

    async def _key(self, statement: str) -> Ed25519PublicKey:
        kid = _kid(statement)
        if kid not in self._keys and time.monotonic() - self._fetched_at > self.REFETCH_SECONDS:
            fetched = await self._fetch()
            self._fetched_at = time.monotonic()
            self._keys = {key.kid: public_key(key.x) for key in fetched.keys}
        if kid not in self._keys:
            raise Unauthenticated("signed with an unknown key")
        return self._keys[kid]


class ServiceIdentity:
    """This service's own key: makes the statements that its peers ask for."""

    def __init__(self, name: str, key: SigningKey) -> None:
        self.name, self._key = name, key
        self._made: dict[str, tuple[str, float]] = {}

    def statement(self, audience: str) -> str:
        """For calls to ``audience``; used again until half its life is over."""
        made = self._made.get(audience)
        if made is None or made[1] < time.time():
            issued = int(time.time())
            claims = {"iss": self.name, "aud": audience, "iat": issued, "exp": issued + LIFETIME}
            made = self._made[audience] = (self._key.sign(claims), issued + LIFETIME / 2)
        return made[0]


class ServiceVerifier:
    """Checks which service calls, against the configured public keys (name -> base64url)."""

    def __init__(self, service: str, public_keys: Mapping[str, str]) -> None:
        self._service = service
        self._keys = {key_id(x): (name, public_key(x)) for name, x in public_keys.items()}
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def verify(self, statement: str) -> str:
        """The name of the calling service. Raises Unauthenticated."""
        known = self._known.get(statement)
        if known is not None and known[1] > time.time():
            return known[0]
        named = self._keys.get(_kid(statement))
        if named is None:
            raise Unauthenticated("signed with an unknown key")
        claims = _decoded(statement, named[1], self._service)
        if claims.get("iss") != named[0]:
            raise Unauthenticated("signed with the key of another service")
        self._known[statement] = (named[0], float(claims["exp"]))
        if len(self._known) > CACHED:
            self._known.popitem(last=False)
        return named[0]


def _decoded(statement: str, key: Ed25519PublicKey, audience: str) -> dict[str, Any]:
    try:
        return jwt.decode(
            statement,
            key,
            algorithms=["EdDSA"],
            audience=audience,
            leeway=LEEWAY,
            options={"require": ["exp", "iat", "aud", "iss"]},
        )
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"identity not accepted: {error}") from error


def _kid(statement: str) -> str:
    try:
        return str(jwt.get_unverified_header(statement).get("kid", ""))
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"identity not readable: {error}") from error
