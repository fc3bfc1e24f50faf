"""A field for soaks and measurements: hooks and its receiver as processes, NATS, and repos played by a publisher."""

import asyncio
import random
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import func, select, update

from ingot_chassis.bus import Bus, BusDown
from ingot_chassis.database import Database
from ingot_chassis.events import Envelope, event_type, subject
from ingot_chassis.principal import Principal
from ingot_chassis.sealing import Seal
from ingot_chassis.tables import now
from ingot_contracts.identity import User
from ingot_contracts.repos import PushReceived, Repository
from ingot_hooks.core import hooks
from ingot_hooks.settings import Settings
from ingot_hooks.store.hooks import Owner
from ingot_hooks.store.tables import delivery, metadata

CHILDREN = Path(__file__).with_name("children.py")
THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ANN = User(id=1, login="ann")
BATCH = 100


@dataclass(frozen=True)
class Told:
    """One hook: its path at the receiver, and what it wants."""

    path: str
    repository_id: int
    events: tuple[str, ...] = ("push",)
    branch_filter: str = ""
    host: str = "127.0.0.1"

    def wants(self, repository_id: int, branch: str, *, new: bool) -> int:
        """How many deliveries follow from a push; written anew, so that the service is held against it."""
        if repository_id != self.repository_id or self.branch_filter not in ("", branch):
            return 0
        return ("push" in self.events) + (new and "create" in self.events)


@dataclass(frozen=True)
class Arrival:
    path: str
    delivery_id: str
    event: str
    at: float


@dataclass
class Field:
    settings: Settings
    folder: Path
    told: list[Told] = field(default_factory=list)
    expected: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Event -> paths that are to hear of it."""

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.log = self.folder / "arrivals"
        self.log.touch()
        self.database = Database(self.settings.database_url, metadata)
        self.bus = Bus(self.settings.nats_url, name="repos")
        self.service = self.receiver = None
        self._sequence = 0

    def start_service(self) -> None:
        self.service = self._started("hooks", msgspec.json.encode(self.settings).decode())

    def start_receiver(self, *, hangs: bool = False) -> None:
        """``hangs``: what comes below /hang gets no answer."""
        self.receiver = self._started(
            "receiver", str(self.port), str(self.log), *(["hangs"] if hangs else [])
        )

    def _started(self, *arguments: str) -> subprocess.Popen:
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen([sys.executable, str(CHILDREN), *arguments], stdout=output, stderr=output)

    @staticmethod
    def kill(process: subprocess.Popen) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    async def close(self) -> None:
        for process in (self.service, self.receiver):
            if process is not None and process.poll() is None:
                self.kill(process)
        await self.bus.close()
        await self.database.close()

    async def furnish(self, told: list[Told]) -> None:
        seal = Seal(self.settings.sealing_key, "INGOT_HOOKS_SEALING_KEY")
        self.told = told
        async with self.database.transaction() as tx:
            for each in told:
                await hooks.create(
                    tx,
                    seal,
                    Principal(id=1, name="ann"),
                    Owner(repository_id=each.repository_id),
                    type_="gitea",
                    config={
                        "url": f"http://{each.host}:{self.port}{each.path}",
                        "content_type": "json",
                        "secret": "s3cret",
                    },
                    events=each.events,
                    active=True,
                    branch_filter=each.branch_filter,
                    authorization="",
                )

    def envelope(self, repository_id: int, branch: str, *, new: bool) -> tuple[str, str, bytes]:
        """A push as repos would publish it; what is to follow from it is noted."""
        self._sequence += 1
        name = f"{self._sequence:06d}"
        repository = Repository(
            id=repository_id,
            owner=ANN,
            name="app",
            full_name="ann/app",
            html_url="http://forge/ann/app",
            created_at=THEN,
            updated_at=THEN,
        )
        event = PushReceived(
            repository=repository,
            pusher=msgspec.structs.replace(ANN, full_name=f"event:{name}"),
            ref=f"refs/heads/{branch}",
            before="0" * 40 if new else "a" * 40,
            after="b" * 40,
        )
        envelope = Envelope(
            id=f"event-{name}",
            type=event_type(PushReceived),
            key=str(repository_id),
            seq=self._sequence,
            occurred_at=now(),
            data=msgspec.Raw(msgspec.json.encode(event)),
        )
        for each in self.told:
            if each.wants(repository_id, branch, new=new):
                self.expected[name].add(each.path)
        return subject(envelope.type), envelope.id, msgspec.json.encode(envelope)

    async def publish(self, messages: list[tuple[str, str, bytes]]) -> None:
        """As the relay does: in order, again until all are stored."""
        for start in range(0, len(messages), BATCH):
            while True:
                try:
                    await self.bus.ensure_stream("repos")
                    await self.bus.publish(messages[start : start + BATCH])
                    break
                except (BusDown, TimeoutError, OSError, Exception):  # noqa: BLE001 - NATS is killed on purpose
                    await asyncio.sleep(0.2)

    def arrivals(self) -> list[Arrival]:
        lines = (line.split(" ") for line in self.log.read_text().splitlines())
        return [Arrival(path, id_, event, float(at)) for path, id_, event, at in lines]

    def missing(self) -> int:
        arrived = {(arrival.event, arrival.path) for arrival in self.arrivals()}
        return sum((event, path) not in arrived for event, paths in self.expected.items() for path in paths)

    async def until_all_arrived(self, *, seconds: float, hurry: bool = False, but: int = 0) -> None:
        """Return when all ``but`` so many have arrived. Raises TimeoutError when nothing more arrives for that long."""
        left = self.missing()
        while left > but:
            async with asyncio.timeout(seconds):
                before = left
                while left == before:
                    if hurry:
                        await self.hurry()
                    await asyncio.sleep(0.1 if len(self.expected) < 1000 else 0.5)
                    left = self.missing()

    async def hurry(self) -> None:
        """Turn the clock of what waits for its next attempt forward."""
        async with self.database.transaction() as tx:
            await tx.execute(
                update(delivery)
                .where(delivery.c.state == "pending", delivery.c.next_attempt_at > now())
                .values(next_attempt_at=now())
            )

    async def end_leases(self) -> None:
        """Turn it forward for what a killed process held."""
        async with self.database.transaction() as tx:
            await tx.execute(update(delivery).where(delivery.c.state == "running").values(lease_until=THEN))

    async def forget(self) -> None:
        """Call off what waits until nothing is under way, and let no hook have failed."""
        while await self.count("running") or await self.count("pending"):
            async with self.database.transaction() as tx:
                await tx.execute(
                    update(delivery).where(delivery.c.state == "pending").values(state="cancelled")
                )
            await asyncio.sleep(0.2)
        async with self.database.transaction() as tx:
            await tx.execute(update(metadata.tables["hook"]).values(failing_since=None))

    async def count(self, state: str) -> int:
        async with self.database.read() as db:
            found = await db.execute(select(func.count()).where(delivery.c.state == state))
            return int(found.scalar_one())


def many(repositories: int, hooks_: int) -> list[Told]:
    """Hooks of all tastes, spread over repositories."""
    tastes = (("push",), ("push",), ("issues",), ("create", "push"))
    return [
        Told(
            path=f"/hook/{number}",
            repository_id=1 + number % repositories,
            events=tastes[number // repositories % len(tastes)],
            branch_filter="main" if number // repositories % len(tastes) == 1 else "",
        )
        for number in range(hooks_)
    ]


async def soak(field_: Field, nats, *, events: int, hooks_: int, kills: int, seed: int = 1) -> str:
    """Publish while hooks, NATS and the receiver are killed at random; every promise is asserted."""
    chance = random.Random(seed)
    repositories = max(1, hooks_ // 4)
    await field_.furnish(many(repositories, hooks_))
    field_.start_receiver()
    field_.start_service()
    messages = [
        field_.envelope(1 + number % repositories, chance.choice(("main", "dev")), new=number % 5 == 0)
        for number in range(events)
    ]
    started = time.perf_counter()
    publishing = asyncio.create_task(field_.publish(messages))
    victims = ["hooks", "nats", "receiver"]
    total = field_.missing()
    for number in range(kills):
        # Somewhere in each part of the way: at fixed times a slow machine would have nothing under way yet.
        part = (number + chance.random()) / kills
        await field_.until_all_arrived(seconds=60, hurry=True, but=int(total * (1 - part)))
        victim = victims[number % 3] if kills < 6 else chance.choice(victims)
        if victim == "nats":
            await asyncio.to_thread(nats.kill)
            await asyncio.to_thread(nats.start)
        elif victim == "receiver":
            field_.kill(field_.receiver)
            await asyncio.sleep(chance.uniform(0, 0.3))
            field_.start_receiver()
        else:
            field_.kill(field_.service)
            await field_.end_leases()
            field_.start_service()
    await publishing
    await field_.until_all_arrived(seconds=60, hurry=True)
    seconds = time.perf_counter() - started
    return f"{judged(field_)}, {kills} kills, {seconds:.0f} s"


def judged(field_: Field) -> str:
    """Nothing is missing, nothing went astray, duplicates bear the same id."""
    arrivals = field_.arrivals()
    assert field_.missing() == 0
    assert {
        arrival.path for arrival in arrivals if arrival.path not in field_.expected[arrival.event]
    } == set()
    new = {name for name, _ in _created(field_)}
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for arrival in arrivals:
        ids[arrival.event, arrival.path].add(arrival.delivery_id)
    both = {told.path for told in field_.told if "create" in told.events}
    for (event, path), found in ids.items():
        assert len(found) == (2 if event in new and path in both else 1), (event, path, found)
    distinct = sum(len(found) for found in ids.values())
    return (
        f"{len(field_.expected)} events, {len(field_.told)} hooks, {distinct} deliveries, "
        f"{len(arrivals) - distinct} arrived more than once"
    )


def _created(field_: Field) -> list[tuple[str, set[str]]]:
    """Events that also tell of a new branch: every fifth, from the first."""
    return [(event, paths) for event, paths in field_.expected.items() if (int(event) - 1) % 5 == 0]
