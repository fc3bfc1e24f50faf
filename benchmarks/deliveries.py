"""Webhooks: deliveries per second from the event to its arrival, and what one hanging endpoint costs fifty good ones.

One hooks process on PostgreSQL and NATS; repos is played by a publisher, the endpoints are one more process.
``python benchmarks/deliveries.py`` measures, ``--hanging`` the latter alone, for which the machine must be quiet;
``--soak`` kills hooks, NATS and the receiver at random under 10,000 events for 200 hooks, and fails unless every
promise was kept. With ``--check`` a figure outside its bound ends it with code 1.
"""

import argparse
import asyncio
import importlib
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "services" / "hooks" / "tests")]

field = importlib.import_module("field")
processor = importlib.import_module("processor")

from ingot_chassis.keys import SigningKey  # noqa: E402
from ingot_chassis.migrations import upgrade  # noqa: E402
from ingot_chassis.testing.databases import PostgresDatabases  # noqa: E402
from ingot_chassis.testing.servers import NatsServer, SessionServers  # noqa: E402
from ingot_hooks.app import SCRIPTS  # noqa: E402
from ingot_hooks.settings import Settings  # noqa: E402

TARGET = 400
MOST_CHANGE = 0.1
"""By how much more the good endpoints may wait beside a hanging one, in the slowest hundredth."""
GOOD, HANGING = 50, "/hang"
WINDOW, PER_SECOND = 30, 10
"""Seconds of one window, and events in each: two deliveries each, far less than the service can do."""
SETTLING = 2.0
"""Seconds at the beginning of a window that do not count: connections are made anew then."""


@asynccontextmanager
async def prepared(
    databases: PostgresDatabases, servers: SessionServers
) -> AsyncIterator[tuple[Any, NatsServer]]:
    """A field with empty servers; its processes are not started yet."""
    nats = servers.own_nats()
    settings = Settings(
        database_url=databases.empty(),
        nats_url=nats.url,
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        allowed_targets=["127.0.0.0/8"],
        background=True,
    )
    await upgrade(settings.database_url, SCRIPTS)
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        made = field.Field(settings, Path(folder))
        try:
            yield made, nats
        finally:
            await made.close()
            nats.stop()


async def rate(made: Any, *, events: int, each: int) -> tuple[float, float]:
    """With ``each`` hooks per event: deliveries per second, first publish to last arrival, and CPU of hooks for one."""
    repositories = 50
    await made.furnish([field.Told(f"/{n}", 1 + n % repositories) for n in range(repositories * each)])
    made.start_receiver()
    made.start_service()
    warm = [made.envelope(1 + n % repositories, "main", new=False) for n in range(100)]
    await made.publish(warm)
    await made.until_all_arrived(seconds=60)
    messages = [made.envelope(1 + n % repositories, "main", new=False) for n in range(events)]
    spent, started = processor.seconds({made.service.pid}), time.time()
    await made.publish(messages)
    await made.until_all_arrived(seconds=60)
    spent = processor.seconds({made.service.pid}) - spent
    last = max(arrival.at for arrival in made.arrivals())
    return events * each / (last - started), spent / (events * each)


async def window(made: Any, *, hanging: bool) -> list[float]:
    """Seconds from the publish of each event to its arrival at its good endpoint. Raises TimeoutError."""
    made.start_receiver(hangs=hanging)
    sent: dict[str, float] = {}
    started = time.time()
    for number in range(WINDOW * PER_SECOND):
        await asyncio.sleep(started + number / PER_SECOND - time.time())
        message = made.envelope(1 + number % GOOD, "main", new=False)
        sent[message[1].removeprefix("event-")] = time.time()
        await made.publish([message])
    async with asyncio.timeout(60):
        while True:
            arrived = {
                arrival.event: arrival.at - sent[arrival.event]
                for arrival in reversed(made.arrivals())
                if arrival.event in sent and arrival.path != HANGING
            }
            if len(arrived) == len(sent):
                break
            await asyncio.sleep(0.5)
    made.kill(made.receiver)
    await made.forget()
    return [wait for event, wait in arrived.items() if sent[event] - started > SETTLING]


async def measure(databases: PostgresDatabases, servers: SessionServers, events: int) -> bool:
    """Whether every rate is within its bound."""
    within = True
    for each in (1, 4):
        async with prepared(databases, servers) as (made, _):
            found, spent = await rate(made, events=events // each, each=each)
        print(
            f"webhooks, {each} per event, from event to arrival: {found:.0f}/s (target {TARGET}/s), "
            f"{spent * 1e6:.0f} µs CPU of hooks for each",
            flush=True,
        )
        within = within and found >= TARGET
    return within


async def compare(databases: PostgresDatabases, servers: SessionServers, rounds: int) -> bool:
    """Fifty good endpoints that hear of one repository each, and one that hears of all and answers, or hangs, in turn.

    One process goes through all windows, so that the machine is the same to both kinds. The spread is the middle
    90 % of what other choices of as many rounds would have given (bootstrap). Returns whether the slowest hundredth
    is within its bound.
    """
    within = True
    taken: tuple[list[list[float]], list[list[float]]] = ([], [])
    async with prepared(databases, servers) as (made, _):
        good = [field.Told(f"/{n}", 1 + n, host=f"127.0.0.{n + 2}") for n in range(GOOD)]
        await made.furnish(good + [field.Told(HANGING, 1 + n, host="127.0.0.100") for n in range(GOOD)])
        made.start_service()
        await window(made, hanging=False)
        for round_ in range(rounds):
            for number in (0, 1) if round_ % 2 else (1, 0):
                taken[number].append(await window(made, hanging=bool(number)))
    for share in (0.5, 0.99):
        ratio, low, high = compared(taken, share)
        print(
            f"p{share * 100:.0f} of {GOOD} good endpoints: {of_share(taken[0], share) * 1e3:.1f} ms while another "
            f"answers, {of_share(taken[1], share) * 1e3:.1f} ms while it hangs: {(ratio - 1) * 100:+.1f} % "
            f"(90 % within {(low - 1) * 100:+.1f} and {(high - 1) * 100:+.1f} %; {rounds} rounds of {WINDOW} s "
            f"each way, {sum(map(len, taken[1]))} deliveries)",
            flush=True,
        )
        within = within and (share < 0.99 or ratio - 1 < MOST_CHANGE)
    return within


def of_share(blocks: Sequence[list[float]], share: float) -> float:
    found = sorted(wait for block in blocks for wait in block)
    return found[int(len(found) * share)]


def compared(taken: tuple[list[list[float]], list[list[float]]], share: float) -> tuple[float, float, float]:
    """How many times as long it takes while an endpoint hangs, and the ends of the spread of that."""
    answering, hanging = taken
    chance = random.Random(1)
    ratios = []
    for _ in range(500):
        rounds = chance.choices(range(len(answering)), k=len(answering))
        ratios.append(
            of_share([hanging[n] for n in rounds], share) / of_share([answering[n] for n in rounds], share)
        )
    ratios.sort()
    return of_share(hanging, share) / of_share(answering, share), ratios[25], ratios[-26]


async def killing(databases: PostgresDatabases, servers: SessionServers, seed: int) -> None:
    async with prepared(databases, servers) as (made, nats):
        print(
            "soak:", await field.soak(made, nats, events=10_000, hooks_=200, kills=24, seed=seed), flush=True
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rate", action="store_true", help="deliveries per second alone")
    parser.add_argument("--hanging", action="store_true", help="what a hanging endpoint costs alone")
    parser.add_argument(
        "--rounds", type=int, default=10, help="of comparing with and without a hanging endpoint"
    )
    parser.add_argument("--soak", action="store_true", help="the soak alone")
    parser.add_argument("--seed", type=int, default=1, help="of the soak")
    parser.add_argument("--check", action="store_true", help="fail if a figure is outside its bound")
    given = parser.parse_args()
    within = True
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        if given.soak:
            await killing(databases, servers, given.seed)
            return
        if not given.hanging:
            within = await measure(databases, servers, given.events)
        if not given.rate:
            within = await compare(databases, servers, given.rounds) and within
    finally:
        databases.close()
        servers.close()
    if given.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    asyncio.run(main())
