"""A mixed load while processes and servers are killed, stopped and cut off: nothing acknowledged is lost or wrong.

``make soak`` runs it long (INGOT_FAULTS, INGOT_FAULTS_SEED).
"""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ingot_chassis.testing.plugin import BackendsInUse
from ingot_chassis.testing.servers import NatsServer, SessionServers

from ..e2e.deployments import (  # noqa: TID252 - the folder above is no package with a name
    WITH_DATABASE,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)
from .checks import Checker, wait_settled
from .databases import cut_off
from .load import Load

FAULTS = int(os.environ.get("INGOT_FAULTS", "4"))
SEED = int(os.environ.get("INGOT_FAULTS_SEED", "20171201"))
CALM = (0.5, 2.5)
"""Seconds between two faults."""
HALTED = 2.0


class Stage(NamedTuple):
    """What runs: its parts, its databases, and the folder of repositories. ``nats`` is None where Ingot starts it."""

    deployment: Deployment
    databases: dict[str, str]
    storage: Path
    nats: NatsServer | None


@pytest.fixture
def cluster(
    session_servers: SessionServers, database_backends: BackendsInUse, worker_id: str, tmp_path: Path
) -> Iterator[Stage]:
    """A process for each service, on PostgreSQL, Redis and a NATS of its own."""
    nats = session_servers.own_nats()
    number = 150 + int(worker_id.removeprefix("gw") if worker_id != "master" else 0)
    urls = {service: database_backends["postgresql"].empty() for service in WITH_DATABASE}
    servers = BackingServers(
        database_urls=urls, nats_url=nats.url, redis_url=f"{session_servers.redis()}/{number}"
    )
    deployment = Cluster(tmp_path, servers)
    with running(deployment):
        yield Stage(deployment, urls, tmp_path / "shard-0", nats)
    nats.stop()


@pytest.fixture
def one_process(tmp_path: Path) -> Iterator[Stage]:
    """`ingot up`."""
    deployment = Standalone(tmp_path)
    data = tmp_path / "data"
    urls = {service: f"sqlite+aiosqlite:///{data}/{service}.db" for service in WITH_DATABASE}
    with running(deployment):
        yield Stage(deployment, urls, data / "repositories", None)


Fault = Callable[[], Awaitable[None]]


def faults_of(stage: Stage, chance: random.Random) -> Iterator[tuple[str, Fault]]:
    """Without end, the kinds in turn and the process by chance."""
    deployment = stage.deployment

    async def kill(*parts: str) -> None:
        for part in parts:
            await asyncio.to_thread(deployment.kill, part)
        await asyncio.gather(*(asyncio.to_thread(deployment.restart, part) for part in parts))

    async def halt(part: str) -> None:
        deployment.halt(part)
        await asyncio.sleep(HALTED)
        deployment.resume(part)

    async def kill_nats() -> None:
        assert stage.nats is not None
        await asyncio.to_thread(stage.nats.kill)
        await asyncio.sleep(HALTED)
        await asyncio.to_thread(stage.nats.start)

    while True:
        one, other = (
            chance.sample([*deployment.parts, ""], 2)[:2]
            if len(deployment.parts) > 1
            else (*deployment.parts, "")
        )
        one, other = (one or other), (other or one)
        yield f"kill {one}", lambda p=one: kill(p)
        yield f"halt {other}", lambda p=other: halt(p)
        if stage.nats is not None:
            yield "kill nats", kill_nats
            yield "cut off the databases", lambda: cut_off(stage.databases.values(), HALTED)
            yield f"kill {one} and {other}", lambda p={one, other}: kill(*p)


@pytest.mark.parametrize("mode", ["one_process", "cluster"])
async def test_nothing_acknowledged_is_lost_whatever_fails(request, mode, tmp_path, receiver):
    stage: Stage = request.getfixturevalue(mode)
    load = Load(stage.deployment.url, tmp_path, receiver.url)
    await load.prepare()
    chance, done = random.Random(SEED), []
    work = asyncio.create_task(load.run())
    start = time.monotonic()
    for _, (name, fault) in zip(range(FAULTS), faults_of(stage, chance), strict=False):
        await asyncio.sleep(chance.uniform(*CALM))
        print(f"{time.monotonic() - start:.1f} s: {name}")
        await fault()
        done.append(name)
    await asyncio.sleep(CALM[1])
    load.end()
    await work

    settled = await wait_settled(stage.databases)
    checker = Checker(stage.deployment.url, load.ledger, stage.databases, stage.storage)
    await checker.run(list(receiver.requests))
    ledger = load.ledger
    print(
        f"{mode}: {len(done)} faults, {ledger.acknowledged} acknowledged, {ledger.unanswered} unanswered, "
        f"{len(receiver.requests)} requests of hooks, {checker.checked} checks, settled in {settled:.1f} s"
    )
    assert not checker.wrong, "\n".join(checker.wrong)
