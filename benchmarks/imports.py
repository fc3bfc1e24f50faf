"""Imports: CPU and memory of Ingot while a repository with 6,300 objects moves in from loopback.

The source is this program, so its CPU time is not counted. It has 1,000 issues, 5,000 comments, and 300 pull
requests with two reviews each. It speaks Gitea's API, and answers at once. Connections stay open.
``--ingot`` adds the list of reactions that only Ingot has. ``--verbose`` prints the progress. With
``--check`` a figure above its bound ends it with code 1.
"""

import argparse
import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

processor = importlib.import_module("processor")
deployments = importlib.import_module("tests.e2e.deployments")
remote_world = importlib.import_module("services.repos.tests.remote_world")

ISSUES, COMMENTS, PULLS = 1000, 5000, 300
OBJECTS = ISSUES + COMMENTS + PULLS
MAX_SECONDS, MAX_CPU, MAX_GROWTH = 60.0, 1.5, 64.0
"""Bounds: seconds, CPU seconds for 1,000 objects, and MiB of memory from the first quarter on."""
API = "/api/v1/repos/ann/app"
TIMES = {"created_at": "2020-01-02T03:04:05Z", "updated_at": "2020-01-05T03:04:05Z"}
PEOPLE = [{"id": number, "login": f"p{number}", "email": f"p{number}@example.org"} for number in range(1, 51)]
SHA = "a" * 40
TEXT = "Some words about a bug that nobody has found yet. " * 8


def person(number: int) -> dict[str, Any]:
    return PEOPLE[number % len(PEOPLE)]


def reviews(number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": 10 * number + one, "user": person(number + one), "state": "COMMENT", "body": TEXT,
            "commit_id": SHA, "comments_count": 1, "submitted_at": TIMES["created_at"],
            "updated_at": TIMES["updated_at"],
        }
        for one in range(2)
    ]  # fmt: skip


def line(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "user": person(number),
        "body": TEXT,
        "path": "a.py",
        "position": 3,
        "commit_id": SHA,
        **TIMES,
    }


def place(number: int) -> dict[str, str]:
    """Return where a comment is. The other address is empty."""
    pull = f"http://source/ann/app/pulls/{number}" if number > ISSUES else ""
    return {
        "pull_request_url": pull,
        "issue_url": "" if pull else f"http://source/ann/app/issues/{number}",
    }


def lists() -> dict[str, list[Any]]:
    """Every list of the source by its path below the repository."""
    labels: list[Any] = [
        {"id": number, "name": f"label {number}", "color": "ee0701"} for number in range(1, 11)
    ]
    issues: list[Any] = [
        {
            "id": number, "number": number, "title": f"issue {number}", "body": TEXT, "user": person(number),
            "labels": [labels[number % 10]], "state": "closed" if number % 3 else "open", **TIMES,
        }
        for number in range(1, ISSUES + 1)
    ]  # fmt: skip
    side = {"ref": "main", "sha": SHA, "repo_id": 1}
    pulls: list[Any] = [
        one
        | {
            "id": ISSUES + one["id"],
            "number": ISSUES + one["id"],
            "state": "closed",
            "base": side,
            "head": side,
        }
        for one in issues[:PULLS]
    ]
    comments: list[Any] = [
        {
            "id": number, "user": person(number), "body": TEXT,
            **place(number % (ISSUES + PULLS) + 1), **TIMES,
        }
        for number in range(1, COMMENTS + 1)
    ]  # fmt: skip
    listed: dict[str, list[Any]] = {
        "/labels": labels, "/milestones": [], "/issues": issues, "/pulls": pulls,
        "/issues/comments": comments, "/times": [],
    }  # fmt: skip
    for one in pulls:
        number = one["number"]
        listed[f"/pulls/{number}/reviews"] = reviews(number)
        listed |= {
            f"/pulls/{number}/reviews/{review['id']}/comments": [line(review["id"])]
            for review in reviews(number)
        }
    for one in comments:
        number = urlsplit(one["issue_url"] or one["pull_request_url"]).path.rpartition("/")[2]
        listed.setdefault(f"/issues/{number}/comments", []).append(one)
    return listed


class Source(remote_world.Remote):  # type: ignore[misc,name-defined]  # tests have no types
    """A Gitea with one repository, or an Ingot."""

    def __init__(self, folder: Path, *, is_ingot: bool) -> None:
        super().__init__(folder)
        self.lists, self.answer, self.keeps_open = lists(), self.answer_api, True
        self.is_ingot = is_ingot

    async def answer_api(self, _method: str, target: str, _headers: Any, _writer: Any) -> bytes | None:
        """Answer a request to the API. Requests of git are left to git."""
        parts = urlsplit(target)
        if not parts.path.startswith(API):
            return None
        return self.page(parts)

    def page(self, parts: Any) -> bytes:
        if parts.path.endswith("/issues/reactions") and not self.is_ingot:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        items, query = self.lists.get(parts.path.removeprefix(API), []), parse_qs(parts.query)
        size = int(query.get("limit", ["1"])[0])
        start = (int(query.get("page", ["1"])[0]) - 1) * size
        is_list = not parts.path.endswith("/topics")
        body = json.dumps(items[start : start + size] if is_list else {"topics": []}).encode()
        head = f"HTTP/1.1 200 OK\r\nX-Total-Count: {len(items)}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


@contextmanager
def repository(folder: Path) -> Iterator[Path]:
    """A folder with the bare repository ``ann/app.git`` of one commit."""
    (folder / "ann").mkdir(parents=True)
    bare = folder / "ann" / "app.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    tree = subprocess.run(
        ["git", "mktree"], cwd=bare, input=b"", capture_output=True, check=True
    ).stdout.strip()
    author = {f"GIT_{who}_{what}": "ann@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    commit = subprocess.run(
        ["git", "commit-tree", tree, "-m", "one"],
        cwd=bare,
        env=os.environ | author,
        capture_output=True,
        check=True,
    )
    subprocess.run(["git", "update-ref", "refs/heads/main", commit.stdout.strip()], cwd=bare, check=True)
    yield folder


async def measure(folder: Path, *, is_ingot: bool, is_verbose: bool) -> bool:
    """Import once, print the figures, and return whether they are within their bounds."""
    variables = {"INGOT_REPOS_ALLOWED_REMOTES": "127.0.0.1", "INGOT_LOG_LEVEL": "warning"}
    ingot = deployments.Standalone(folder, variables)
    with repository(folder / "source") as served, deployments.running(ingot):
        pids = processor.descendants(os.getpid())
        api = httpx.AsyncClient(base_url=f"{ingot.url}api/v1/", auth=deployments.ADMINISTRATOR, timeout=60)
        async with Source(served, is_ingot=is_ingot) as source, api:
            form = {
                "clone_addr": source.url("ann/app.git"), "repo_name": "app", "service": "gitea",
                "labels": True, "milestones": True, "issues": True, "pull_requests": True,
            }  # fmt: skip
            name = deployments.ADMINISTRATOR[0]
            new = {"name": "imports", "scopes": ["all"]}
            token = (await api.post(f"users/{name}/tokens", json=new)).raise_for_status().json()["sha1"]
            api.auth = httpx.Auth()
            api.headers["Authorization"] = f"token {token}"
            before, began = processor.seconds(pids), time.monotonic()
            added = (await api.post("repos/migrate", json=form)).raise_for_status().json()
            path, memory = f"repos/migrate/{added['id']}", list[int]()
            state = {"status": "waiting"}
            while state["status"] != "done":
                if state["status"] not in ("waiting", "running"):
                    raise SystemExit(f"the import {state['status']}: {state['error']}")
                memory.append(processor.resident(pids))
                if is_verbose and len(memory) % 20 == 0:
                    spent = processor.seconds(pids) - before
                    print(
                        f"{time.monotonic() - began:.0f} s, CPU {spent:.1f} s",
                        state.get("counts"),
                        flush=True,
                    )
                await asyncio.sleep(0.5)
                if (answer := await api.get(path)).status_code != 503:  # a busy machine
                    state = answer.raise_for_status().json()
            seconds, cpu = time.monotonic() - began, processor.seconds(pids) - before
    requests = sum(target.startswith("/api/") for _, target, _ in source.requests)
    cpu_of_1000 = cpu / OBJECTS * 1000
    growth = (max(memory[len(memory) // 4 :]) - memory[len(memory) // 4]) / 2**20
    print(f"{OBJECTS} objects, {requests} requests to the source: {state['counts']}")
    print(f"{seconds:.1f} s (bound {MAX_SECONDS:.0f}), with the source in this program")
    print(f"{cpu_of_1000:.2f} s of CPU for 1,000 objects (bound {MAX_CPU})")
    print(f"memory grew by {growth:.0f} MiB after the first quarter (bound {MAX_GROWTH:.0f})")
    return seconds <= MAX_SECONDS and cpu_of_1000 <= MAX_CPU and growth <= MAX_GROWTH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    parser.add_argument("--ingot", action="store_true", help="the source lists reactions")
    parser.add_argument("--verbose", action="store_true", help="print the progress every ten seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        is_within = asyncio.run(measure(Path(folder), is_ingot=options.ingot, is_verbose=options.verbose))
    if options.check and not is_within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
