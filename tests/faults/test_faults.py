"""A mixed load during faults: no acknowledged write is lost or wrong.

Processes and servers are killed, stopped and disconnected, and disks are full. The gate runs some of the
kinds, other ones each day. ``make soak`` runs all of them repeatedly (INGOT_FAULTS). A run prints its seed;
INGOT_FAULTS_SEED repeats it.
"""

import asyncio
import itertools
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from ingot_chassis.clock import now
from ingot_testing.servers import SessionServers

from ..e2e.deployments import (
    WITH_DATABASE,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)
from .checks import Checker
from .databases import cut_off
from .load import Load
from .pending import SETTLED_SECONDS, wait_settled, waiting
from .servers import NatsOfIngot, own_postgres, own_redis

FAULTS = int(os.environ.get("INGOT_FAULTS", "0"))
"""The number of faults; 0 for as many as a gate has time for."""
MOST_IN_THE_GATE = 6
SEED = int(os.environ.get("INGOT_FAULTS_SEED") or now().toordinal())
"""The number of the day, so gates of several days try every kind."""
CALM = (0.3, 1.5)
"""Seconds between two faults."""
HALTED = 2.0
START, SERVER_START = 3.0, 0.3
"""Within that time a part, or a server, that starts is killed again."""


class Server(Protocol):
    """A server of a deployment, which is killed and started again on its data."""

    def begin(self) -> None: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def send_signal(self, number: signal.Signals) -> None: ...


class ServerWithDisk(Server, Protocol):
    """One whose disk can be full."""

    def limit_files(self, *, full: bool) -> None: ...


class Stage(NamedTuple):
    """A running deployment: its parts, its databases, the folder of repositories, and its servers."""

    deployment: Deployment
    databases: dict[str, str]
    storage: Path
    disk_of: str
    """The part that writes to a disk of its own."""
    servers: Mapping[str, Server]
    with_disk: Mapping[str, ServerWithDisk] = {}
    """Servers that write to a disk of their own and run as the user of the test. The test may limit only
    these."""


@pytest.fixture
def cluster(session_servers: SessionServers, tmp_path: Path) -> Iterator[Stage]:
    """A process for each service, on a PostgreSQL, a Redis and a NATS of its own."""
    nats = session_servers.own_nats()
    redis, redis_url = own_redis(session_servers.folder)
    postgres, urls = own_postgres(session_servers.folder, WITH_DATABASE)
    deployment = Cluster(tmp_path, BackingServers(database_urls=urls, nats_url=nats.url, redis_url=redis_url))
    with_disk: dict[str, ServerWithDisk] = {"nats": nats, "redis": redis}
    servers: dict[str, Server] = {**with_disk, "postgresql": postgres}
    with running(deployment):
        yield Stage(deployment, urls, tmp_path / "shard-0", "repos", servers, with_disk)
    for server in (nats, redis, postgres):
        server.stop()


@pytest.fixture
def one_process(tmp_path: Path) -> Iterator[Stage]:
    """`ingot up`."""
    deployment = Standalone(tmp_path)
    data = tmp_path / "data"
    urls = {service: f"sqlite+aiosqlite:///{data}/{service}.db" for service in WITH_DATABASE}
    with running(deployment):
        yield Stage(deployment, urls, data / "repositories", "ingot", {"nats": NatsOfIngot(deployment)})


Fault = Callable[[], Awaitable[None]]


class Faults:
    """The kinds of faults of one stage. Each part and each server has its turn, in a random order."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._deployment, self._servers, self._chance = stage.deployment, stage.servers, chance
        self._databases, self._disk_of, self._with_disk = stage.databases, stage.disk_of, stage.with_disk
        self._next_part, self._next_server, self._next_with_disk = (
            partial(next, itertools.cycle(chance.sample(names, len(names))))
            for names in (list(self._deployment.parts), list(self._servers), list(self._with_disk))
        )

    def round(self, most: int) -> list[tuple[str, Fault]]:
        """Each kind once, in an order by chance; of more than ``most`` some, which move on with the seed."""
        part, server = self._next_part, self._next_server
        kinds: list[Callable[[], tuple[str, Fault]]] = [
            lambda: self._named("halt {}", self._halt, part()),
            lambda: (f"fill the disk of {self._disk_of}", self._fill_disk),
            lambda: self._named("kill {} while it starts", self._kill_while_starting, part()),
            *(partial(self._named, "kill {}", self._kill, name) for name in self._servers),
            *(
                partial(self._named, "kill {} while it starts", self._kill_server_while_starting, name)
                for name in self._servers
            ),
            lambda: self._named("kill {}", self._kill, part()),
            lambda: self._named("kill {} and {}", self._kill, part(), server()),
            lambda: self._named("halt {}", self._halt_server, server()),
            lambda: self._named("restart {}", self._restart, part()),
        ]
        if len(self._deployment.parts) > 1:
            kinds.append(lambda: self._named("kill {} and {}", self._kill, part(), part()))
        if len(self._servers) > 1:
            kinds.append(lambda: self._named("kill {} and {}", self._kill, server(), server()))
        if "postgresql" in self._servers:
            cut = partial(cut_off, self._databases.values(), HALTED)
            kinds.append(lambda: ("cut off the databases", cut))
        if self._with_disk:
            full = self._next_with_disk
            kinds.append(lambda: self._named("fill the disk of {}", self._fill_disk_of_server, full()))
        first = SEED * most % len(kinds) if most < len(kinds) else 0
        kinds = (kinds[first:] + kinds[:first])[:most]
        self._chance.shuffle(kinds)
        return [kind() for kind in kinds]

    def _named(self, text: str, fault: Callable[..., Awaitable[None]], *names: str) -> tuple[str, Fault]:
        return text.format(*names), partial(fault, *names)

    async def _kill(self, *names: str) -> None:
        servers = [self._servers[name] for name in names if name in self._servers]
        parts = [name for name in names if name not in self._servers]
        await asyncio.gather(
            *(asyncio.to_thread(server.kill) for server in servers),
            *(asyncio.to_thread(self._deployment.kill, part) for part in parts),
        )
        if servers:
            await asyncio.sleep(HALTED)
        # At once: no part is ready before its database is.
        await asyncio.gather(
            *(asyncio.to_thread(server.start) for server in servers),
            *(asyncio.to_thread(self._deployment.restart, part) for part in parts),
        )

    async def _kill_while_starting(self, part: str) -> None:
        await asyncio.to_thread(self._deployment.kill, part)
        self._deployment.begin(part)
        await asyncio.sleep(self._chance.uniform(0, START))
        await self._kill(part)

    async def _kill_server_while_starting(self, name: str) -> None:
        """Kill the server while it reads data that it wrote before it was killed."""
        await asyncio.to_thread(self._servers[name].kill)
        await asyncio.sleep(HALTED)
        await asyncio.to_thread(self._servers[name].begin)
        await asyncio.sleep(self._chance.uniform(0, SERVER_START))
        await self._kill(name)

    async def _restart(self, part: str) -> None:
        """As an update does: what has begun is answered first."""
        await asyncio.to_thread(self._deployment.stop_part, part)
        await asyncio.to_thread(self._deployment.restart, part)

    async def _halt(self, part: str) -> None:
        self._deployment.halt(part)
        await asyncio.sleep(HALTED)
        self._deployment.resume(part)

    async def _halt_server(self, name: str) -> None:
        self._servers[name].send_signal(signal.SIGSTOP)
        await asyncio.sleep(HALTED)
        self._servers[name].send_signal(signal.SIGCONT)

    async def _fill_disk_of_server(self, name: str) -> None:
        """One that could not write is started again, as an operator does."""
        self._with_disk[name].limit_files(full=True)
        await asyncio.sleep(HALTED)
        self._with_disk[name].limit_files(full=False)
        await self._kill(name)

    async def _fill_disk(self) -> None:
        self._deployment.limit_files(self._disk_of, full=True)
        await asyncio.sleep(HALTED)
        self._deployment.limit_files(self._disk_of, full=False)


@pytest.mark.parametrize("mode", ["one_process", "cluster"])
async def test_nothing_acknowledged_is_lost_whatever_fails(request, mode, tmp_path, receiver):
    stage: Stage = request.getfixturevalue(mode)
    load = Load(stage.deployment.url, tmp_path, receiver.url)
    await load.prepare()
    chance = random.Random(SEED)
    faults = Faults(stage, chance)
    most = FAULTS or MOST_IN_THE_GATE
    done = 0
    print(f"{mode}: INGOT_FAULTS_SEED={SEED}")
    start = time.monotonic()
    async with load.running():
        while done < most:
            for name, fault in faults.round(most - done):
                await asyncio.sleep(chance.uniform(*CALM))
                print(f"{time.monotonic() - start:.1f} s: {name}")
                await fault()
                done += 1
        await asyncio.sleep(CALM[1])

    print(f"at the end of the load: {await waiting(stage.databases, stage.deployment.nats_url())}")
    settled, late = await wait_settled(stage.databases, stage.deployment.nats_url())
    checker = Checker(stage.deployment.url, load.ledger, stage.databases, stage.storage, tmp_path)
    await checker.run(list(receiver.requests))
    ledger = load.ledger
    print(
        f"{mode}: {done} faults, {ledger.acknowledged} acknowledged, {ledger.unanswered} unanswered, "
        f"{len(receiver.requests)} requests of hooks, {checker.checked} checks, settled in {settled:.1f} s, "
        f"longest request {ledger.longest[0]:.1f} s ({ledger.longest[1]})"
    )
    assert not checker.wrong, "\n".join(checker.wrong)
    assert not late, f"more than {SETTLED_SECONDS} s after everything was up these waited: {late}"
