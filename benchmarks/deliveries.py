"""Webhooks: deliveries per second from event to arrival, and the cost of one hanging endpoint.

One process of hooks runs on PostgreSQL and NATS, and another process receives the deliveries. This program
publishes the events of repos.

- ``python benchmarks/deliveries.py`` measures both figures.
- ``--rate`` measures only the first.
- ``--hanging`` measures only the second, with fifty good endpoints. The machine must be idle.
- ``--soak`` sends 10,000 events for 200 hooks. While they run, it kills hooks, NATS and the receiver at
  random. It fails unless every delivery arrives.
- ``--check`` exits with code 1 if a figure is outside its bound.
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

from backing import empty_servers
from cryptography.fernet import Fernet

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "services" / "hooks" / "tests")]

soak = importlib.import_module("soak")
processor = importlib.import_module("processor")
large_data = importlib.import_module("large_data")

from ingot_chassis.db.migrations import upgrade  # noqa: E402
from ingot_chassis.security.keys import SigningKey  # noqa: E402
from ingot_hooks.migrations import SCRIPTS  # noqa: E402
from ingot_hooks.settings import Settings  # noqa: E402
from ingot_testing.databases import PostgresDatabases  # noqa: E402
from ingot_testing.servers import NatsServer, SessionServers  # noqa: E402

TARGET = 800
MAX_CHANGE = 0.1
"""Longest extra wait of the slowest hundredth of deliveries to good endpoints: a share of the normal wait."""
REPOSITORIES = 50
GOOD, HANGING = 50, "/hang"
WINDOW, PER_SECOND = 30, 10
"""Seconds of one window, and events per second. Its two deliveries are far below the service's limit."""
SETTLING = 2.0
"""Seconds at the start of a window that do not count, because connections are opened in them."""


@asynccontextmanager
async def empty_rig(
    databases: PostgresDatabases, servers: SessionServers
) -> AsyncIterator[tuple[Any, NatsServer]]:
    """Prepare a rig on empty servers. Its processes are not started."""
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
        rig = soak.Rig(settings, Path(folder))
        try:
            yield rig, nats
        finally:
            await rig.close()
            nats.stop()


async def rate(rig: Any, *, events: int, each: int, hosts: int) -> tuple[float, float]:
    """Return deliveries per second from first publish to last arrival, and the CPU of hooks for one delivery.

    Each event has ``each`` hooks. Their endpoints are on ``hosts`` hosts; a host has a limit of deliveries at
    once.
    """
    await rig.create_hooks(
        [
            soak.RigHook(f"/{n}", 1 + n % REPOSITORIES, host=f"127.0.0.{n % hosts + 2}")
            for n in range(REPOSITORIES * each)
        ]
    )
    rig.start_receiver()
    await rig.until_receiver_accepts()
    rig.start_service()
    warm = [rig.envelope(1 + n % REPOSITORIES, "main", new=False) for n in range(2 * REPOSITORIES)]
    await rig.publish(warm)
    await rig.until_all_arrived(seconds=60)
    await vacuum(rig)
    messages = [rig.envelope(1 + n % REPOSITORIES, "main", new=False) for n in range(events)]
    spent, started = processor.seconds({rig.service.pid}), time.time()
    await rig.publish(messages)
    await rig.until_all_arrived(seconds=60)
    spent = processor.seconds({rig.service.pid}) - spent
    last = max(arrival.at for arrival in rig.arrivals())
    return events * each / (last - started), spent / (events * each)


async def vacuum(rig: Any) -> None:
    """Do the work of autovacuum, which is off for tests. Each delivery leaves two dead rows."""
    await large_data.analyze({"hooks": rig.settings.database_url})


async def window(rig: Any, *, hanging: bool) -> list[float]:
    """Return the seconds from the publish of each event to its arrival at its good endpoint.

    Raises TimeoutError.
    """
    await vacuum(rig)
    rig.start_receiver(hangs=hanging)
    await rig.until_receiver_accepts()
    sent: dict[str, float] = {}
    started = time.time()
    for number in range(WINDOW * PER_SECOND):
        await asyncio.sleep(started + number / PER_SECOND - time.time())
        message = rig.envelope(1 + number % GOOD, "main", new=False)
        sent[message[1].removeprefix("event-")] = time.time()
        await rig.publish([message])
    async with asyncio.timeout(60):
        while True:
            arrived = {
                arrival.event: arrival.at - sent[arrival.event]
                for arrival in reversed(rig.arrivals())
                if arrival.event in sent and arrival.path != HANGING
            }
            if len(arrived) == len(sent):
                break
            await asyncio.sleep(0.5)
    rig.kill(rig.receiver)
    await rig.cancel_pending()
    return [wait for event, wait in arrived.items() if sent[event] - started > SETTLING]


async def measure(databases: PostgresDatabases, servers: SessionServers, events: int) -> bool:
    """Return True if every rate is within its bound."""
    within = True
    for each, hosts in ((1, 1), (4, 1), (1, REPOSITORIES)):
        async with empty_rig(databases, servers) as (rig, _):
            per_second, spent = await rate(rig, events=events // each, each=each, hosts=hosts)
        print(
            f"webhooks, {each} per event, {hosts} {'endpoint' if hosts == 1 else 'endpoints'}, from event to "
            f"arrival: {per_second:.0f}/s (target {TARGET}/s), {spent * 1e6:.0f} µs CPU of hooks for each",
            flush=True,
        )
        within = within and per_second >= TARGET
    return within


async def compare(databases: PostgresDatabases, servers: SessionServers, rounds: int) -> bool:
    """Compare the deliveries to good endpoints while one more endpoint answers and while it hangs.

    Each of fifty good endpoints gets the events of one repository. The other one gets all events. One process
    serves all windows, so both kinds are measured on the same machine. The spread is the middle 90 % of a
    bootstrap over the rounds. Return True if the slowest hundredth is within its bound.
    """
    within = True
    waits: tuple[list[list[float]], list[list[float]]] = ([], [])
    async with empty_rig(databases, servers) as (rig, _):
        good = [soak.RigHook(f"/{n}", 1 + n, host=f"127.0.0.{n + 2}") for n in range(GOOD)]
        await rig.create_hooks(good + [soak.RigHook(HANGING, 1 + n, host="127.0.0.100") for n in range(GOOD)])
        rig.start_service()
        await window(rig, hanging=False)
        for round_ in range(rounds):
            for number in (0, 1) if round_ % 2 else (1, 0):
                waits[number].append(await window(rig, hanging=bool(number)))
    for share in (0.5, 0.99):
        ratio, low, high = ratio_of_waits(waits, share)
        print(
            f"p{share * 100:.0f} of {GOOD} good endpoints: {of_share(waits[0], share) * 1e3:.1f} ms while "
            f"another answers, {of_share(waits[1], share) * 1e3:.1f} ms while it hangs: "
            f"{(ratio - 1) * 100:+.1f} % (90 % within {(low - 1) * 100:+.1f} and {(high - 1) * 100:+.1f} %; "
            f"{rounds} rounds of {WINDOW} s each way, {sum(map(len, waits[1]))} deliveries)",
            flush=True,
        )
        within = within and (share < 0.99 or ratio - 1 < MAX_CHANGE)
    return within


def of_share(blocks: Sequence[list[float]], share: float) -> float:
    waits = sorted(wait for block in blocks for wait in block)
    return waits[int(len(waits) * share)]


def ratio_of_waits(
    waits: tuple[list[list[float]], list[list[float]]], share: float
) -> tuple[float, float, float]:
    """Return the factor by which a hanging endpoint slows a delivery, and both ends of its spread."""
    answering, hanging = waits
    chance = random.Random(1)
    ratios = []
    for _ in range(500):
        rounds = chance.choices(range(len(answering)), k=len(answering))
        ratios.append(
            of_share([hanging[n] for n in rounds], share) / of_share([answering[n] for n in rounds], share)
        )
    ratios.sort()
    return of_share(hanging, share) / of_share(answering, share), ratios[25], ratios[-26]


async def run_soak(databases: PostgresDatabases, servers: SessionServers, seed: int) -> None:
    async with empty_rig(databases, servers) as (rig, nats):
        print(
            "soak:",
            await soak.soak(rig, nats, events=10_000, hook_count=200, kills=24, seed=seed),
            flush=True,
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rate", action="store_true", help="deliveries per second alone")
    parser.add_argument("--hanging", action="store_true", help="what a hanging endpoint costs alone")
    parser.add_argument(
        "--rounds", type=int, default=10, help="of the comparison with and without a hanging endpoint"
    )
    parser.add_argument("--soak", action="store_true", help="the soak alone")
    parser.add_argument("--seed", type=int, default=1, help="of the soak")
    parser.add_argument("--check", action="store_true", help="fail if a figure is outside its bound")
    options = parser.parse_args()
    within = True
    with empty_servers() as (servers, databases):
        if options.soak:
            await run_soak(databases, servers, options.seed)
            return
        if not options.hanging:
            within = await measure(databases, servers, options.events)
        if not options.rate:
            within = await compare(databases, servers, options.rounds) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    asyncio.run(main())
