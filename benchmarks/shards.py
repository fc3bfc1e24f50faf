"""A simulation of a million repositories on a hundred shards; and the restart of a shard with 10,000 folders.

The simulation places repositories as repos does: a fork on the shard of its parent, any other on the shard
that got the request. `ingot_repos.shards.rules.rebalancing` plans the moves, as for `ingot-repos shards
rebalance` and `drain`. Nothing is moved. A repository is only a size and a flag for recent requests of git
clients. ``python benchmarks/shards.py [--repositories N] [--shards N] [--folders N] [--only
simulation|start]``.
"""

import argparse
import asyncio
import math
import os
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clusters  # noqa: E402
import large_data  # noqa: E402
import processor  # noqa: E402
import run  # noqa: E402
from large_plan import Sizes  # noqa: E402

from ingot_repos.shards.jobs.commands import AT_ONCE, MOST_NETWORKS  # noqa: E402
from ingot_repos.shards.rules.rebalancing import Load, Network, plan, total_of, weight  # noqa: E402
from ingot_wire.client import Origin  # noqa: E402

MEDIAN_BYTES, DEVIATION, LARGEST_BYTES = 300_000, 2.6, 20_000_000_000
"""Parameters of the log-normal distribution of sizes. 0.05 % of the repositories are larger than 1 GB."""
FORKS, POPULARITY = 0.15, 0.8
"""The share of forks among repositories, and the share of forks with a popular parent."""
ACTIVE = 0.03
"""The share of repositories with a request of a git client in two days. Each has one request."""
TRANSFER = 50_000_000
"""Bytes that a shard receives per second, for the estimate of times."""
STARTS = 5
SETTLING_SECONDS = 20.0
GB = 1e9


class World:
    """Fork networks, and the shard of each. A fork has the size of its parent: shared files count."""

    def __init__(self, repositories: int, shards: int) -> None:
        chance = random.Random(17)
        self.shards = [f"shard-{number}" for number in range(shards)]
        members: list[int] = []
        forked: list[int] = []
        for _ in range(repositories):
            if members and chance.random() < FORKS:
                is_popular = forked and chance.random() < POPULARITY
                root = chance.choice(forked) if is_popular else chance.randrange(len(members))
                members[root] += 1
                forked.append(root)
            else:
                members.append(1)
        self.networks: dict[str, list[tuple[int, Network]]] = {name: [] for name in self.shards}
        for number, count in enumerate(members):
            size = min(LARGEST_BYTES, int(chance.lognormvariate(math.log(MEDIAN_BYTES), DEVIATION)))
            requests = sum(chance.random() < ACTIVE for _ in range(count))
            network = Network(number, f"network {number}", count, Load(size * count, requests))
            self.networks[chance.choice(self.shards)].append((size, network))
        self.largest_network = max(members)

    def loads(self) -> dict[str, Load]:
        return {name: _total(network.load for _, network in has) for name, has in self.networks.items()}

    def largest(self, shard: str) -> list[Network]:
        """Return the networks of the largest repositories of a shard, as many as the command reads."""
        networks: list[Network] = []
        repositories = 0
        for _, network in sorted(self.networks[shard], key=lambda pair: -pair[0]):
            if repositories >= MOST_NETWORKS:
                break
            networks.append(network)
            repositories += network.repositories
        return networks

    def rebalance(self) -> tuple[int, int, int]:
        """Run the plans of the command until a plan is empty. Return runs, moves and bytes."""
        runs = moves = size = 0
        while planned := plan(self.loads(), {name: self.largest(name) for name in self.networks}):
            runs += 1
            moves += len(planned)
            size += sum(one.network.load.bytes for one in planned)
            targets = {one.network.id: one.target for one in planned}
            for source in {one.source for one in planned}:
                self._leave(source, targets)
        return runs, moves, size

    def drain(self, shard: str) -> tuple[int, int]:
        """Move everything off a shard, as the command does. Return moves and bytes."""
        waiting = sorted(self.networks.pop(shard), key=lambda pair: pair[1].id)
        loads = self.loads()
        for _, network in waiting:
            total = total_of({**loads, "": network.load})
            target = min(loads, key=lambda name: weight(loads[name], total))
            loads[target] = _total((loads[target], network.load))
            self.networks[target].append((0, network))
        return len(waiting), sum(network.load.bytes for _, network in waiting)

    def _leave(self, source: str, targets: Mapping[int, str]) -> None:
        stays = []
        for pair in self.networks[source]:
            target = targets.get(pair[1].id)
            if target in (None, source):
                stays.append(pair)
            else:
                self.networks[target].append(pair)
        self.networks[source] = stays

    def report(self, when: str) -> None:
        loads = self.loads()
        total = total_of(loads)
        counts = [sum(network.repositories for _, network in has) for has in self.networks.values()]
        print(
            f"{when:<34}repositories {_spread(counts)}  bytes "
            f"{_spread([one.bytes for one in loads.values()])}  requests "
            f"{_spread([one.requests for one in loads.values()])}  weight "
            f"{_spread([weight(one, total) for one in loads.values()])}",
            flush=True,
        )


def _total(loads: Iterable[Load]) -> Load:
    size = requests = 0
    for load in loads:
        size += load.bytes
        requests += load.requests
    return Load(size, requests)


def _spread(values: Sequence[float]) -> str:
    mean = statistics.fmean(values)
    return f"{min(values) / mean:.2f} to {max(values) / mean:.2f}"


def simulate(repositories: int, shards: int) -> None:
    world = World(repositories, shards)
    loads = world.loads()
    total = sum(load.bytes for load in loads.values())
    print(
        f"{repositories:,} repositories on {shards} shards: {total / 1e12:.1f} TB counted,"
        f" {total / shards / GB:.0f} GB a shard; {sum(map(len, world.networks.values())):,} networks,"
        f" the largest of {world.largest_network:,} repositories"
    )
    print("the emptiest to the fullest shard, of the mean:")
    world.report("as they came")
    began = time.perf_counter()
    runs, moves, size = world.rebalance()
    print(
        f"    {moves} moves of {size / GB:.0f} GB in {runs} runs of `shards rebalance`,"
        f" planned in {time.perf_counter() - began:.0f} s"
    )
    world.report("rebalanced")
    world.networks[f"shard-{shards}"] = []
    runs, moves, size = world.rebalance()
    print(
        f"    {moves} moves of {size / GB:.0f} GB in {runs} runs, {size / TRANSFER / 3600:.1f} h to one shard"
    )
    world.report("a shard was added")
    began = time.perf_counter()
    moves, size = world.drain("shard-0")
    hours = size / TRANSFER / 3600
    print(
        f"    {moves} moves of {size / GB:.0f} GB, {hours / min(AT_ONCE, shards):.1f} to {hours:.1f} h,"
        f" planned in {time.perf_counter() - began:.0f} s"
    )
    world.report("a shard was drained")


def measure_routing(shards: int, folders: int) -> None:
    """Print the memory that a process of repos needs to route requests: an origin per shard, none per
    repository."""
    tracemalloc.start()
    origins = {
        f"shard-{number}": Origin(f"http://repos-{number}:8082/", patience=10) for number in range(shards)
    }
    of_shards = tracemalloc.get_traced_memory()[0]
    checked = set(range(1_000_000, 1_000_000 + folders))
    of_repositories = tracemalloc.get_traced_memory()[0] - of_shards
    tracemalloc.stop()
    print(
        f"a process keeps {of_shards / 1024:.0f} KiB for {len(origins)} shards, and "
        f"{of_repositories / 1024:.0f} KiB of ids once it has read all of its own {len(checked):,} "
        "repositories"
    )


def measure_start(folders: int) -> None:
    """Kill repos with SIGKILL and start it again, with one repository and with many."""
    with (
        tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder,
        clusters.cluster_in(Path(folder)) as deployment,
    ):
        run.create_repository_and_token(deployment.url)
        large_data.make_originals(deployment.url)
        _print_starts(deployment, 2)
        sizes = Sizes(users=max(folders // 10, 10), repositories=folders, issues=folders, hooks=10)
        urls = deployment.backing_servers.database_urls
        asyncio.run(large_data.fill(urls, Path(folder), sizes, links=False))
        _print_starts(deployment, folders + 2)


def _print_starts(deployment: run.Cluster, repositories: int) -> None:
    times = []
    for _ in range(STARTS):
        deployment.kill("repos")
        began = time.perf_counter()
        deployment.restart("repos")
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    time.sleep(SETTLING_SECONDS)
    spent = processor.by_program(processor.descendants(os.getpid()))["repos"]
    size = processor.memory_by_program(processor.descendants(os.getpid()))["repos"]
    print(
        f"{repositories:>7,} repositories: ready again after {min(times):.2f} to {max(times):.2f} s, median"
        f" {statistics.median(times):.2f} s; {spent:.2f} s of CPU until {SETTLING_SECONDS:.0f} s later, "
        f"{size / 2**20:.0f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--folders", type=int, default=10_000, help="of the shard that is started")
    parser.add_argument("--only", choices=("simulation", "start"))
    options = parser.parse_args()
    if options.only != "start":
        simulate(options.repositories, options.shards)
        measure_routing(options.shards, options.repositories // options.shards)
    if options.only != "simulation":
        measure_start(options.folders)


if __name__ == "__main__":
    main()
