"""Time from a request to the work that another process does for it: forks, mirror syncs and webhooks.

Each service has two processes, `serve` without background work and `work`, on PostgreSQL and NATS.

- **fork**: from the 202 until git can clone it (`INGOT_REPOS_FORK_WAIT_SECONDS=0`: the call does not wait).
- **mirror sync**: from the answer of `mirror-sync` until the API shows the remote's new commit.
- **25 hooks**: from the answer that opens an issue until the last of 25 endpoints has its delivery.

Each row is a median, next to its bound. The first column is the call. The others are the
times from its answer: until NATS has the first event, and until the end. Wall times: the host must be quiet.
``python benchmarks/coordination.py [--rounds N] [--only NAME] [--check]``. With --check a figure above its
bound ends it with code 1.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clusters  # noqa: E402
import httpx  # noqa: E402
import nats  # noqa: E402
import run  # noqa: E402
from nats.aio.client import Client as Nats  # noqa: E402
from nats.aio.msg import Msg  # noqa: E402
from tests.e2e.deployments import ADMINISTRATOR, Cluster  # noqa: E402

ROUNDS = 10
WARM_UP = 2
HOOKS = 25
POLL = 0.002
SECONDS = 30.0
"""Longest wait for one result."""
RESTING = 1.3
"""Seconds between two rounds, in which the work of the last one ends. Not a multiple of the poll interval."""
LOGIN = ADMINISTRATOR[0]
SETTINGS = {"INGOT_REPOS_FORK_WAIT_SECONDS": "0"}


@dataclass(frozen=True)
class Figures:
    """Seconds of one round: of the call, then from its answer until the first event and until the end."""

    call: float
    event: float
    end: float


@dataclass(frozen=True)
class Case:
    """``bound`` in seconds, from the answer until the end."""

    name: str
    bound: float
    measure: "Callable[[Bench, int], Awaitable[Figures]]"


@dataclass
class Receiver:
    """The deliveries of one round, with the arrival time of the last one."""

    count: int = 0
    last: float = 0.0


class Connection(asyncio.Protocol):
    """A connection of deliveries. Each is answered with 200."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver, self.unread = receiver, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        head, _, body = (self.unread + data).partition(b"\r\n\r\n")
        self.unread += data
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length is not None and len(body) >= int(length[1]):
            self.unread = b""
            self.receiver.count, self.receiver.last = self.receiver.count + 1, time.perf_counter()
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


class Bench:
    """A deployment with the data of all cases."""

    def __init__(self, client: httpx.AsyncClient, receiver: Receiver, bus: Nats, folder: Path) -> None:
        self.client, self.receiver, self.bus = client, receiver, bus
        self.source = folder / "source.git"

    async def post(self, path: str, **body: object) -> httpx.Response:
        response = await self.client.post(f"api/v1/{path}", json=body)
        return response.raise_for_status()

    async def timed(self, path: str, is_done: Callable[[], Awaitable[float]], **body: object) -> Figures:
        """Return the figures of a call. ``is_done`` returns when the work is done, or 0."""
        events: list[float] = []

        async def note(_message: Msg) -> None:
            events.append(time.perf_counter())

        subscription = await self.bus.subscribe("ingot.>", cb=note)
        await self.bus.flush()
        began = time.perf_counter()
        await self.post(path, **body)
        answered = time.perf_counter()
        while not (done := await is_done()):
            if time.perf_counter() > answered + SECONDS:
                raise SystemExit(f"{path}: not done after {SECONDS:.0f} s")
            await asyncio.sleep(POLL)
        await subscription.unsubscribe()
        return Figures(answered - began, min(events, default=done) - answered, done - answered)

    def commit(self, number: int) -> str:
        """Add a commit to the remote of the mirror and return its id."""
        tree = self.git("mktree")
        commit = self.git("commit-tree", tree, "-m", f"commit {number}")
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
        done = subprocess.run(
            command, cwd=self.source, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout.strip()


async def fork(bench: Bench, number: int) -> Figures:
    owner = f"fork-owner-{number}"
    await bench.post("orgs", username=owner)
    await asyncio.sleep(RESTING)
    refs = f"{owner}/bench.git/info/refs?service=git-upload-pack"

    async def is_ready() -> float:
        return time.perf_counter() if (await bench.client.get(refs)).status_code == 200 else 0.0

    return await bench.timed(f"repos/{LOGIN}/bench/forks", is_ready, organization=owner)


async def mirror_sync(bench: Bench, number: int) -> Figures:
    commit = bench.commit(number)

    async def is_visible() -> float:
        branch = await bench.client.get(f"api/v1/repos/{LOGIN}/mirror/branches/main")
        return time.perf_counter() if branch.json()["commit"]["id"] == commit else 0.0

    return await bench.timed(f"repos/{LOGIN}/mirror/mirror-sync", is_visible)


async def deliveries(bench: Bench, number: int) -> Figures:
    bench.receiver.count = 0

    async def have_arrived() -> float:
        return bench.receiver.last if bench.receiver.count >= HOOKS else 0.0

    return await bench.timed(f"repos/{LOGIN}/bench/issues", have_arrived, title=f"Issue {number}")


CASES = (
    Case("fork: 202 until it can be cloned", 0.15, fork),
    Case("mirror sync until the commit is visible", 0.15, mirror_sync),
    Case(f"event until the last of {HOOKS} hooks", 0.1, deliveries),
)


async def prepare(bench: Bench, port: int) -> None:
    """Add hooks to the repository, and create a mirror."""
    for number in range(HOOKS):
        config = {"url": f"http://127.0.0.1:{port}/{number}", "content_type": "json"}
        hook = {"type": "gitea", "config": config, "events": ["issues"], "active": True}
        await bench.post(f"repos/{LOGIN}/bench/hooks", **hook)
    bench.source.mkdir()
    bench.git("init", "-q", "--bare", "-b", "main")
    bench.commit(0)
    mirror = {"clone_addr": str(bench.source), "repo_name": "mirror", "mirror": True}
    await bench.post("repos/migrate", **mirror)


async def measure(deployment: Cluster, folder: Path, rounds: int, only: str) -> bool:
    """Print the medians of all cases. Return True if they are within their bounds."""
    headers = {"Authorization": f"token {run.create_repository_and_token(deployment.url)}"}
    receiver, within = Receiver(), True
    bus = await nats.connect(deployment.nats_url())
    server = await asyncio.get_running_loop().create_server(lambda: Connection(receiver), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        httpx.AsyncClient(base_url=deployment.url, headers=headers, timeout=60, trust_env=False) as client,
    ):
        bench = Bench(client, receiver, bus, folder)
        await prepare(bench, port)
        print(
            f"{'ms, medians of ' + str(rounds):<42}{'call':>8}{'event':>8}{'end':>8}{'worst':>8}{'bound':>8}"
        )
        for case in (one for one in CASES if only in one.name):
            figures = []
            for number in range(WARM_UP + rounds):
                await asyncio.sleep(RESTING)
                figures.append(await case.measure(bench, number + 1))
            measured = figures[WARM_UP:]
            end = statistics.median(one.end for one in measured)
            columns = [
                statistics.median(one.call for one in measured),
                statistics.median(one.event for one in measured),
                end,
                max(one.end for one in measured),
                case.bound,
            ]
            print(f"{case.name:<42}" + "".join(f"{value * 1000:>8.0f}" for value in columns), flush=True)
            within = within and end <= case.bound
    server.close()
    await bus.close()
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="measure the cases whose name has this in it")
    parser.add_argument("--check", action="store_true", help="fail if a median is above its bound")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as name:
        folder = Path(name)
        variables = SETTINGS | {"INGOT_REPOS_LOCAL_REMOTES": name}
        with clusters.cluster_in(folder, variables, separate_work=True) as deployment:
            within = asyncio.run(measure(deployment, folder, options.rounds, options.only))
    print(f"load: {os.getloadavg()[0]:.1f}")
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
