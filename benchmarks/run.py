"""The cost of a request: CPU of all server processes, the median of three rounds, next to its bound.

Hosts differ by a factor of two and more. So a figure is also a multiple of a calibration loop in the same
run. Bounds are multiples of the old cost of ``GET /version``, which is recorded in such loops.

All services run in processes of their own on PostgreSQL, Redis and NATS. Then they run in one process on
SQLite, as with `ingot up`. One more process sends the load. ``python benchmarks/run.py [--requests N] [--mode
processes|one] [--only NAME] [--check]``. With --check it exits with code 1 if a figure is above its bound.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import calls  # noqa: E402
import clusters  # noqa: E402
import processor  # noqa: E402
from tests.e2e.deployments import (  # noqa: E402
    ADMINISTRATOR,
    Cluster,
    Deployment,
    Standalone,
    running,
)

CONNECTIONS = 16
ROUNDS = 3
WARM_UP = 800


OLD_VERSION = 1.27
"""The cost of ``GET /version`` when the bounds of CASES were set, in calibration loops."""
ISSUES = 40


@dataclass(frozen=True)
class Case:
    """One request, and its bound in seconds. Only the CPU of ``programs`` counts, or of all without any.

    ``times`` is a bound as a multiple of OLD_VERSION. ``share`` is the part of the requested number of
    requests that is enough.
    """

    name: str
    path: str
    bound: float = 0.0
    programs: tuple[str, ...] = ()
    authorized: bool = False
    times: float = 0.0
    method: str = "GET"
    body: str = ""
    status: str = "200"
    share: float = 1.0

    def request(self, token: str) -> str:
        """The text of the request."""
        head = (
            f"{self.method} {self.path.format(owner=ADMINISTRATOR[0])} HTTP/1.1\r\nHost: bench\r\n"
            "User-Agent: bench\r\n"
        )
        head += "Accept: */*\r\n"
        if self.authorized:
            head += f"Authorization: token {token}\r\n"
        if self.body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        return f"{head}\r\n{self.body}"


REPOSITORY = "/api/v1/repos/{owner}/bench"
MARKDOWN = (
    "## What happens\n\nAfter the update the *first* request fails, see #12 and the report of @root. It "
    "works again as soon as the cache is warm.\n\n- start the service\n- open the page\n"
    "- wait for a minute\n\n```python\nfor attempt in range(3):\n    print(fetch(attempt))\n```\n\n"
    + "The log says nothing about it. I looked at the settings, which are those of the documentation. "
    * 20
)[:2040]


def markdown(text: str) -> str:
    return json.dumps({"text": text, "mode": "gfm", "context": f"{ADMINISTRATOR[0]}/bench"})


CASES = (
    Case("GET /version", "/api/v1/version", programs=("gateway",)),
    Case("GET /user", "/api/v1/user", authorized=True, times=2.5),
    Case("GET one repository", REPOSITORY, authorized=True, times=3.6),
    Case("GET one repository, anonymous", REPOSITORY, times=2.8),
    Case("GET a search for repositories", "/api/v1/repos/search?q=bench", times=14, share=0.3),
    Case("GET one branch", f"{REPOSITORY}/branches/main", times=4.5, share=0.5),
    Case("GET 21 branches", f"{REPOSITORY}/branches?limit=50", times=12, share=0.3),
    Case("GET a raw file", f"{REPOSITORY}/raw/README.md", times=7, share=0.5),
    Case("GET one issue", f"{REPOSITORY}/issues/7", authorized=True, times=4, share=0.5),
    Case("GET 30 issues", f"{REPOSITORY}/issues?limit=30", authorized=True, times=12, share=0.3),
    Case(
        "POST 2 KB of markdown, first time",
        "/api/v1/markdown",
        authorized=True,
        times=20,
        method="POST",
        body=markdown(f"%NUMBER%{MARKDOWN}"),
        share=0.1,
    ),
    Case(
        "POST 2 KB of markdown, again",
        "/api/v1/markdown",
        authorized=True,
        times=6,
        method="POST",
        body=markdown(MARKDOWN),
        share=0.3,
    ),
    Case(
        "POST an issue",
        f"{REPOSITORY}/issues",
        authorized=True,
        times=13,
        method="POST",
        body=json.dumps({"title": "It burns", "body": "Help."}),
        status="201",
        share=0.1,
    ),
)

CALLS = (
    (Case("POST a merge, until its answer", "", times=120), calls.merges),
    (Case("POST a fork, until git gets it", "", times=300), calls.forks),
)
"""Cases that are measured call by call."""


def calibrate() -> float:
    """Return the seconds of CPU of the calibration loop, which always runs the same operations."""
    before = time.process_time()
    for _ in range(20):
        counts: dict[str, int] = {}
        for number in range(1000):
            name = f"name-{number % 97}"
            counts[name] = counts.get(name, 0) + len(name)
    return (time.process_time() - before) / 20


@dataclass(frozen=True)
class Figure:
    """Seconds of CPU per request by program, and requests per second."""

    by_program: dict[str, float]
    rate: float

    def processor(self, case: Case) -> float:
        """Return the seconds that count for ``case``: of its programs, or of all in one process."""
        counted = [spent for program, spent in self.by_program.items() if program in case.programs]
        return sum(counted or self.by_program.values())

    def shares(self) -> str:
        """The time of each program in µs, without those that spend less than 2 µs."""
        named = sorted(self.by_program.items(), key=lambda entry: -entry[1])
        return ", ".join(f"{program} {spent * 1e6:.0f}" for program, spent in named if spent > 2e-6)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start a process for each service."""
    with (
        tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder,
        clusters.cluster_in(Path(folder)) as one,
    ):
        yield one


@contextmanager
def standalone() -> Iterator[Standalone]:
    """Start `ingot up`."""
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        deployment = Standalone(Path(folder))
        with running(deployment):
            yield deployment


MODES = {"processes": cluster, "one": standalone}


def create_repository_and_token(url: str) -> str:
    """Create a repository and a token of the administrator. Return the token."""
    name, _ = ADMINISTRATOR
    with httpx.Client(base_url=url, auth=ADMINISTRATOR, timeout=30) as client:
        response = client.post("api/v1/user/repos", json={"name": "bench", "auto_init": True})
        response.raise_for_status()
        token = client.post(f"api/v1/users/{name}/tokens", json={"name": "bench"})
        token.raise_for_status()
        return str(token.json()["sha1"])


def load(url: str, request: str, count: int, *, status: str = "200") -> dict[str, Any]:
    """Send a request ``count`` times. Every response must have ``status``."""
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


def fill(url: str) -> None:
    """Create the data that CASES read: branches and issues."""
    repository = f"api/v1/repos/{ADMINISTRATOR[0]}/bench"
    with httpx.Client(base_url=url, auth=ADMINISTRATOR, timeout=30) as client:
        for number in range(20):
            body = {"new_branch_name": f"branch/{number}"}
            client.post(f"{repository}/branches", json=body).raise_for_status()
        for number in range(ISSUES):
            client.post(f"{repository}/issues", json={"title": f"Issue {number}"}).raise_for_status()


def measure(case: Case, url: str, token: str, requests: int) -> Figure:
    request = case.request(token)
    load(url, request, max(CONNECTIONS, int(WARM_UP * case.share)), status=case.status)
    figures = []
    for _ in range(ROUNDS):
        pids = processor.descendants(os.getpid())
        before = processor.by_program(pids)
        result = load(url, request, requests, status=case.status)
        spent = {
            program: (seconds - before.get(program, 0.0)) / result["count"]
            for program, seconds in processor.by_program(pids).items()
        }
        figures.append(Figure(spent, result["count"] / result["seconds"]))
    return sorted(figures, key=lambda figure: figure.processor(case))[ROUNDS // 2]


def measure_calls(url: str, token: str, make: Callable[..., Iterator[Callable[[], object]]]) -> Figure:
    """Return the figure of calls that are made one by one."""
    headers = {"Authorization": f"token {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
        return Figure(*calls.measure(make(client, f"api/v1/repos/{ADMINISTRATOR[0]}/bench")))


Row = tuple[Case, Callable[[], Figure]]
"""A case, and the function that measures it."""


def rows_of(cases: Sequence[Case], url: str, token: str, requests: int) -> list[Row]:
    """Return rows for requests that are sent in parallel."""
    return [
        (case, partial(measure, case, url, token, max(CONNECTIONS, int(requests * case.share))))
        for case in cases
    ]


def print_rows(title: str, rows: Sequence[Row]) -> bool:
    """Measure rows, the first of them ``GET /version``, and print a table.

    Return True if all are within their bounds.
    """
    print(f"{title:<36}{'CPU':>9}{'loops':>8}{'x version':>11}{'x old version':>15}{'bound':>7}{'rate':>10}")
    version, within = 0.0, True
    for case, figure_of in rows:
        loops = [calibrate() for _ in range(ROUNDS)]
        figure = figure_of()
        loop = statistics.median([*loops, *(calibrate() for _ in range(ROUNDS))])
        spent = figure.processor(case)
        version = version or spent
        times = spent / loop / OLD_VERSION
        within = within and (not case.times or times <= case.times)
        bound = f"{case.times:>7g}{'' if times <= case.times else ' !'}" if case.times else ""
        print(
            f"{case.name:<36}{spent * 1e6:>6.0f} "
            f"µs{spent / loop:>8.2f}{spent / version:>11.1f}{times:>15.1f}{bound:<9}"
            f"{figure.rate:>6.0f}/s"
        )
        print(f"    µs by program: {figure.shares()}", flush=True)
    return within


def measure_all(deployment: Deployment, mode: str, requests: int, only: str) -> bool:
    """Print the rows with ``only`` in their names. Return True if all are within their bounds."""
    token = create_repository_and_token(deployment.url)
    fill(deployment.url)
    rows = rows_of(CASES, deployment.url, token, requests)
    rows += [(case, partial(measure_calls, deployment.url, token, make)) for case, make in CALLS]
    within = print_rows(mode, [row for row in rows if row[0] is CASES[0] or only in row[0].name])
    servers = processor.descendants(os.getpid())
    print(f"resident memory of all {len(servers)} processes: {processor.resident(servers) / 2**20:.0f} MiB")
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=8000, help="of each kind and round")
    parser.add_argument("--mode", choices=MODES, help="measure one mode")
    parser.add_argument("--only", default="", help="measure the requests whose name has this in it")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    within = True
    for mode in [options.mode] if options.mode else MODES:
        with MODES[mode]() as deployment:
            within = measure_all(deployment, mode, options.requests, options.only) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
