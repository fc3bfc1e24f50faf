"""Pending work after faults: rows of the databases, and events that no consumer has acknowledged."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import nats
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.clock import now

SETTLED_SECONDS = 15
"""Nothing waits for longer once everything is up."""
PATIENCE = 300
"""So long is waited all the same: what is compared afterwards says more than that something was late."""
POLL = 0.2
WAITING = {
    "identity": ("outbox WHERE sent_at IS NULL", "job WHERE state IN ('waiting', 'running')"),
    "repos": (
        "outbox WHERE sent_at IS NULL",
        "push",
        "repository WHERE state IN ('creating', 'forking')",
        "job WHERE state IN ('waiting', 'running')",
    ),
    "issues": ("outbox WHERE sent_at IS NULL", "job WHERE state IN ('waiting', 'running')"),
    "hooks": (
        "outbox WHERE sent_at IS NULL",
        "job WHERE state IN ('waiting', 'running')",
        "delivery WHERE state IN ('pending', 'running')",
    ),
    "mail": (
        "job WHERE state IN ('waiting', 'running')",
        "mail WHERE state IN ('pending', 'running')",
    ),
}
"""Rows that are deleted once all work is done."""


async def rows(url: str, query: str) -> list[Any]:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return list(await connection.execute(text(query)))
    finally:
        await engine.dispose()


async def events_on_their_way(nats_url: str) -> dict[str, int]:
    """By consumer, how many events it has not acknowledged yet, where there are any."""
    client = await nats.connect(nats_url)
    try:
        jetstream = client.jetstream()
        consumers = [
            consumer
            for stream in await jetstream.streams_info()
            for consumer in await jetstream.consumers_info(str(stream.config.name))
        ]
    finally:
        await client.close()
    counts = {each.name: (each.num_pending or 0) + (each.num_ack_pending or 0) for each in consumers}
    return {f"events for {name}": count for name, count in counts.items() if count}


async def waiting(databases: Mapping[str, str], nats_url: str) -> dict[str, int]:
    """Return the numbers of waiting events and rows, without zeros."""
    counts = await events_on_their_way(nats_url)
    for service, tables in WAITING.items():
        for what in tables:
            counts[f"{service}: {what}"] = (await rows(databases[service], f"SELECT count(*) FROM {what}"))[
                0
            ][0]
    return {what: count for what, count in counts.items() if count}


async def wait_settled(databases: Mapping[str, str], nats_url: str) -> tuple[float, dict[str, int]]:
    """Wait until no work is pending. Return the seconds, and the counts of work that was pending too long.

    Raises AssertionError with the rows that stay pending.
    """
    start, late = time.monotonic(), dict[str, int]()
    while counts := await waiting(databases, nats_url):
        seconds = time.monotonic() - start
        if seconds > SETTLED_SECONDS and not late:
            late = counts
            print(f"after {seconds:.1f} s these wait: {late}")
        if seconds > PATIENCE:
            samples = {
                f"{service}: {what}": await rows(databases[service], f"SELECT * FROM {what} LIMIT 10")
                for service, tables in WAITING.items()
                for what in tables
            }
            raise AssertionError(f"still waiting at {now()}: {counts}, {samples}")
        await asyncio.sleep(POLL)
    return time.monotonic() - start, late
