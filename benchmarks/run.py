"""What a request costs: CPU of all server processes, medians of three, beside the bounds.

Five services in processes of their own on PostgreSQL, Redis and NATS; the load comes from yet another process.
``python benchmarks/run.py [--requests N] [--check]``; with --check a figure above its bound ends it with code 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "e2e")]

import processor  # noqa: E402
from deployments import ADMINISTRATOR, WITH_DATABASE, Around, Cluster, running  # noqa: E402

from ingot_chassis.testing.databases import PostgresDatabases  # noqa: E402
from ingot_chassis.testing.servers import SessionServers  # noqa: E402

CONNECTIONS = 16
ROUNDS = 3
WARM_UP = 800


@dataclass(frozen=True)
class Case:
    """One request. ``programs``: whose CPU counts; none: of everything that runs."""

    name: str
    path: str
    bound: float
    programs: tuple[str, ...] = ()
    authorized: bool = False


CASES = (
    Case("GET /version (gateway)", "/api/v1/version", 150e-6, programs=("gateway",)),
    Case("GET /user with a token (all processes)", "/api/v1/user", 400e-6, authorized=True),
    Case(
        "GET /repos/{owner}/{repo} with a token (all processes)",
        "/api/v1/repos/{owner}/bench",
        800e-6,
        authorized=True,
    ),
)


@dataclass(frozen=True)
class Figure:
    """Seconds of CPU per request by program, and requests per second."""

    by_program: dict[str, float]
    rate: float

    def processor(self, case: Case) -> float:
        """What counts for ``case``."""
        return sum(
            spent
            for program, spent in self.by_program.items()
            if not case.programs or program in case.programs
        )

    def shares(self) -> str:
        """What each program spends, if it is worth naming."""
        named = sorted(self.by_program.items(), key=lambda entry: -entry[1])
        return ", ".join(f"{program} {spent * 1e6:.0f}" for program, spent in named if spent > 2e-6)


@contextmanager
def cluster() -> Iterator[Cluster]:
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
            around = Around(
                database_urls={service: databases.empty() for service in WITH_DATABASE},
                nats_url=servers.nats(),
                redis_url=f"{servers.redis()}/0",
            )
            made = Cluster(Path(folder), around)
            with running(made):
                yield made
    finally:
        databases.close()
        servers.close()


def furnish(url: str) -> str:
    """Make a repository and a token of the administrator; the token."""
    name, _ = ADMINISTRATOR
    with httpx.Client(base_url=url, auth=ADMINISTRATOR, timeout=30) as client:
        made = client.post("api/v1/user/repos", json={"name": "bench", "auto_init": True})
        made.raise_for_status()
        token = client.post(f"api/v1/users/{name}/tokens", json={"name": "bench"})
        token.raise_for_status()
        return str(token.json()["sha1"])


def load(url: str, request: str, count: int, *, status: str = "200") -> dict[str, Any]:
    """Send a request ``count`` times; every answer must have that status."""
    place = urlsplit(url)
    told = {
        "host": place.hostname,
        "port": place.port,
        "request": request,
        "count": count,
        "connections": CONNECTIONS,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "load.py")],
        input=json.dumps(told) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    if set(result["statuses"]) != {status}:
        raise SystemExit(f"not all answers were {status}: {result['statuses']}")
    return result


def measure(case: Case, url: str, token: str, requests: int) -> Figure:
    path = case.path.format(owner=ADMINISTRATOR[0])
    authorization = f"Authorization: token {token}\r\n" if case.authorized else ""
    request = f"GET {path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n{authorization}\r\n"
    load(url, request, WARM_UP)
    figures = []
    for _ in range(ROUNDS):
        pids = processor.below(os.getpid())
        before = processor.by_program(pids)
        result = load(url, request, requests)
        spent = {
            program: (seconds - before.get(program, 0.0)) / result["count"]
            for program, seconds in processor.by_program(pids).items()
        }
        figures.append(Figure(spent, result["count"] / result["seconds"]))
    return sorted(figures, key=lambda figure: figure.processor(case))[ROUNDS // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=8000, help="of each kind and round")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    given = parser.parse_args()
    within = True
    with cluster() as made:
        token = furnish(made.url)
        print(f"{'request':<58}{'CPU':>10}{'bound':>10}{'rate':>12}")
        for case in CASES:
            figure = measure(case, made.url, token, given.requests)
            spent = figure.processor(case)
            within = within and spent <= case.bound
            print(f"{case.name:<58}{spent * 1e6:>7.0f} µs{case.bound * 1e6:>7.0f} µs{figure.rate:>10.0f}/s")
            print(f"    µs by program: {figure.shares()}")
        servers = processor.below(os.getpid())
        print(
            f"resident memory of all {len(servers)} processes: {processor.resident(servers) / 2**20:.0f} MiB"
        )
    if given.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
