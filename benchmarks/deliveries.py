"""Webhooks: deliveries per second from the event to its arrival, and what one hanging endpoint costs fifty good ones.

One hooks process on PostgreSQL and NATS; repos is played by a publisher, the endpoints are one more process.
``python benchmarks/deliveries.py`` measures; ``--soak`` kills hooks, NATS and the receiver at random under 10,000
events for 200 hooks, and fails unless every promise was kept.
"""

import argparse
import asyncio
import importlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "services" / "hooks" / "tests"))

field = importlib.import_module("field")

from ingot_chassis.keys import SigningKey  # noqa: E402
from ingot_chassis.migrations import upgrade  # noqa: E402
from ingot_chassis.testing.databases import PostgresDatabases  # noqa: E402
from ingot_chassis.testing.servers import NatsServer, SessionServers  # noqa: E402
from ingot_hooks.app import SCRIPTS  # noqa: E402
from ingot_hooks.settings import Settings  # noqa: E402

TARGET = 400
HANGING_EVENTS, HANGING_PACE = 100, 0.1


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


async def rate(made: Any, *, events: int, each: int) -> float:
    """Deliveries per second with ``each`` hooks per event, from the first publish to the last arrival."""
    repositories = 50
    await made.furnish([field.Told(f"/{n}", 1 + n % repositories) for n in range(repositories * each)])
    made.start_receiver()
    made.start_service()
    warm = [made.envelope(1 + n % repositories, "main", new=False) for n in range(100)]
    await made.publish(warm)
    await made.until_all_arrived(seconds=60)
    started = time.time()
    await made.publish([made.envelope(1 + n % repositories, "main", new=False) for n in range(events)])
    await made.until_all_arrived(seconds=600)
    last = max(arrival.at for arrival in made.arrivals())
    return events * each / (last - started)


async def latency(made: Any, *, hanging: bool) -> float:
    """The 99th of a hundred arrivals of good endpoints, in seconds after the publish."""
    told = [field.Told(f"/{n}", 1, host=f"127.0.0.{n + 2}") for n in range(50)]
    if hanging:
        told.append(field.Told("/hang", 1, host="127.0.0.100"))
    await made.furnish(told)
    made.start_receiver()
    made.start_service()
    await made.publish([made.envelope(1, "main", new=False)])
    while len(made.arrivals()) < len(told):
        await asyncio.sleep(0.1)
    sent: dict[str, float] = {}
    for number in range(HANGING_EVENTS):
        message = made.envelope(1, "main", new=False)
        sent[f"{number + 2:06d}"] = time.time()
        await made.publish([message])
        await asyncio.sleep(HANGING_PACE * 5)
    await asyncio.sleep(3)
    waits = sorted(
        arrival.at - sent[arrival.event]
        for arrival in made.arrivals()
        if arrival.event in sent and arrival.path != "/hang"
    )
    assert len(waits) >= HANGING_EVENTS * 50, len(waits)
    return waits[int(len(waits) * 0.99)]


async def measure(databases: PostgresDatabases, servers: SessionServers, events: int) -> None:
    for each in (1, 4):
        async with prepared(databases, servers) as (made, _):
            found = await rate(made, events=events // each, each=each)
        print(
            f"webhooks, {each} per event, from event to arrival: {found:.0f}/s (target {TARGET}/s)",
            flush=True,
        )


async def compare(databases: PostgresDatabases, servers: SessionServers) -> None:
    figures = []
    for hanging in (False, True):
        async with prepared(databases, servers) as (made, _):
            figures.append(await latency(made, hanging=hanging))
    good, beside = figures
    print(
        f"p99 of 50 good endpoints: {good * 1e3:.0f} ms alone, {beside * 1e3:.0f} ms beside a hanging one "
        f"({(beside / good - 1) * 100:+.0f} %)",
        flush=True,
    )


async def killing(databases: PostgresDatabases, servers: SessionServers, seed: int) -> None:
    async with prepared(databases, servers) as (made, nats):
        print(
            "soak:", await field.soak(made, nats, events=10_000, hooks_=200, kills=24, seed=seed), flush=True
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rate", action="store_true", help="deliveries per second alone")
    parser.add_argument("--soak", action="store_true", help="the soak alone")
    parser.add_argument("--seed", type=int, default=1, help="of the soak")
    given = parser.parse_args()
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        if given.soak:
            await killing(databases, servers, given.seed)
            return
        await measure(databases, servers, given.events)
        if not given.rate:
            await compare(databases, servers)
    finally:
        databases.close()
        servers.close()


if __name__ == "__main__":
    asyncio.run(main())
