"""The cost of issues: CPU of all server processes per request, in a repository with 10,000 issues.

``python benchmarks/issues.py [--requests N] [--only NAME] [--repositories N] [--check]``. Each of N other
repositories has ISSUES_OF_OTHERS issues, which a search finds as well. With --only it measures
``GET /version`` and the requests with NAME in their names. With --check it exits with code 1 if a figure is
above its bound.

Each figure is also printed as a multiple of ``GET /version`` in the same run. On a busy machine, compare only
these multiples.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
from sqlalchemy import select, text, update

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402

from ingot_chassis.db.database import Database  # noqa: E402
from ingot_chassis.db.transaction import Tx  # noqa: E402
from ingot_issues.issues.store.assignees import assignee as assignee_table  # noqa: E402
from ingot_issues.labels.store.tables import issue_label as issue_label_table  # noqa: E402
from ingot_issues.labels.store.tables import label as label_table  # noqa: E402
from ingot_issues.milestones.store import milestone as milestone_table  # noqa: E402
from ingot_issues.notifications.store.threads import notification as notification_table  # noqa: E402
from ingot_issues.records.store.tables import issue as issue_table  # noqa: E402
from ingot_issues.records.store.tables import pull as pull_table  # noqa: E402
from ingot_issues.repositories.store.tables import counter as counter_table  # noqa: E402
from ingot_issues.reviewers.store.tables import review as review_table  # noqa: E402
from ingot_issues.schema import metadata  # noqa: E402
from ingot_issues.search.api import MOST_COPIES  # noqa: E402

ISSUES = 10_000
PULL = ISSUES + 1
"""The number of the pull request. It has REVIEWS reviews."""
REVIEWS = 30
THREADS = 50
"""Notifications of the owner."""
ISSUES_OF_OTHERS = 100
SETTLING = 3.0
"""Seconds after the writes that are included in their figures, without the CPU of an idle deployment."""
TEXT = (
    "## What happens\n\n"
    "After the update the *first* request fails, see #12 and the report of @ingot-admin. "
    "It works again as soon as the cache is warm; I could not find out why.\n\n"
    "- start the service\n- open the page\n- wait for a minute\n\n"
    "```python\nfor attempt in range(3):\n    print(fetch(attempt))\n```\n\n"
)
PROSE = (
    "The log says nothing about it. I looked at the settings, which are those of the documentation, and at "
    "the network, which is quiet. On another machine with the same version and the same data all is well. "
)


@dataclass(frozen=True)
class Case:
    """One request, and its bound in seconds of CPU."""

    name: str
    method: str
    path: str
    bound: float
    body: dict[str, object] | None = None
    status: str = "200"

    def request(self, token: str) -> str:
        """The text of the request."""
        body = json.dumps(self.body) if self.body is not None else ""
        content_headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        head = (
            f"{self.method} /api/v1{self.path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n"
            "Accept: */*\r\n"
        )
        return f"{head}Authorization: token {token}\r\n{content_headers}\r\n{body}"


def cases(owner: str) -> tuple[Case, ...]:
    repository = f"/repos/{owner}/bench"
    text = (TEXT + PROSE * 10)[:2048]
    return (
        Case("GET /version", "GET", "/version", 150e-6),
        Case("GET one issue", "GET", f"{repository}/issues/5000", 800e-6),
        Case("GET 30 issues", "GET", f"{repository}/issues?limit=30", 2e-3),
        Case(
            "POST an issue",
            "POST",
            f"{repository}/issues",
            2e-3,
            {"title": "It burns", "body": "Help."},
            "201",
        ),
        Case(
            "POST 2 KB of markdown",
            "POST",
            "/markdown",
            2e-3,
            {"text": text, "mode": "gfm", "context": repository},
        ),
        Case(
            "GET 30 reviews of a pull request", "GET", f"{repository}/pulls/{PULL}/reviews?limit=30", 1.5e-3
        ),
        Case("GET 30 notifications", "GET", "/notifications?limit=30", 1.5e-3),
        Case("GET 30 issues of all repositories", "GET", "/repos/issues/search?limit=30", 10e-3),
        Case("GET 30 issues by a word", "GET", "/repos/issues/search?limit=30&q=fourteen", 10e-3),
        Case("GET 30 issues by a word that none has", "GET", "/repos/issues/search?limit=30&q=zebra", 10e-3),
    )


async def fill(url: str, repository_id: int, author_id: int) -> None:
    """Add issues with two labels, an assignee and a milestone each. Half of them are closed."""
    database = Database(url, metadata)
    now = datetime.now(UTC)
    async with database.transaction() as tx:
        in_repository = {"repository_id": repository_id}
        await tx.execute(
            label_table.insert(), [in_repository | {"name": f"l{n}", "color": "ff0000"} for n in range(10)]
        )
        await tx.execute(
            milestone_table.insert(), [in_repository | {"title": f"m{n}", "state": "open"} for n in range(5)]
        )
        labels = list((await tx.execute(select(label_table.c.id))).scalars())
        milestones = list((await tx.execute(select(milestone_table.c.id))).scalars())
        rows = [
            in_repository
            | {
                "number": number, "is_pull": False, "author_id": author_id, "title": f"Number {number}",
                "body": PROSE, "state": "open" if number % 2 else "closed", "created_at": now,
                "updated_at": now, "milestone_id": milestones[number % len(milestones)],
                "closed_at": None if number % 2 else now,
            }
            for number in range(1, ISSUES + 1)
        ]  # fmt: skip
        await tx.execute(issue_table.insert(), rows)
        ids = list((await tx.execute(select(issue_table.c.id))).scalars())
        issue_labels = [
            {"issue_id": issue_id, "label_id": labels[(issue_id + offset) % len(labels)]}
            for issue_id in ids
            for offset in (0, 3)
        ]
        await tx.execute(issue_label_table.insert(), issue_labels)
        assignees = [{"issue_id": issue_id, "account_id": author_id, "position": 0} for issue_id in ids]
        await tx.execute(assignee_table.insert(), assignees)
        await _fill_pull(tx, repository_id, author_id, ids[:THREADS], now)
        counts = {"last_number": PULL, "open_issues": ISSUES // 2, "open_pulls": 1}
        await tx.execute(
            update(counter_table).where(counter_table.c.repository_id == repository_id).values(counts)
        )
    await database.close()


async def _fill_pull(tx: Tx, repository_id: int, author_id: int, issue_ids: list[int], now: datetime) -> None:
    """Add a pull request with reviews, and notifications of the author about it and about these issues."""
    sha = "0" * 40
    row = {
        "repository_id": repository_id, "number": PULL, "is_pull": True, "author_id": author_id,
        "title": "Pull", "state": "open", "created_at": now, "updated_at": now,
    }  # fmt: skip
    pull_id = (await tx.execute(issue_table.insert().values(row).returning(issue_table.c.id))).scalar_one()
    branches = {"base_branch": "main", "head_branch": "topic", "head_repository_id": repository_id}
    shas = {"base_sha": sha, "head_sha": sha, "merge_base": sha, "mergeable": True}
    await tx.execute(pull_table.insert().values(issue_id=pull_id, **branches, **shas))
    review = {
        "issue_id": pull_id, "author_id": author_id, "state": "COMMENT", "body": PROSE, "commit_sha": sha,
        "submitted_at": now, "updated_at": now,
    }  # fmt: skip
    await tx.execute(review_table.insert(), [review] * REVIEWS)
    thread = {"account_id": author_id, "repository_id": repository_id, "status": "unread", "updated_at": now}
    await tx.execute(notification_table.insert(), [thread | {"issue_id": one} for one in issue_ids])


async def fill_others(url: str, repository_ids: list[int], author_id: int) -> None:
    """Add open issues to other repositories. In each, one issue contains the search term.

    The first search copies these repositories.
    """
    database = Database(url, metadata)
    now = datetime.now(UTC)
    rows = [
        {
            "repository_id": repository_id, "number": number, "is_pull": False, "author_id": author_id,
            "title": f"Number {number}", "body": f"{PROSE} fourteen" if number == 1 else PROSE,
            "state": "open", "created_at": now, "updated_at": now,
        }
        for repository_id in repository_ids
        for number in range(1, ISSUES_OF_OTHERS + 1)
    ]  # fmt: skip
    counters = [
        {"repository_id": one, "last_number": ISSUES_OF_OTHERS, "open_issues": ISSUES_OF_OTHERS}
        for one in repository_ids
    ]
    async with database.transaction() as tx:
        for start in range(0, len(rows), 10_000):
            await tx.execute(issue_table.insert(), rows[start : start + 10_000])
        await tx.execute(counter_table.insert(), counters)
        await tx.execute(text("ANALYZE"))  # a database does it by itself after a while
    await database.close()


def create_issues(url: str, database_url: str, other_repositories: int) -> tuple[str, str]:
    """Create the repositories and their issues. Return the owner and a token."""
    token, owner = run.create_repository_and_token(url), run.ADMINISTRATOR[0]
    with httpx.Client(base_url=url, auth=run.ADMINISTRATOR, timeout=30) as client:
        repository = client.get(f"api/v1/repos/{owner}/bench").raise_for_status().json()
        # With the first issue, the service copies the repository and its owner.
        first = client.post(f"api/v1/repos/{owner}/bench/issues", json={"title": "first"})
        first.raise_for_status()
        database = Database(database_url, metadata)

        async def clear() -> None:
            async with database.transaction() as tx:
                await tx.execute(issue_table.delete())
            await database.close()

        asyncio.run(clear())
        asyncio.run(fill(database_url, repository["id"], repository["owner"]["id"]))
        others = [
            client.post("api/v1/user/repos", json={"name": f"other{number}"}).raise_for_status().json()["id"]
            for number in range(other_repositories)
        ]
        asyncio.run(fill_others(database_url, others, repository["owner"]["id"]))
        for _ in range(0, other_repositories + 1, MOST_COPIES):
            client.get("api/v1/repos/issues/search").raise_for_status()
    return owner, token


def idle_costs() -> dict[str, float]:
    """Return the CPU of each program in SETTLING seconds without requests."""
    time.sleep(SETTLING)
    pids = processor.descendants(os.getpid())
    before = processor.by_program(pids)
    time.sleep(SETTLING)
    return {
        program: spent - before.get(program, 0.0) for program, spent in processor.by_program(pids).items()
    }


def measure(case: Case, url: str, token: str, requests: int) -> tuple[float, str, float]:
    """Return the seconds of CPU per request in all processes, the shares of each, and requests per second."""
    request = case.request(token)
    idle = idle_costs() if case.status == "201" else {}
    run.load(url, request, run.CONNECTIONS * 10, status=case.status)
    figures = []
    for _ in range(run.ROUNDS):
        pids = processor.descendants(os.getpid())
        before = processor.by_program(pids)
        result = run.load(url, request, requests, status=case.status)
        if case.status == "201":
            time.sleep(SETTLING)
        spent = {
            program: (seconds - before.get(program, 0.0) - idle.get(program, 0.0)) / result["count"]
            for program, seconds in processor.by_program(pids).items()
        }
        figures.append(run.Figure(spent, result["count"] / result["seconds"]))
    figures.sort(key=lambda figure: sum(figure.by_program.values()))
    middle = figures[run.ROUNDS // 2]
    return sum(middle.by_program.values()), middle.shares(), middle.rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="of each kind and round")
    parser.add_argument("--only", default="", help="measure the requests whose name has this text")
    parser.add_argument("--repositories", type=int, default=50, help="beside the one with most issues")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    within = True
    with run.cluster() as deployment:
        database_url = deployment.backing_servers.database_urls["issues"]
        owner, token = create_issues(deployment.url, database_url, options.repositories)
        print(
            f"{'request, with 10,000 issues (all processes)':<46}{'CPU':>10}{'bound':>10}{'to version':>11}"
            f"{'rate':>10}"
        )
        version = 0.0
        for case in cases(owner):
            if version and options.only not in case.name:
                continue
            spent, shares, rate = measure(case, deployment.url, token, options.requests)
            version = version or spent
            within = within and (case.path == "/version" or spent <= case.bound)
            print(
                f"{case.name:<46}{spent * 1e6:>7.0f} µs{case.bound * 1e6:>7.0f} "
                f"µs{spent / version:>11.1f}{rate:>8.0f}/s"
            )
            print(f"    µs by program: {shares}", flush=True)
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
