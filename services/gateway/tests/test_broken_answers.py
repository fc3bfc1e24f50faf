"""Broken answers of a service: the gateway answers 502 or ends the connection, and reuses none of them."""

import asyncio
from collections import Counter

import pytest

from .broken_answers import FOREIGN, KINDS, answer_body
from .broken_world import HEAD_ENDS, BrokenWorld, answer_of, broken_plan, open_broken_world
from .connection_plans import Plan
from .h11_streams import Message
from .oracle_checks import MARK, OracleError
from .oracle_runs import REQUESTS, SEED, run_quietly
from .oracle_world import RawClient, run_client
from .raw_requests import Attempt

SHARE = 5
"""One in so many requests of the oracle is for broken answers."""
CLIENTS = 16
BATCH = 20
"""Plans of one client after which all connections are checked."""
REPEATABLE = ("GET", "PUT", "DELETE")


def check_client(plan: Plan, client: RawClient) -> None:
    """Check what one client received. Raises OracleError."""
    if client.failure is not None:
        raise OracleError(f"the client cannot read the responses: {client.failure}")
    responses = client.reader.messages
    for attempt, response in zip(plan.attempts, responses, strict=False):
        _check_response(attempt, response)
    if len(responses) < len(plan.attempts) and all(response.is_complete for response in responses):
        raise OracleError(f"only {len(responses)} responses to {len(plan.attempts)} requests")


def _check_response(attempt: Attempt, response: Message) -> None:
    kind, repeats = answer_of(attempt.target)
    outcome = KINDS[kind].outcome
    text = b"".join((*(value for _, value in response.headers), response.body))
    if foreign := {mark for mark in MARK.findall(text) if mark != attempt.mark}:
        raise OracleError(f"{attempt.mark!r} ({kind}) got the bytes of {foreign!r}")
    body = b"" if attempt.method == "HEAD" or kind in HEAD_ENDS else answer_body(attempt.mark, repeats)
    is_own = response.values(b"x-mark") == [attempt.mark]
    if is_own and response.status != HEAD_ENDS.get(kind, 200):
        raise OracleError(f"{attempt.mark!r} ({kind}) got the status {response.status}")
    if is_own and outcome == "bad-gateway":
        raise OracleError(f"{attempt.mark!r} ({kind}) got the head of a broken answer")
    # A broken chunk may begin with a byte of its own.
    if (
        is_own
        and not response.is_complete
        and (outcome == "answered" or not (body + FOREIGN).startswith(response.body))
    ):
        raise OracleError(f"{attempt.mark!r} ({kind}) got {response.body[:300]!r}")
    if is_own and response.is_complete and (outcome == "broken" or response.body != body):
        raise OracleError(f"{attempt.mark!r} ({kind}) got a broken answer as whole: {response.body[:300]!r}")
    if not is_own and (outcome == "answered" or response.status != 502 or not response.is_complete):
        raise OracleError(f"{attempt.mark!r} ({kind}) got {response.status} {response.body[:300]!r}")


def check_service(world: BrokenWorld) -> None:
    """Check what arrived at the service. Raises OracleError.

    An idempotent request without a body may be repeated if its connection ended before any byte of a
    response.
    """
    service = world.service
    if service.failures:
        raise OracleError("; ".join(service.failures[:3]))
    counts = Counter(one.mark for one in service.carried)
    for one in service.carried:
        attempt = service.attempts[one.mark]
        may_repeat = one.method in REPEATABLE and not attempt.body and not one.bytes_sent
        if counts[one.mark] > 1 and not may_repeat:
            raise OracleError(f"{one.mark!r} ({attempt.kind}) was carried out {counts[one.mark]} times")
    service.carried.clear()
    service.attempts.clear()


async def run(seed: str, requests: int) -> Counter[str]:
    """Run plans, and return the numbers of answers by kind."""
    number = 0
    async with open_broken_world(seed) as world:

        async def run_clients() -> None:
            nonlocal number
            for _ in range(BATCH):
                number += 1
                plan = broken_plan(seed, number)
                world.service.attempts |= {attempt.mark: attempt for attempt in plan.attempts}
                try:
                    check_client(plan, await run_client(world.port, plan))
                except (OracleError, TimeoutError) as error:
                    cure = f"broken_plan({seed!r}, {plan.number}), {plan.kind}"
                    raise OracleError(f"{cure}: {error!r}\nsteps: {plan.steps!r}"[:20_000]) from error

        while world.service.kinds.total() < requests:
            async with asyncio.TaskGroup() as clients:
                for _ in range(CLIENTS):
                    clients.create_task(run_clients())
            try:
                await world.end()
            except TimeoutError as error:
                raise OracleError(f"{seed}: a connection with a broken answer does not end") from error
            check_service(world)
        return world.service.kinds


@pytest.mark.parametrize("on_uvloop", [True, False])
def test_a_broken_answer_reaches_no_client_as_whole_and_its_connection_no_request(on_uvloop):
    kinds: list[Counter[str]] = []

    async def count() -> None:
        kinds.append(await run(f"{SEED}/broken/{on_uvloop}", REQUESTS // SHARE // 2))

    run_quietly(count(), on_uvloop=on_uvloop)
    assert kinds[0].keys() == set(KINDS)
