"""The cost of a request with 100,000 repositories and with a few: two deployments, measured in turns.

Both have all services as processes, and PostgreSQL, Redis and NATS. One has the data of `run.py`. The other
also has 10,000 users, 100,000 repositories, 1,000,000 issues and 50,000 hooks. 10,000 of the issues are in
the repository that the requests read. A row is CPU of all server processes, and the
median of the ratios of its rounds. ``!`` marks a ratio above the bound.

``python benchmarks/large.py [--requests N] [--rounds N]
[--only NAME] [--share 0.01] [--check]``. With --check it exits with code 1 if a ratio is above the bound.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clusters  # noqa: E402
import httpx  # noqa: E402
import large_data  # noqa: E402
import processor  # noqa: E402
import run  # noqa: E402
from large_data import LOGIN, NAME  # noqa: E402
from large_plan import Plan, Sizes  # noqa: E402
from tests.e2e.deployments import Cluster  # noqa: E402

BOUND = 1.5
IDLE_SECONDS = 60.0
REPORTED_ROWS = 1000
"""The list of sizes leaves out tables with fewer rows."""
CASES = (
    *run.CASES,
    run.Case("GET the own repositories", "/api/v1/user/repos", authorized=True, share=0.3),
    run.Case("GET the first page of all repositories", "/api/v1/repos/search", share=0.02),
    run.Case("GET issues with a text", f"{run.REPOSITORY}/issues?q=tests", authorized=True, share=0.1),
    run.Case("GET the own issues", "/api/v1/repos/issues/search?created=true", authorized=True, share=0.1),
    run.Case("GET a search for users", "/api/v1/users/search?q=root", authorized=True, share=0.1),
    run.Case("GET hooks", f"{run.REPOSITORY}/hooks", authorized=True, share=0.3),
)
"""Lists and searches. Their cost depends on the number of matches, and on a page both deployments have as
many."""

Pids = Callable[[], set[int]]


@dataclass(frozen=True)
class Side:
    """One of the two deployments, with its current processes."""

    deployment: Cluster
    token: str
    pids: Pids


def prepared(deployment: Cluster) -> str:
    """Create the data that the cases read. Return the token."""
    token = run.create_repository_and_token(deployment.url)
    run.fill(deployment.url)
    large_data.make_originals(deployment.url)
    return token


def with_children(pids: set[int]) -> set[int]:
    return pids.union(*(processor.descendants(pid) for pid in pids))


def spent_by(side: Side, case: run.Case, count: int) -> float:
    """Seconds of CPU for one request."""
    before = processor.by_program(side.pids())
    result = run.load(side.deployment.url, case.request(side.token), count, status=case.status)
    after = processor.by_program(side.pids())
    counted = case.programs or tuple(after)
    return sum(after.get(name, 0.0) - before.get(name, 0.0) for name in counted) / int(result["count"])


def measure(sides: tuple[Side, Side], requests: int, rounds: int, only: str) -> bool:
    """Print the rows. Return True if all are within the bound."""
    within = True
    print(f"{'CPU of a request':<42}{'small':>10}{'large':>10}{'ratio':>8}   of each round")
    for case in CASES:
        if only not in case.name:
            continue
        count = max(run.CONNECTIONS, int(requests * case.share))
        for side in sides:
            run.load(side.deployment.url, case.request(side.token), count, status=case.status)
        pairs = [tuple(spent_by(side, case, count) for side in sides) for _ in range(rounds)]
        small, large = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratios = [after / before for before, after in pairs]
        ratio = statistics.median(ratios)
        within = within and ratio <= BOUND
        mark = "" if ratio <= BOUND else " !"
        rounded = " ".join(f"{each:.2f}" for each in ratios)
        print(
            f"{case.name:<42}{small * 1e6:>7.0f} µs{large * 1e6:>7.0f} µs{ratio:>8.2f}{mark:<3}{rounded}",
            flush=True,
        )
    return within


def report_idle(sides: tuple[Side, Side]) -> None:
    """Print the CPU of both while they are idle. Periodic tasks read tables."""
    before = [processor.by_program(side.pids()) for side in sides]
    time.sleep(IDLE_SECONDS)
    for side, earlier, name in zip(sides, before, ("small", "large"), strict=True):
        now = processor.by_program(side.pids())
        spent = {one: (seconds - earlier.get(one, 0.0)) / IDLE_SECONDS for one, seconds in now.items()}
        shares = ", ".join(f"{one} {share:.1%}" for one, share in sorted(spent.items()) if share >= 5e-4)
        print(f"idle, {name}: {sum(spent.values()):.1%} of a core ({shares})")
        sizes = processor.memory_by_program(side.pids())
        print(
            "    memory in MiB: "
            + ", ".join(f"{one} {size / 2**20:.0f}" for one, size in sorted(sizes.items()))
        )


async def report_sizes(side: Side) -> None:
    """Print the disk space of the tables of the large deployment."""
    print(f"{'table':<42}{'rows':>10}{'MiB':>8}{'indexes':>9}{'bytes of a row, with indexes':>30}")
    for service, url in side.deployment.backing_servers.database_urls.items():
        async with large_data.connection(url) as connected:
            rows = await connected.fetch(
                "SELECT relname, reltuples::bigint AS count, pg_total_relation_size(oid) AS bytes,"
                " pg_indexes_size(oid) AS indexes FROM pg_class WHERE relkind = 'r' AND reltuples >= $1"
                " AND relnamespace = 'public'::regnamespace ORDER BY bytes DESC",
                REPORTED_ROWS,
            )
        for name, count, size, indexes in rows:
            table = f"{service}.{name}"
            print(f"{table:<42}{count:>10}{size / 2**20:>8.1f}{indexes / 2**20:>9.1f}{size / count:>30.0f}")


def check(side: Side, plan: Plan) -> None:
    """Compare the API's responses for added repositories with those for a repository that was created by the
    API."""
    url, authorization = f"{side.deployment.url}api/v1/", {"Authorization": f"token {side.token}"}
    with httpx.Client(base_url=url, headers=authorization, timeout=60) as client:
        original = client.get(f"repos/{LOGIN}/{NAME}").raise_for_status().json()
        for one in plan.chance.sample(plan.repositories, 10):
            login = plan.login(one.owner_id)
            path = f"repos/{login}/{one.name}"
            answer = client.get(path, headers={"Sudo": login}).raise_for_status().json()
            owner = client.get(f"users/{login}").raise_for_status().json()
            issues = client.get(f"{path}/issues?state=all").raise_for_status()
            hooks = client.get(f"{path}/hooks").raise_for_status().json()
            searched = client.get(f"repos/search?q={one.name}").raise_for_status().json()["data"]
            facts = {
                "id": answer["id"] == one.id,
                "fields": answer.keys() == original.keys()
                and answer["owner"].keys() == original["owner"].keys(),
                "owner": all(owner.get(name, value) == value for name, value in answer["owner"].items()),
                "permissions": answer["permissions"] == {"admin": True, "push": True, "pull": True},
                "count of open issues": answer["open_issues_count"] == one.open_issues,
                "count of issues": int(issues.headers["x-total-count"]) == one.issues,
                "issue": all(issue["user"]["login"] == login for issue in issues.json()),
                "repository of an issue": all(
                    issue["repository"]["full_name"] == answer["full_name"] for issue in issues.json()
                ),
                "hooks": len(hooks) == (one.number < plan.sizes.hooks),
                "search": [each["id"] for each in searched] == [one.id],
                "branch": client.get(f"{path}/branches/main").status_code == 200,
                "strangers": httpx.get(url + path).status_code == (404 if one.private else 200),
                "next number": client.post(f"{path}/issues", json={"title": "next"}).json()["number"]
                == one.issues + 1,
            }
            if wrong := [name for name, is_true in facts.items() if not is_true]:
                raise SystemExit(f"{path} is not as the services make it: {', '.join(wrong)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind and round")
    parser.add_argument("--rounds", type=int, default=5, help="in each of which both are asked")
    parser.add_argument("--only", default="", help="measure the requests whose name has this in it")
    parser.add_argument("--share", type=float, default=1.0, help="add that part of the rows only")
    parser.add_argument("--check", action="store_true", help="fail if a ratio is above the bound")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ingot-bench-") as small_folder,
        tempfile.TemporaryDirectory(prefix="ingot-bench-") as large_folder,
        clusters.cluster_in(Path(small_folder)) as small,
    ):
        first = processor.descendants(os.getpid())
        with clusters.cluster_in(Path(large_folder)) as large:
            sides = (
                Side(small, prepared(small), lambda: with_children(first)),
                Side(
                    large, prepared(large), lambda: processor.descendants(os.getpid()) - with_children(first)
                ),
            )
            began = time.perf_counter()
            urls = large.backing_servers.database_urls
            plan = asyncio.run(large_data.fill(urls, Path(large_folder), Sizes().part(options.share)))
            asyncio.run(large_data.analyze(small.backing_servers.database_urls))
            sizes = ", ".join(f"{count:,} {what}" for what, count in vars(plan.sizes).items())
            print(f"added {sizes} in {time.perf_counter() - began:.0f} s", flush=True)
            check(sides[1], plan)
            within = measure(sides, options.requests, options.rounds, options.only)
            report_idle(sides)
            asyncio.run(report_sizes(sides[1]))
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
