"""What a request costs: CPU of all server processes, the median of three rounds, beside its bound.

Hosts differ by a factor of two and more, so each row is also a multiple of the first, ``GET /version``.

Five services run in processes of their own on PostgreSQL, Redis and NATS, and one more process sends the load.
``python benchmarks/run.py [--requests N] [--check]``. With --check a figure above its bound ends it with code 1.
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
from deployments import ADMINISTRATOR, WITH_DATABASE, BackingServers, Cluster, running  # noqa: E402

from ingot_chassis.testing.databases import PostgresDatabases  # noqa: E402
from ingot_chassis.testing.servers import SessionServers  # noqa: E402

CONNECTIONS = 16
ROUNDS = 3
WARM_UP = 800


@dataclass(frozen=True)
class Case:
    """One request. ``programs`` are those whose CPU counts; without any, all processes count."""

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
        """The seconds that count for ``case``."""
        return sum(
            spent
            for program, spent in self.by_program.items()
            if not case.programs or program in case.programs
        )

    def shares(self) -> str:
        """The time of each program in µs, without those that spend less than 2 µs."""
        named = sorted(self.by_program.items(), key=lambda entry: -entry[1])
        return ", ".join(f"{program} {spent * 1e6:.0f}" for program, spent in named if spent > 2e-6)


@contextmanager
def cluster() -> Iterator[Cluster]:
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
            backing = BackingServers(
                database_urls={service: databases.empty() for service in WITH_DATABASE},
                nats_url=servers.nats(),
                redis_url=f"{servers.redis()}/0",
            )
            deployment = Cluster(Path(folder), backing)
            with running(deployment):
                yield deployment
    finally:
        databases.close()
        servers.close()


def create_repository_and_token(url: str) -> str:
    """A repository and a token of the administrator; returns the token."""
    name, _ = ADMINISTRATOR
    with httpx.Client(base_url=url, auth=ADMINISTRATOR, timeout=30) as client:
        response = client.post("api/v1/user/repos", json={"name": "bench", "auto_init": True})
        response.raise_for_status()
        token = client.post(f"api/v1/users/{name}/tokens", json={"name": "bench"})
        token.raise_for_status()
        return str(token.json()["sha1"])


def load(url: str, request: str, count: int, *, status: str = "200") -> dict[str, Any]:
    """Send a request ``count`` times; every answer must have that status."""
    address = urlsplit(url)
    instructions = {
        "host": address.hostname,
        "port": address.port,
        "request": request,
        "count": count,
        "connections": CONNECTIONS,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "load.py")],
        input=json.dumps(instructions) + "\n",
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
        pids = processor.descendants(os.getpid())
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
    options = parser.parse_args()
    within = True
    with cluster() as deployment:
        token = create_repository_and_token(deployment.url)
        print(f"{'request':<58}{'CPU':>10}{'bound':>10}{'x version':>11}{'rate':>12}")
        of_version = 0.0
        for case in CASES:
            figure = measure(case, deployment.url, token, options.requests)
            spent = figure.processor(case)
            of_version = of_version or spent
            within = within and spent <= case.bound
            print(
                f"{case.name:<58}{spent * 1e6:>7.0f} µs{case.bound * 1e6:>7.0f} µs"
                f"{spent / of_version:>11.1f}{figure.rate:>10.0f}/s"
            )
            print(f"    µs by program: {figure.shares()}")
        servers = processor.descendants(os.getpid())
        print(
            f"resident memory of all {len(servers)} processes: {processor.resident(servers) / 2**20:.0f} MiB"
        )
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
