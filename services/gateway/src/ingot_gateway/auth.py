"""Exchanges a credential for a signed principal from identity. Responses are cached for some seconds.

An unknown credential is never cached. Concurrent requests with the same credential share one call to
identity.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import structlog

from ingot_chassis.errors import NotFound, Unauthenticated, Unavailable
from ingot_chassis.events.envelope import Envelope, decode_envelope, decode_event, event_type
from ingot_chassis.security.grants import GrantCache
from ingot_contracts.identity.credentials import Authenticated
from ingot_contracts.identity.events import (
    CredentialsRevoked,
    MembershipChanged,
    OrganizationCreated,
    OrganizationEdited,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_gateway.clients.identity import HttpIdentity
from ingot_gateway.credentials import Credential

log = structlog.get_logger()

TOPIC = "ingot.identity.>"
NEEDS_CODE = (
    "this account has two-factor authentication: use an access token instead of the password, "
    "or send a code that was not used yet in the header X-Gitea-OTP"
)
NEEDS_SECOND_FACTOR = (
    "this site requires two-factor authentication, and this account has none: sign in with a browser to set "
    "it up, and use an access token here instead of the password"
)
SUDO = 0
"""Cache holder of answers under ``sudo``. They also depend on the caller, whose id identity does not send."""

_ABOUT_A_USER: dict[str, type[CredentialsRevoked | MembershipChanged | UserDeleted]] = {
    event_type(cls): cls for cls in (CredentialsRevoked, MembershipChanged, UserDeleted)
}
_IRRELEVANT = {event_type(cls) for cls in (UserCreated, OrganizationEdited)}


class Caller(NamedTuple):
    """The account of a request. ``principal_token`` is empty for an anonymous caller.

    ``enrols``: the session may only be used to set up a second factor. All other requests with this session
    are anonymous. ``appearance`` is the account's appearance of pages.
    """

    principal_token: str = ""
    user_id: int = 0
    enrols: bool = False
    appearance: str = ""


ANONYMOUS, ENROLLING = Caller(), Caller(enrols=True)


class Authenticator:
    """Finds the account of a credential. Cached responses are at most ``seconds`` old by ``clock``."""

    def __init__(
        self, identity: HttpIdentity, seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._identity = identity
        self._callers: GrantCache[bytes, Caller] = GrantCache(seconds, clock=clock)
        self._requests: dict[bytes, asyncio.Task[Caller]] = {}

    async def caller(self, credential: Credential, address: str) -> Caller:
        """Return the caller of a credential, which is anonymous if the credential is unknown.

        Raises:
            Denied: the account may not sign in.
            Unauthenticated: the code of the second factor is missing, or the account must set one up first.
            NotFound: the account to act as does not exist.
            Unavailable: identity does not respond.
        """
        key = credential.digest(address)
        caller = self._callers.get(key)
        if caller is not None:
            return caller
        request = self._requests.get(key)
        if request is None:
            request = asyncio.create_task(self._request(key, credential, address), name="authenticate")
            self._requests[key] = request
            request.add_done_callback(lambda done: self._forget_request(key, done))
        # If one client leaves, the others still need the answer.
        return await asyncio.shield(request)

    def _forget_request(self, key: bytes, request: asyncio.Task[Caller]) -> None:
        if self._requests.get(key) is request:
            del self._requests[key]
        if not request.cancelled():
            request.exception()  # without clients, no one else retrieves the exception

    async def _request(self, key: bytes, credential: Credential, address: str) -> Caller:
        since = self._callers.clock()
        answer = await self._authenticate(credential, address)
        if answer.needs_code:
            raise Unauthenticated(NEEDS_CODE, headers={"X-Gitea-OTP": "required; app"})
        if answer.needs_second_factor and credential.session:
            return ENROLLING
        if answer.needs_second_factor:
            raise Unauthenticated(NEEDS_SECOND_FACTOR)
        if not answer.user_id:
            return ANONYMOUS
        caller = Caller(answer.principal_token, answer.user_id, appearance=answer.appearance)
        self._callers.put(key, caller, since=since, holder=SUDO if credential.sudo else caller.user_id)
        return caller

    async def _authenticate(self, credential: Credential, address: str) -> Authenticated:
        try:
            return await self._identity.authenticate(credential.authenticate_body(address))
        except (Unauthenticated, NotFound) as error:
            if credential.sudo and isinstance(error, NotFound):
                raise
            log.warning(
                "identity rejects this gateway; is its public key configured there?", error=error.message
            )
            raise Unavailable("credentials cannot be verified at the moment; try again later") from error

    def drop(self, user_id: int) -> None:
        """Evict cached responses about ``user_id``, and all cached responses under ``sudo``.

        Responses to requests that are still running are not cached either.
        """
        self._requests.clear()
        for holder in (user_id, SUDO):
            self._callers.drop_holder(holder)

    def drop_all(self) -> None:
        """Evict all cached responses. Responses to requests that are still running are not cached either."""
        self._requests.clear()
        self._callers.clear()

    async def on_event(self, body: bytes) -> None:
        """Apply an event of identity: evict the cached responses about the account of the event.

        If the event names no account or cannot be decoded, evict all cached responses. Ignore events that
        change no caller, such as new users.
        """
        try:
            self._apply(decode_envelope(body))
        except msgspec.DecodeError:
            self.drop_all()

    def _apply(self, envelope: Envelope) -> None:
        if envelope.type in _IRRELEVANT:
            return
        if envelope.type in _ABOUT_A_USER:
            self.drop(decode_event(envelope, _ABOUT_A_USER[envelope.type]).user_id)
        elif envelope.type == event_type(UserEdited):
            self.drop(decode_event(envelope, UserEdited).account.id)
        elif envelope.type == event_type(OrganizationCreated):
            self.drop(decode_event(envelope, OrganizationCreated).owner_id)
        else:
            self.drop_all()
