"""How long it is remembered who a credential belongs to, and what ends it."""

import asyncio
from datetime import UTC, datetime
from itertools import count

import msgspec
import nats
import pytest

from ingot_chassis.bus import Bus
from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated, Unavailable
from ingot_chassis.events import Envelope, event_type
from ingot_contracts.identity import (
    Account,
    Authenticate,
    Authenticated,
    CredentialsRevoked,
    MembershipChanged,
    OrganizationCreated,
    OrganizationDeleted,
    OrganizationEdited,
    TeamDeleted,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_gateway.auth import NOBODY, TOPIC, Authenticator
from ingot_gateway.credentials import Presented

ANN, BOB = Presented("ann's"), Presented("bob's")


class FakeIdentity:
    """Knows Ann (7) and Bob (8); each answer is a new statement."""

    def __init__(self) -> None:
        self.questions: list[Authenticate] = []
        self.failure: ApiError | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.known = {"ann's": 7, "bob's": 8}
        self._numbers = count(1)

    async def authenticate(self, credential: Authenticate) -> Authenticated:
        self.questions.append(credential)
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        user_id = self.known.get(credential.token, 0)
        return Authenticated(statement=f"{user_id}-{next(self._numbers)}" if user_id else "", user_id=user_id)


@pytest.fixture
def identity() -> FakeIdentity:
    return FakeIdentity()


@pytest.fixture
def authenticator(identity: FakeIdentity) -> Authenticator:
    return Authenticator(identity, seconds=5)


def enveloped(happened: msgspec.Struct) -> bytes:
    type_ = event_type(type(happened))
    data = msgspec.Raw(msgspec.json.encode(happened))
    return msgspec.json.encode(
        Envelope(id="1", type=type_, key="1", seq=1, occurred_at=datetime.now(UTC), data=data)
    )


async def test_the_same_credential_is_asked_for_once(authenticator, identity):
    first = await authenticator.caller(ANN, "192.0.2.1")
    second = await authenticator.caller(ANN, "192.0.2.1")

    assert first == second
    assert [(one.token, one.address) for one in identity.questions] == [("ann's", "192.0.2.1")]


async def test_all_who_ask_at_the_same_time_wait_for_one_answer(authenticator, identity):
    callers = await asyncio.gather(*(authenticator.caller(ANN, "") for _ in range(20)))

    assert len(set(callers)) == 1
    assert len(identity.questions) == 1


async def test_one_who_leaves_does_not_take_the_answer_from_the_others(authenticator, identity):
    identity.may_answer.clear()
    leaver, stayer = (asyncio.create_task(authenticator.caller(ANN, "")) for _ in range(2))
    while not identity.questions:
        await asyncio.sleep(0)
    leaver.cancel()
    identity.may_answer.set()

    assert (await stayer).user_id == 7
    assert len(identity.questions) == 1


async def test_nobody_is_asked_for_each_time(authenticator, identity):
    for _ in range(2):
        assert await authenticator.caller(Presented("unknown"), "") == NOBODY

    assert len(identity.questions) == 2


def taken_away(identity: FakeIdentity) -> None:
    """A token that is deleted, or a membership that is over: identity answers something else."""
    identity.known = {}


def forbidden(identity: FakeIdentity) -> None:
    """An account that may not sign in any more."""
    identity.failure = Denied("this account may not sign in")


@pytest.mark.parametrize("happens", [taken_away, forbidden])
@pytest.mark.parametrize("slow", [0.0, 3.0], ids=["at once", "slowly"])
async def test_what_is_revoked_ends_within_its_seconds_though_no_event_comes(identity, happens, slow):
    now = 100.0
    authenticator = Authenticator(identity, seconds=5, clock=lambda: now)
    identity.may_answer.clear()
    asking = asyncio.create_task(authenticator.caller(ANN, ""))
    while not identity.questions:
        await asyncio.sleep(0)
    now += slow
    identity.may_answer.set()
    assert (await asking).user_id == 7
    happens(identity)
    now = 104.9
    assert (await authenticator.caller(ANN, "")).user_id == 7
    now = 105.0
    if happens is forbidden:
        with pytest.raises(Denied):
            await authenticator.caller(ANN, "")
    else:
        assert await authenticator.caller(ANN, "") == NOBODY


async def test_zero_seconds_remember_nothing(identity):
    authenticator = Authenticator(identity, seconds=0)
    for _ in range(2):
        await authenticator.caller(ANN, "")

    assert len(identity.questions) == 2


@pytest.mark.parametrize("failure", [Denied("no"), Unavailable("down")])
async def test_a_failure_is_passed_on_and_not_remembered(authenticator, identity, failure):
    identity.failure = failure
    with pytest.raises(type(failure)):
        await authenticator.caller(ANN, "")
    identity.failure = None

    assert (await authenticator.caller(ANN, "")).user_id == 7


@pytest.mark.parametrize("failure", [Unauthenticated("unknown key"), NotFound()])
async def test_a_gateway_that_identity_does_not_know_is_not_the_callers_fault(
    authenticator, identity, failure
):
    identity.failure = failure

    with pytest.raises(Unavailable):
        await authenticator.caller(ANN, "")


async def test_nobody_of_that_name_to_act_as_is_not_found(authenticator, identity):
    identity.failure = NotFound("there is no user 'x' to act as")

    with pytest.raises(NotFound):
        await authenticator.caller(Presented("ann's", sudo="x"), "")


async def test_dropping_one_user_keeps_the_others(authenticator, identity):
    ann, bob = await authenticator.caller(ANN, ""), await authenticator.caller(BOB, "")
    authenticator.drop(7)

    assert await authenticator.caller(BOB, "") == bob
    assert await authenticator.caller(ANN, "") != ann


async def test_dropping_anybody_drops_who_acts_as_somebody_else(authenticator, identity):
    acting = Presented("ann's", sudo="bob")
    first = await authenticator.caller(acting, "")
    authenticator.drop(99)

    assert await authenticator.caller(acting, "") != first


async def test_an_answer_from_before_a_drop_is_not_remembered(authenticator, identity):
    identity.may_answer.clear()
    asking = asyncio.create_task(authenticator.caller(ANN, ""))
    while not identity.questions:
        await asyncio.sleep(0)
    authenticator.drop(7)
    identity.may_answer.set()
    before = await asking

    assert await authenticator.caller(ANN, "") != before


async def test_who_comes_after_a_drop_does_not_wait_for_an_answer_from_before(authenticator, identity):
    identity.may_answer.clear()
    before = asyncio.create_task(authenticator.caller(ANN, ""))
    while not identity.questions:
        await asyncio.sleep(0)
    authenticator.drop(7)
    after = asyncio.create_task(authenticator.caller(ANN, ""))
    while len(identity.questions) < 2:
        await asyncio.sleep(0)
    identity.may_answer.set()

    assert await before != await after


ACCOUNT = Account(id=7, kind="user", login="ann")
ACME = Account(id=9, kind="organization", login="acme")


@pytest.mark.parametrize(
    ("happened", "forgotten"),
    [
        (CredentialsRevoked(user_id=7), {ANN}),
        (MembershipChanged(organization_id=9, user_id=7, member=True), {ANN}),
        (UserEdited(account=ACCOUNT, previous_login="ann"), {ANN}),
        (UserDeleted(user_id=7, login="ann"), {ANN}),
        (OrganizationCreated(account=ACME, owner_id=8), {BOB}),
        (OrganizationDeleted(organization_id=9, login="acme"), {ANN, BOB}),
        (TeamDeleted(organization_id=9, team_id=1), {ANN, BOB}),
        (UserCreated(account=ACCOUNT), set()),
        (OrganizationEdited(account=ACME, previous_login="acme"), set()),
    ],
)
async def test_an_event_drops_whom_it_touches(authenticator, identity, happened, forgotten):
    before = {one: await authenticator.caller(one, "") for one in (ANN, BOB)}
    await authenticator.on_event(enveloped(happened))

    changed = {one for one in (ANN, BOB) if await authenticator.caller(one, "") != before[one]}
    assert changed == forgotten


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"{}", enveloped(CredentialsRevoked(user_id=7)).replace(b"user_id", b"other")]
)
async def test_an_event_that_cannot_be_read_drops_everybody(authenticator, identity, body):
    before = await authenticator.caller(BOB, "")
    await authenticator.on_event(body)

    assert await authenticator.caller(BOB, "") != before


async def test_events_are_heard_from_nats(authenticator, identity, nats_url):
    before = await authenticator.caller(ANN, "")
    bus, heard = Bus(nats_url, name="gateway"), asyncio.Event()

    async def on_message(body: bytes) -> None:
        await authenticator.on_event(body)
        heard.set()

    listening = asyncio.create_task(bus.listen(TOPIC, on_message))
    publisher = await nats.connect(nats_url)
    async with asyncio.timeout(20):
        while not heard.is_set():  # core NATS keeps nothing for a subscription that is not there yet
            await publisher.publish(
                "ingot.identity.credentials.revoked.v1", enveloped(CredentialsRevoked(user_id=7))
            )
            await publisher.flush()
            await asyncio.wait({asyncio.create_task(heard.wait())}, timeout=0.1)

    assert await authenticator.caller(ANN, "") != before
    listening.cancel()
    await publisher.close()
    await bus.close()
