"""What a merge costs while no other pull request of its base is open, and while 20 are.

CPU of all server processes per merge, with all that follows from its push. ``python benchmarks/merges.py [--check]``;
with --check more than the bound ends it with code 1. The second figure has no bound: each of the 20 is compared anew.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402
from repositories import OWNER, git, push, since, write  # noqa: E402

MERGES, OPEN = 8, 20
BOUND = 20e-3
SETTLING = 3.0
"""Seconds until all has followed from a merge, or from a pull request that was opened."""


def furnish(client: httpx.Client, url: str, token: str, folder: Path) -> None:
    """A repository with a branch for each pull request, and each changes a file of its own."""
    client.post("api/v1/user/repos", json={"name": "merging"}).raise_for_status()
    git("init", "-q", "-b", "master", cwd=folder)
    for number in range(2 * MERGES + OPEN):
        write(folder, f"src/file{number}.txt", f"line of {number}\n".encode() * 50)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    for number in range(2 * MERGES + OPEN):
        git("checkout", "-q", "-b", f"topic{number}", "master", cwd=folder)
        write(folder, f"src/file{number}.txt", b"changed\n")
        git("commit", "-q", "-a", "-m", f"topic {number}", cwd=folder)
    push(url, token, folder, "merging")


def propose(client: httpx.Client, number: int) -> str:
    """Open a pull request; its path."""
    body = {"base": "master", "head": f"topic{number}", "title": f"topic {number}"}
    path = f"api/v1/repos/{OWNER}/merging/pulls"
    return f"{path}/{client.post(path, json=body).raise_for_status().json()['number']}"


def merge(client: httpx.Client, numbers: range) -> tuple[float, dict[str, float]]:
    """Seconds of CPU per merge of these branches, and by program."""
    time.sleep(SETTLING)
    pids, shares, idle = processor.below(os.getpid()), dict[str, float](), idle_shares(3 * SETTLING)
    for number in numbers:
        path = propose(client, number)
        time.sleep(SETTLING)
        before, started = processor.by_program(pids), time.monotonic()
        client.post(f"{path}/merge", json={"Do": "merge"}).raise_for_status()
        time.sleep(SETTLING)
        passed = time.monotonic() - started
        for program, spent in since(before, pids).items():
            more = spent - idle.get(program, 0.0) * passed
            shares[program] = shares.get(program, 0.0) + more / len(numbers)
    return sum(shares.values()), shares


def idle_shares(seconds: float) -> dict[str, float]:
    """What the programs spend in a second when nothing is asked of them."""
    pids = processor.below(os.getpid())
    before = processor.by_program(pids)
    time.sleep(seconds)
    return {program: spent / seconds for program, spent in since(before, pids).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the figure is above its bound")
    given = parser.parse_args()
    with run.cluster() as made, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.furnish(made.url)
        with httpx.Client(
            base_url=made.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            furnish(client, made.url, token, Path(folder))
            alone, alone_by = merge(client, range(MERGES))
            for number in range(2 * MERGES, 2 * MERGES + OPEN):
                propose(client, number)
            time.sleep(SETTLING)
            beside, beside_by = merge(client, range(MERGES, 2 * MERGES))
    for name, spent, shares in (
        (f"a merge (bound {BOUND * 1e3:.0f} ms)", alone, alone_by),
        (f"a merge, {OPEN} others are open", beside, beside_by),
    ):
        named = ", ".join(f"{program} {one * 1e3:.1f}" for program, one in sorted(shares.items()))
        print(f"{name}: {spent * 1e3:.1f} ms of CPU in all processes\n    ms by program: {named}")
    if given.check and alone > BOUND:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
