"""The time for which the account of a credential is cached, and the events that end it."""

import asyncio
from typing import Any

import msgspec
import nats
import pytest

from ingot_chassis.errors import Denied, NotFound, Unauthenticated, Unavailable
from ingot_chassis.events.bus import Bus
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.credentials import Authenticated
from ingot_contracts.identity.events import (
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
from ingot_contracts.testing.identity import FakeIdentity
from ingot_gateway.auth import ANONYMOUS, ENROLLING, TOPIC, Authenticator, Caller
from ingot_gateway.clients.identity import HttpIdentity
from ingot_gateway.credentials import Credential
from ingot_testing.service import envelope_of

from .world import answer

ADDRESS = "192.0.2.1"
ANN, BOB = Credential("ann's"), Credential("bob's")


class Identity(FakeIdentity):
    """Knows Ann (7) and Bob (8). Each answer has a new token.

    ``refusal`` is the status of every answer if it is not 0. Answers wait for ``may_answer``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.refusal = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.add_credential(ANN, 7)
        self.add_credential(BOB, 8)

    def add_credential(self, credential: Credential, user_id: int) -> None:
        self.credentials[credential.authenticate_body(ADDRESS)] = Authenticated(
            principal_token="", user_id=user_id
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        token = f"token {self.requests}"
        await self.may_answer.wait()
        if self.refusal:
            await answer(send, self.refusal, b'{"message": "refused", "url": ""}')
            return
        self.credentials = {
            credential: msgspec.structs.replace(account, principal_token=token)
            for credential, account in self.credentials.items()
        }
        await super().__call__(scope, receive, send)

    async def wait_for_requests(self, count: int) -> None:
        while self.requests < count:
            await asyncio.sleep(0)


@pytest.fixture
def identity() -> Identity:
    return Identity()


def authenticator_of(identity: Identity, **options: Any) -> Authenticator:
    own = ServiceIdentity("gateway", SigningKey.generate())
    peer = Peers.in_process({"identity": identity}, own)["identity"]
    return Authenticator(HttpIdentity(peer), **{"seconds": 5.0, **options})


@pytest.fixture
def authenticator(identity: Identity) -> Authenticator:
    return authenticator_of(identity)


def message_of(event: msgspec.Struct) -> bytes:
    """The body of the NATS message."""
    return msgspec.json.encode(envelope_of(event))


async def test_requests_with_one_credential_share_one_answer_of_identity(authenticator, identity):
    first = await authenticator.caller(ANN, ADDRESS)
    second = await authenticator.caller(ANN, ADDRESS)

    assert first == second == Caller("token 1", 7)
    assert identity.requests == 1


async def test_identity_gets_the_address_of_the_client(authenticator):
    assert await authenticator.caller(ANN, "203.0.113.9") == ANONYMOUS
    assert (await authenticator.caller(ANN, ADDRESS)).user_id == 7


async def test_requests_at_the_same_time_share_one_request_to_identity(authenticator, identity):
    callers = await asyncio.gather(*(authenticator.caller(ANN, ADDRESS) for _ in range(20)))

    assert len(set(callers)) == 1
    assert identity.requests == 1


async def test_a_client_that_leaves_does_not_take_the_answer_from_the_others(authenticator, identity):
    identity.may_answer.clear()
    leaver, stayer = (asyncio.create_task(authenticator.caller(ANN, ADDRESS)) for _ in range(2))
    await identity.wait_for_requests(1)
    leaver.cancel()
    identity.may_answer.set()

    assert (await stayer).user_id == 7
    assert identity.requests == 1


async def test_that_a_credential_is_unknown_is_not_remembered(authenticator, identity):
    for _ in range(2):
        assert await authenticator.caller(Credential("unknown"), ADDRESS) == ANONYMOUS

    assert identity.requests == 2


def revoke_token(identity: Identity) -> None:
    """Also what a membership that ended looks like: identity answers something else."""
    identity.credentials = {}


def ban_account(identity: Identity) -> None:
    """The account may not sign in any more."""
    identity.refusal = 403


@pytest.mark.parametrize("revoke", [revoke_token, ban_account])
@pytest.mark.parametrize("delay", [0.0, 3.0], ids=["fast answer", "slow answer"])
async def test_a_revocation_takes_effect_within_its_seconds_without_an_event(identity, revoke, delay):
    now = 100.0
    authenticator = authenticator_of(identity, clock=lambda: now)
    identity.may_answer.clear()
    request = asyncio.create_task(authenticator.caller(ANN, ADDRESS))
    await identity.wait_for_requests(1)
    now += delay
    identity.may_answer.set()
    assert (await request).user_id == 7
    revoke(identity)
    now = 104.9
    assert (await authenticator.caller(ANN, ADDRESS)).user_id == 7
    now = 105.0
    if revoke is ban_account:
        with pytest.raises(Denied):
            await authenticator.caller(ANN, ADDRESS)
    else:
        assert await authenticator.caller(ANN, ADDRESS) == ANONYMOUS


async def test_a_password_without_its_code_is_refused_with_words_each_time(authenticator, identity):
    password = Credential("", "ann", "secret")
    identity.credentials[password.authenticate_body(ADDRESS)] = Authenticated(
        principal_token="", user_id=0, needs_code=True
    )
    for _ in range(2):
        with pytest.raises(Unauthenticated, match="use an access token instead") as refused:
            await authenticator.caller(password, ADDRESS)
        assert refused.value.headers == {"X-Gitea-OTP": "required; app"}
    assert identity.requests == 2


async def test_a_password_without_a_required_second_factor_is_refused_with_words(authenticator, identity):
    password = Credential("", "ann", "secret")
    identity.credentials[password.authenticate_body(ADDRESS)] = Authenticated(
        principal_token="", user_id=0, needs_second_factor=True
    )
    with pytest.raises(Unauthenticated, match="sign in with a browser to set it up"):
        await authenticator.caller(password, ADDRESS)


async def test_a_session_without_a_required_second_factor_is_anonymous(authenticator, identity):
    session = Credential(session="5" * 64)
    identity.credentials[session.authenticate_body(ADDRESS)] = Authenticated(
        principal_token="", user_id=0, needs_second_factor=True
    )
    assert await authenticator.caller(session, ADDRESS) == ENROLLING
    assert (ENROLLING.principal_token, ENROLLING.user_id) == ("", 0)


async def test_what_is_remembered_of_a_code_lets_no_password_in_and_nobody_elsewhere(authenticator, identity):
    with_code = Credential("", "ann", "secret", code="123456")
    identity.add_credential(with_code, 7)

    assert (await authenticator.caller(with_code, ADDRESS)).user_id == 7
    assert (await authenticator.caller(with_code, ADDRESS)).user_id == 7
    assert identity.requests == 1
    assert await authenticator.caller(Credential("", "ann", "secret"), ADDRESS) == ANONYMOUS
    assert await authenticator.caller(with_code, "192.0.2.66") == ANONYMOUS
    assert identity.requests == 3


async def test_zero_seconds_remember_nothing(identity):
    authenticator = authenticator_of(identity, seconds=0)
    for _ in range(2):
        await authenticator.caller(ANN, ADDRESS)

    assert identity.requests == 2


@pytest.mark.parametrize(("status", "error"), [(403, Denied), (503, Unavailable)])
async def test_a_failure_is_passed_on_and_not_remembered(authenticator, identity, status, error):
    identity.refusal = status
    with pytest.raises(error):
        await authenticator.caller(ANN, ADDRESS)
    identity.refusal = 0

    assert (await authenticator.caller(ANN, ADDRESS)).user_id == 7


@pytest.mark.parametrize("status", [401, 404])
async def test_a_gateway_that_identity_rejects_is_not_the_callers_fault(authenticator, identity, status):
    identity.refusal = status

    with pytest.raises(Unavailable):
        await authenticator.caller(ANN, ADDRESS)


async def test_sudo_to_an_unknown_account_is_not_found(authenticator, identity):
    identity.refusal = 404

    with pytest.raises(NotFound):
        await authenticator.caller(Credential("ann's", sudo="x"), ADDRESS)


async def test_dropping_one_user_keeps_the_others(authenticator):
    ann, bob = await authenticator.caller(ANN, ADDRESS), await authenticator.caller(BOB, ADDRESS)
    authenticator.drop(7)

    assert await authenticator.caller(BOB, ADDRESS) == bob
    assert await authenticator.caller(ANN, ADDRESS) != ann


async def test_dropping_any_user_drops_all_answers_under_sudo(authenticator, identity):
    acting = Credential("ann's", sudo="bob")
    identity.add_credential(acting, 8)
    first = await authenticator.caller(acting, ADDRESS)
    authenticator.drop(99)

    assert await authenticator.caller(acting, ADDRESS) != first


async def test_an_answer_from_before_a_drop_is_not_remembered(authenticator, identity):
    identity.may_answer.clear()
    asking = asyncio.create_task(authenticator.caller(ANN, ADDRESS))
    await identity.wait_for_requests(1)
    authenticator.drop(7)
    identity.may_answer.set()
    before = await asking

    assert await authenticator.caller(ANN, ADDRESS) != before


async def test_a_request_after_a_drop_does_not_wait_for_an_answer_from_before(authenticator, identity):
    identity.may_answer.clear()
    before = asyncio.create_task(authenticator.caller(ANN, ADDRESS))
    await identity.wait_for_requests(1)
    authenticator.drop(7)
    after = asyncio.create_task(authenticator.caller(ANN, ADDRESS))
    await identity.wait_for_requests(2)
    identity.may_answer.set()

    assert await before != await after


ACCOUNT = Account(id=7, kind="user", login="ann")
ACME = Account(id=9, kind="organization", login="acme")


@pytest.mark.parametrize(
    ("event", "dropped"),
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
async def test_an_event_drops_the_account_that_it_is_about(authenticator, event, dropped):
    before = {one: await authenticator.caller(one, ADDRESS) for one in (ANN, BOB)}
    await authenticator.on_event(message_of(event))

    changed = {one for one in (ANN, BOB) if await authenticator.caller(one, ADDRESS) != before[one]}
    assert changed == dropped


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"{}", message_of(CredentialsRevoked(user_id=7)).replace(b"user_id", b"other")]
)
async def test_an_event_that_cannot_be_read_drops_all_accounts(authenticator, body):
    before = await authenticator.caller(BOB, ADDRESS)
    await authenticator.on_event(body)

    assert await authenticator.caller(BOB, ADDRESS) != before


async def test_events_arrive_over_nats(authenticator, nats_url):
    before = await authenticator.caller(ANN, ADDRESS)
    bus, received = Bus(nats_url, name="gateway"), asyncio.Event()

    async def on_message(body: bytes) -> None:
        await authenticator.on_event(body)
        received.set()

    listening = asyncio.create_task(bus.listen(TOPIC, on_message))
    publisher = await nats.connect(nats_url)
    async with asyncio.timeout(20):
        while not received.is_set():  # core NATS keeps no messages for a later subscription
            await publisher.publish(
                "ingot.identity.credentials.revoked.v1", message_of(CredentialsRevoked(user_id=7))
            )
            await publisher.flush()
            await asyncio.wait({asyncio.create_task(received.wait())}, timeout=0.1)

    assert await authenticator.caller(ANN, ADDRESS) != before
    listening.cancel()
    await publisher.close()
    await bus.close()
