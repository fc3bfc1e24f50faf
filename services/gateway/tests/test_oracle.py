"""h11 reads the traffic of the gateway and a service, and agrees on each message and on its sender.

`oracle_runs` has the number of requests and the seed.
"""

import asyncio
import random
from collections import Counter

import pytest

from .byte_tap import ByteTap, Exchange, TappedConnection
from .connection_plans import Plan, connection_plan
from .oracle_checks import OracleError, check_client, check_connection, check_executions
from .oracle_runs import REQUESTS, SEED, run_quietly
from .oracle_world import TappedWorld, open_tapped_world, run_client
from .raw_requests import Attempt, Sender
from .request_kinds import KINDS

ROUNDS = 4
CLIENTS = 16
BATCH = 500
"""Requests after which all connections to the service are ended and checked, so memory does not grow."""
PROGRESS = 10_000


class Run:
    """One round: clients take plans until enough requests were sent."""

    def __init__(self, name: str, requests: int) -> None:
        self.requests = requests
        self.seed = f"{SEED}/{name}"
        self.kinds: Counter[str] = Counter()
        self.sent = self._reported = 0
        self._last_plan = self._last_checked = 0
        self._attempts: dict[bytes, Attempt] = {}
        self._answered: set[bytes] = set()
        """Marks of requests whose client has the answer of the service."""

    async def run(self) -> None:
        """Run all plans. Raises OracleError with all that is needed to repeat the plan that failed."""
        async with open_tapped_world() as world:
            while self.sent < self.requests:
                await self._run_batch(world)

    def add(self, *attempts: Attempt) -> None:
        """Count requests that are about to be sent."""
        self.sent += len(attempts)
        self.kinds.update(attempt.kind for attempt in attempts)
        self._attempts.update((attempt.mark, attempt) for attempt in attempts if attempt.mark)

    async def _run_batch(self, world: TappedWorld) -> None:
        goal = min(self.requests, self.sent + BATCH)
        async with asyncio.TaskGroup() as clients:
            for _ in range(CLIENTS):
                clients.create_task(self._run_clients(world.port, goal))
        await self.check_connections(world)
        if self.sent - self._reported >= PROGRESS:
            self._reported = self.sent
            print(f"oracle {self.seed}: {self.sent} of {self.requests} requests", flush=True)

    async def check_connections(self, world: TappedWorld) -> None:
        """End all connections to the service, check them and forget them. Raises OracleError."""
        connections, all_ended = await world.end_connections()
        try:
            check_executions(connections, self._answered)
        except OracleError as error:
            raise OracleError(f"{self._cure()}: {error}") from error
        for connection in connections:
            try:
                check_connection(connection, self._attempts, has_ended=all_ended or not connection.open_sides)
            except OracleError as error:
                plans = f"plans {self._last_checked + 1} to {self._last_plan}"
                record = "\n".join(f"{direction}: {data[:400]!r}" for direction, data in connection.record)
                raise OracleError(f"{self._cure()}, {plans}: {error}\n{record[-20_000:]}") from error
        self._attempts.clear()
        self._answered.clear()
        self._last_checked = self._last_plan

    async def _run_clients(self, port: int, goal: int) -> None:
        while self.sent < goal:
            self._last_plan += 1
            plan = connection_plan(self.seed, self._last_plan)
            self.add(*plan.attempts)
            await self.run_plan(port, plan)

    def _cure(self) -> str:
        return (
            f"repeat with INGOT_ORACLE_SEED={SEED} INGOT_ORACLE={REQUESTS}; connection_plan({self.seed!r}, "
            "number)"
        )

    async def run_plan(self, port: int, plan: Plan) -> None:
        """Run one connection of a client and check what it received."""
        try:
            self._answered |= check_client(plan, await run_client(port, plan))
        except (OracleError, TimeoutError) as error:
            text = f"{self._cure()}, plan {plan.number}, {plan.kind}, {plan.ending}: {error!r}"
            raise OracleError(f"{text}\nsteps: {plan.steps!r}"[:20_000]) from error


@pytest.mark.parametrize("part", range(ROUNDS))
def test_h11_agrees_on_each_message_and_its_sender(part):
    run = Run(str(part), REQUESTS // ROUNDS)
    run_quietly(run.run(), on_uvloop=part % 2 == 0)
    if run.requests >= 1000:
        missing = set(KINDS) - run.kinds.keys()
        assert not missing, f"no request of these kinds was sent: {missing}"


@pytest.mark.parametrize(
    ("carried", "answered", "flaw"),
    [
        ([b"s1r1z", b"s1r2z", b"s1r1z"], [], "carried out 2 times"),
        ([b"s1r1z"], [b"s1r2z"], "not carried out"),
    ],
)
def test_the_oracle_counts_how_often_a_request_was_carried_out(carried, answered, flaw):
    connection = TappedConnection(ByteTap(0))
    connection.exchanges = [Exchange("POST", b"/", mark, [], []) for mark in carried]
    with pytest.raises(OracleError, match=flaw):
        check_executions([connection], answered)


@pytest.mark.parametrize("on_uvloop", [True, False])
def test_a_response_to_no_request_reaches_no_client(on_uvloop):
    async def send_between_requests() -> None:
        run = Run("idle", 0)
        async with open_tapped_world() as world:
            for number in range(1, 50):
                request = Sender(number, random.Random(number)).request("plain", do="echo", close=True)
                run.add(request)
                await run.run_plan(world.port, Plan(number, "plain", [request], [request.data]))
                assert world.tap.send_surplus() == 1
            await run.check_connections(world)

    run_quietly(send_between_requests(), on_uvloop=on_uvloop)


@pytest.mark.parametrize("ending", ["half-close", "close", "reset"])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_client_that_leaves_at_any_byte_disturbs_no_other(framing, ending):
    async def leave_at_each_byte() -> None:
        run = Run(f"{framing}-{ending}", 0)
        whole = Sender(1, random.Random(1)).request(
            "whole", method="POST", size=40, do="echo", framing=framing
        )
        async with open_tapped_world() as world:
            for size in range(1, len(whole.data)):
                sender = Sender(size, random.Random(1))
                cut = sender.request("cut", "cut", method="POST", size=40, do="echo", framing=framing)
                cut.data = cut.data[:size]
                victim = sender.request("victim", method="POST", size=40, close=True)
                run.add(cut, victim)
                leaving = Plan(size, "cut", [cut], [cut.data], ending)
                await asyncio.gather(
                    run.run_plan(world.port, leaving),
                    run.run_plan(world.port, Plan(size, "victim", [victim], [victim.data])),
                )
            await run.check_connections(world)

    run_quietly(leave_at_each_byte(), on_uvloop=ending == "close")
