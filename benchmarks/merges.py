"""The cost of a merge: CPU of all server processes until its response, and for the work after its push.

The first figure has one pull request per base. For the second, the base has other open pull requests: each
merge makes the service compare them again. ``python benchmarks/merges.py [--check]``. With --check it exits
with code 1 if a first figure is above its bound.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402
from repositories import OWNER, git, push, write  # noqa: E402

WARM_UP, MERGES = 10, 30
BESIDE, MERGES_BESIDE = 20, 10
TOPICS = range(WARM_UP + MERGES + BESIDE + MERGES_BESIDE)
BOUND = 20e-3
SETTLING, IDLING = 2.0, 6.0
FOLLOWING = 0.5
"""Seconds for the work after a merge."""
PULLS = f"api/v1/repos/{OWNER}/merging/pulls"

Spent = dict[str, float]
"""Seconds of CPU by program."""


def push_repository(client: httpx.Client, url: str, token: str, folder: Path) -> None:
    """Push a repository with base branches, and with a branch for each pull request that changes its own
    file."""
    client.post("api/v1/user/repos", json={"name": "merging"}).raise_for_status()
    git("init", "-q", "-b", "master", cwd=folder)
    for number in TOPICS:
        write(folder, f"src/file{number}.txt", f"line of {number}\n".encode() * 50)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    for number in TOPICS:
        git("branch", f"base{number}", "master", cwd=folder)
        git("checkout", "-q", "-b", f"topic{number}", "master", cwd=folder)
        write(folder, f"src/file{number}.txt", b"changed\n")
        git("commit", "-q", "-a", "-m", f"topic {number}", cwd=folder)
    push(url, token, folder, "merging")


def open_pull_request(client: httpx.Client, number: int, base: str) -> str:
    """Open a pull request for the branch of that number. Return its path."""
    body = {"base": base, "head": f"topic{number}", "title": f"topic {number}"}
    return f"{PULLS}/{client.post(PULLS, json=body).raise_for_status().json()['number']}"


def spent_by(act: Callable[[], object], pids: set[int], idle: Spent) -> Spent:
    """Return the CPU of ``act`` by program, without the CPU of an idle deployment in that time."""
    before, began = processor.by_program(pids), time.monotonic()
    act()
    passed = time.monotonic() - began
    after = processor.by_program(pids)
    return {name: after[name] - before.get(name, 0.0) - idle.get(name, 0.0) * passed for name in after}


def merge(client: httpx.Client, paths: list[str]) -> tuple[Spent, Spent]:
    """Return the average cost of these merges until the response, and after it."""
    time.sleep(SETTLING)
    pids = processor.descendants(os.getpid())
    idle = {name: one / IDLING for name, one in spent_by(lambda: time.sleep(IDLING), pids, {}).items()}
    called, followed = Spent(), Spent()
    for path in paths:
        for total, act in (
            (called, lambda path=path: client.post(f"{path}/merge", json={"Do": "merge"}).raise_for_status()),
            (followed, lambda: time.sleep(FOLLOWING)),
        ):
            for name, one in spent_by(act, pids, idle).items():
                total[name] = total.get(name, 0.0) + one / len(paths)
    return called, followed


def print_figure(name: str, called: Spent, followed: Spent) -> float:
    """Print the figure, and return it in seconds."""
    whole = sum(called.values()) + sum(followed.values())
    print(f"{name}: {whole * 1e3:.1f} ms of CPU in all processes")
    for part, shares in (("until it is answered", called), ("after its answer", followed)):
        named = ", ".join(f"{program} {one * 1e3:.1f}" for program, one in shares.items() if one > 5e-5)
        print(f"    {part}: {sum(shares.values()) * 1e3:.1f} ms; {named}", flush=True)
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the first figure is above its bound")
    options = parser.parse_args()
    numbers = iter(TOPICS)
    with run.cluster() as deployment, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.create_repository_and_token(deployment.url)
        with httpx.Client(
            base_url=deployment.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            push_repository(client, deployment.url, token, Path(folder))

            def open_pull_requests(count: int, base: str) -> list[str]:
                return [
                    open_pull_request(client, number, base.format(number))
                    for number in islice(numbers, count)
                ]

            merge(client, open_pull_requests(WARM_UP, "base{}"))
            alone = print_figure(
                f"a merge (bound {BOUND * 1e3:.0f} ms)", *merge(client, open_pull_requests(MERGES, "base{}"))
            )
            open_pull_requests(BESIDE, "master")
            max_open = BESIDE + MERGES_BESIDE - 1
            print_figure(
                f"a merge, {BESIDE} to {max_open} others are open",
                *merge(client, open_pull_requests(MERGES_BESIDE, "master")),
            )
    if options.check and alone > BOUND:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
