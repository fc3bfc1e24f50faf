"""A rig for soaks and measurements: processes of hooks and a receiver, real NATS, and an event publisher."""

import asyncio
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.events.bus import Bus, BusUnavailable
from ingot_chassis.events.envelope import Envelope, event_type, subject
from ingot_chassis.security.principal import Principal
from ingot_chassis.security.sealing import Seal
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import PushReceived
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.catalog.store.queries import Owner
from ingot_hooks.catalog.store.tables import metadata
from ingot_hooks.deliveries.store.tables import delivery
from ingot_hooks.hooks import rules as hooks
from ingot_hooks.settings import Settings

CHILD_PROCESSES = Path(__file__).with_name("child_processes.py")
THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ANN = User(id=1, login="ann")
BATCH = 100


@dataclass(frozen=True)
class RigHook:
    """One hook: its path at the receiver, and what it subscribes to."""

    path: str
    repository_id: int
    events: tuple[str, ...] = ("push",)
    branch_filter: str = ""
    host: str = "127.0.0.1"

    def deliveries_of_push(self, repository_id: int, branch: str, *, new: bool) -> int:
        """Return the number of deliveries of a push, by a second implementation of the service's rule."""
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
class Rig:
    """Processes, and what they should deliver."""

    settings: Settings
    folder: Path
    hooks: list[RigHook] = field(default_factory=list)
    expected: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """Of each event how many deliveries should arrive at a path."""

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.log = self.folder / "arrivals"
        self.log.touch()
        self.database = Database(self.settings.database_url, metadata)
        self.bus = Bus(self.settings.nats_url, name="repos")
        self.service = self.receiver = None
        self._has_stream = False
        self._sequence = 0

    def start_service(self) -> None:
        self.service = self._start("hooks", msgspec.json.encode(self.settings).decode())

    def start_receiver(self, *, hangs: bool = False) -> None:
        """``hangs``: requests below /hang get no answer."""
        self.receiver = self._start("receiver", str(self.port), str(self.log), *(["hangs"] if hangs else []))

    async def until_receiver_accepts(self) -> None:
        """Return when the receiver can be connected to. Raises TimeoutError."""
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    return

    def _start(self, *arguments: str) -> subprocess.Popen:
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, str(CHILD_PROCESSES), *arguments], stdout=output, stderr=output
            )

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

    async def create_hooks(self, rig_hooks: list[RigHook]) -> None:
        seal = Seal(self.settings.sealing_key, "INGOT_HOOKS_SEALING_KEY")
        self.hooks = rig_hooks
        async with self.database.transaction() as tx:
            for hook in rig_hooks:
                await hooks.create(
                    tx,
                    seal,
                    Principal(id=1, name="ann"),
                    Owner(repository_id=hook.repository_id),
                    name="",
                    type_="gitea",
                    config={
                        "url": f"http://{hook.host}:{self.port}{hook.path}",
                        "content_type": "json",
                        "secret": "s3cret",
                    },
                    events=hook.events,
                    active=True,
                    branch_filter=hook.branch_filter,
                    authorization="",
                )

    def envelope(self, repository_id: int, branch: str, *, new: bool) -> tuple[str, str, bytes]:
        """Return subject, message id and message of a push, as repos publishes it. Adds deliveries to
        ``expected``."""
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
        for hook in self.hooks:
            if count := hook.deliveries_of_push(repository_id, branch, new=new):
                self.expected[name][hook.path] = count
        return subject(envelope.type), envelope.id, msgspec.json.encode(envelope)

    async def publish(self, messages: list[tuple[str, str, bytes]]) -> None:
        """Publish in order, and again until all are stored, as the relay does."""
        for start in range(0, len(messages), BATCH):
            while True:
                try:
                    if not self._has_stream:
                        await self.bus.ensure_stream("repos")
                        self._has_stream = True
                    await self.bus.publish(messages[start : start + BATCH])
                    break
                except (BusUnavailable, TimeoutError, OSError, Exception):  # noqa: BLE001 - NATS is killed
                    self._has_stream = False
                    await asyncio.sleep(0.2)

    def arrivals(self) -> list[Arrival]:
        lines = (line.split(" ") for line in self.log.read_text().splitlines())
        return [Arrival(path, id_, event, float(at)) for path, id_, event, at in lines]

    def missing(self) -> int:
        arrived = Counter((event, path) for event, path, _ in self.distinct_arrivals())
        return sum(
            max(0, count - arrived[event, path])
            for event, counts in self.expected.items()
            for path, count in counts.items()
        )

    def distinct_arrivals(self) -> set[tuple[str, str, str]]:
        """Event, path and id of each delivery that arrived."""
        return {(arrival.event, arrival.path, arrival.delivery_id) for arrival in self.arrivals()}

    async def until_all_arrived(self, *, seconds: float, hurry: bool = False, missing: int = 0) -> None:
        """Wait until at most ``missing`` deliveries are missing.

        Raises TimeoutError if none arrives in ``seconds``.
        """
        left = self.missing()
        while left > missing:
            async with asyncio.timeout(seconds):
                before = left
                while left == before:
                    if hurry:
                        await self.make_due()
                    await asyncio.sleep(0.1 if len(self.expected) < 1000 else 0.5)
                    left = self.missing()

    async def make_due(self) -> None:
        """Make deliveries due that wait for their next attempt."""
        async with self.database.transaction() as tx:
            await tx.execute(
                update(delivery)
                .where(delivery.c.state == "pending", delivery.c.next_attempt_at > now())
                .values(next_attempt_at=now())
            )

    async def end_leases(self) -> None:
        """End the leases of a killed process."""
        async with self.database.transaction() as tx:
            await tx.execute(update(delivery).where(delivery.c.state == "running").values(lease_until=THEN))

    async def cancel_pending(self) -> None:
        """Cancel pending deliveries until none is running, and mark all hooks as healthy."""
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
            count = await db.execute(select(func.count()).where(delivery.c.state == state))
            return int(count.scalar_one())


def varied_hooks(repositories: int, count: int) -> list[RigHook]:
    """Hooks with different subscriptions, spread over repositories."""
    subscriptions = (("push",), ("push",), ("issues",), ("create", "push"))
    return [
        RigHook(
            path=f"/hook/{number}",
            repository_id=1 + number % repositories,
            events=subscriptions[number // repositories % len(subscriptions)],
            branch_filter="main" if number // repositories % len(subscriptions) == 1 else "",
        )
        for number in range(count)
    ]


async def soak(rig: Rig, nats, *, events: int, hook_count: int, kills: int, seed: int = 1) -> str:
    """Publish events while hooks, NATS and the receiver are killed at random.

    Raises AssertionError if a delivery is lost or wrong.
    """
    chance = random.Random(seed)
    repositories = max(1, hook_count // 4)
    await rig.create_hooks(varied_hooks(repositories, hook_count))
    rig.start_receiver()
    rig.start_service()
    messages = [
        rig.envelope(1 + number % repositories, chance.choice(("main", "dev")), new=number % 5 == 0)
        for number in range(events)
    ]
    started = time.perf_counter()
    publishing = asyncio.create_task(rig.publish(messages))
    victims = ["hooks", "nats", "receiver"]
    total = rig.missing()
    for number in range(kills):
        # At a random point of each part: at fixed times, a slow machine might not have begun to deliver.
        part = (number + chance.random()) / kills
        await rig.until_all_arrived(seconds=60, hurry=True, missing=int(total * (1 - part)))
        victim = victims[number % 3] if kills < 6 else chance.choice(victims)
        if victim == "nats":
            await asyncio.to_thread(nats.kill)
            await asyncio.to_thread(nats.start)
        elif victim == "receiver":
            rig.kill(rig.receiver)
            await asyncio.sleep(chance.uniform(0, 0.3))
            rig.start_receiver()
        else:
            rig.kill(rig.service)
            await rig.end_leases()
            rig.start_service()
    await publishing
    await rig.until_all_arrived(seconds=60, hurry=True)
    seconds = time.perf_counter() - started
    return f"{check_arrivals(rig)}, {kills} kills, {seconds:.0f} s"


def check_arrivals(rig: Rig) -> str:
    """Check that all deliveries arrived, each at its path, and that copies have equal ids. Raises
    AssertionError."""
    arrivals, distinct = rig.arrivals(), rig.distinct_arrivals()
    assert rig.missing() == 0
    assert {path for event, path, _ in distinct if path not in rig.expected[event]} == set()
    counts = Counter((event, path) for event, path, _ in distinct)
    assert [one for one, count in counts.items() if count != rig.expected[one[0]][one[1]]] == []
    return (
        f"{len(rig.expected)} events, {len(rig.hooks)} hooks, {len(distinct)} deliveries, "
        f"{len(arrivals) - len(distinct)} arrived more than once"
    )
