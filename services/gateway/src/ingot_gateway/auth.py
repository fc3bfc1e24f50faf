"""Credential in, signed principal out: asked of identity, remembered for seconds.

A *nobody* is not remembered, and whoever asks at the same time for the same credential waits for one answer.
"""

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import structlog

from ingot_chassis.errors import NotFound, Unauthenticated, Unavailable
from ingot_chassis.events import Envelope, decode_envelope, decode_event, event_type
from ingot_contracts.identity import (
    Authenticated,
    CredentialsRevoked,
    MembershipChanged,
    OrganizationCreated,
    OrganizationEdited,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_gateway.clients.identity import Identity
from ingot_gateway.credentials import Presented

log = structlog.get_logger()

REMEMBERED = 10_000
TOPIC = "ingot.identity.>"
SOMEBODY_ELSE = 0
"""Whom an answer under ``sudo`` is filed under: it also rests on who asked, whom identity does not name."""

_OF_USER: dict[str, type[CredentialsRevoked | MembershipChanged | UserDeleted]] = {
    event_type(cls): cls for cls in (CredentialsRevoked, MembershipChanged, UserDeleted)
}
_OF_NOBODY = {event_type(cls) for cls in (UserCreated, OrganizationEdited)}


class Caller(NamedTuple):
    """Whose request it is. ``statement`` is the signed principal; empty for nobody."""

    statement: str = ""
    user_id: int = 0


NOBODY = Caller()


class _Remembered(NamedTuple):
    caller: Caller
    filed_under: int
    until: float


class Authenticator:
    """Who a credential belongs to, at most ``seconds`` old by ``clock``."""

    def __init__(
        self, identity: Identity, seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._identity, self._seconds, self._clock = identity, seconds, clock
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._of_user: defaultdict[int, set[bytes]] = defaultdict(set)
        self._asking: dict[bytes, asyncio.Task[Caller]] = {}
        self._drops = 0

    async def caller(self, credential: Presented, address: str) -> Caller:
        """Raises Denied for an account that may not sign in, Unavailable while identity cannot be asked."""
        key = credential.digest
        known = self._remembered.get(key)
        if known is not None and known.until > self._clock():
            return known.caller
        task = self._asking.get(key)
        if task is None:
            task = asyncio.create_task(self._ask(key, credential, address), name="authenticate")
            self._asking[key] = task
            task.add_done_callback(lambda done: self._answered(key, done))
        # One who leaves must not take the answer from the others.
        return await asyncio.shield(task)

    def _answered(self, key: bytes, task: asyncio.Task[Caller]) -> None:
        if self._asking.get(key) is task:
            del self._asking[key]
        if not task.cancelled():
            task.exception()  # all who waited may have left; then nobody else looks at it

    async def _ask(self, key: bytes, credential: Presented, address: str) -> Caller:
        drops, asked_at = self._drops, self._clock()
        answer = await self._asked(credential, address)
        if not answer.user_id:
            return NOBODY
        caller = Caller(answer.statement, answer.user_id)
        # What was dropped meanwhile may be what this answer still rests on.
        if self._seconds and drops == self._drops:
            filed_under = SOMEBODY_ELSE if credential.sudo else caller.user_id
            self._remember(key, _Remembered(caller, filed_under, asked_at + self._seconds))
        return caller

    async def _asked(self, credential: Presented, address: str) -> Authenticated:
        try:
            return await self._identity.authenticate(credential.ask(address))
        except (Unauthenticated, NotFound) as error:
            if credential.sudo and isinstance(error, NotFound):
                raise
            log.warning(
                "identity does not know this gateway; are its keys the right ones?", error=error.message
            )
            raise Unavailable("nobody can sign in at the moment") from error

    def _remember(self, key: bytes, answer: _Remembered) -> None:
        self._forget(key)
        self._remembered[key] = answer
        self._of_user[answer.filed_under].add(key)
        while len(self._remembered) > REMEMBERED:
            self._forget(next(iter(self._remembered)))

    def _forget(self, key: bytes) -> None:
        known = self._remembered.pop(key, None)
        if known is None:
            return
        keys = self._of_user[known.filed_under]
        keys.discard(key)
        if not keys:
            del self._of_user[known.filed_under]

    def drop(self, user_id: int) -> None:
        """Forget whatever is remembered of ``user_id``, and what is just being asked."""
        self._drops += 1
        self._asking.clear()
        for filed_under in (user_id, SOMEBODY_ELSE):
            for key in list(self._of_user.get(filed_under, ())):
                self._forget(key)

    def drop_all(self) -> None:
        """Forget everybody."""
        self._drops += 1
        self._asking.clear()
        self._remembered.clear()
        self._of_user.clear()

    async def on_event(self, body: bytes) -> None:
        """Something happened at identity: forget whom it touches, everybody if that cannot be told."""
        try:
            self._on(decode_envelope(body))
        except msgspec.DecodeError:
            self.drop_all()

    def _on(self, envelope: Envelope) -> None:
        if envelope.type in _OF_NOBODY:
            return
        if envelope.type in _OF_USER:
            self.drop(decode_event(envelope, _OF_USER[envelope.type]).user_id)
        elif envelope.type == event_type(UserEdited):
            self.drop(decode_event(envelope, UserEdited).account.id)
        elif envelope.type == event_type(OrganizationCreated):
            self.drop(decode_event(envelope, OrganizationCreated).owner_id)
        else:
            self.drop_all()
