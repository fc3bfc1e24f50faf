"""Calls that change state and are made one by one: merges, and forks until git can fetch them.

CPU of all server processes, without the CPU of an idle deployment. Work that starts after the end of a call
is not included.
"""

import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import processor

CALLS, WARM_UP = 20, 4
RESTING, IDLING = 5.0, 5.0
"""Seconds to wait for the work after the first calls, and seconds for measuring an idle deployment."""
LOOK, MOST_LOOKS = 0.3, 40
"""Seconds between two polls for background work such as packing, and the largest number of polls."""
BUSY = 0.01
"""Seconds of CPU between two polls above those of an idle deployment. With more, the deployment is busy."""
POLL = 0.02
FORK_SECONDS = 60.0

Spent = dict[str, float]
"""Seconds of CPU by program."""


def merges(client: httpx.Client, repository: str) -> Iterator[Callable[[], object]]:
    """Merges of pull requests, each into a branch of its own."""
    for number in range(WARM_UP + CALLS):
        base, head = f"merge-base/{number}", f"merge-head/{number}"
        client.post(f"{repository}/branches", json={"new_branch_name": base}).raise_for_status()
        content = b64encode(b"changed\n").decode()
        change = {"branch": base, "new_branch": head, "content": content}
        client.post(f"{repository}/contents/changes/{number}.txt", json=change).raise_for_status()
    for number in range(WARM_UP + CALLS):
        proposal = {
            "base": f"merge-base/{number}",
            "head": f"merge-head/{number}",
            "title": f"Change {number}",
        }
        pull = client.post(f"{repository}/pulls", json=proposal).raise_for_status().json()["number"]

        def merge(pull: int = pull) -> object:
            return client.post(f"{repository}/pulls/{pull}/merge", json={"Do": "merge"}).raise_for_status()

        yield merge


def forks(client: httpx.Client, repository: str) -> Iterator[Callable[[], object]]:
    """Forks, each into an organization of its own, until git can fetch from them."""
    name = repository.rpartition("/")[2]
    for number in range(WARM_UP + CALLS):
        owner = f"fork-owner-{number}"
        client.post("api/v1/orgs", json={"username": owner}).raise_for_status()

        def fork(owner: str = owner) -> None:
            client.post(f"{repository}/forks", json={"organization": owner}).raise_for_status()
            deadline = time.monotonic() + FORK_SECONDS
            refs = f"{owner}/{name}.git/info/refs?service=git-upload-pack"
            while client.get(refs).status_code != 200:
                if time.monotonic() > deadline:
                    raise SystemExit(f"the fork of {owner} cannot be used")
                time.sleep(POLL)

        yield fork


def measure(calls: Iterator[Callable[[], object]]) -> tuple[Spent, float]:
    """Return the CPU of one call by program, without that of an idle deployment; and calls per second."""
    every = list(calls)
    for call in every[:WARM_UP]:
        call()
    time.sleep(RESTING)
    pids = processor.descendants(os.getpid())
    with _counted(pids) as idle:
        time.sleep(IDLING)
    total, seconds = Spent(), 0.0
    for call in every[WARM_UP:]:
        began = time.monotonic()
        with _counted(pids) as spent:
            call()
        passed = time.monotonic() - began
        seconds += passed
        for name, one in spent.items():
            total[name] = total.get(name, 0.0) + one - idle.get(name, 0.0) / IDLING * passed
        _wait_until_done(pids, sum(idle.values()) / IDLING)
    count = len(every) - WARM_UP
    return {name: max(one, 0.0) / count for name, one in total.items()}, count / seconds


def _wait_until_done(pids: set[int], idle: float) -> None:
    """Wait until the servers use as little CPU as an idle deployment. ``idle`` is its seconds of CPU per
    poll."""
    for _ in range(MOST_LOOKS):
        before = processor.seconds(pids)
        time.sleep(LOOK)
        if processor.seconds(pids) - before < idle * LOOK + BUSY:
            return


@contextmanager
def _counted(pids: set[int]) -> Iterator[Spent]:
    """Yield a dict. At the end of the block it is filled with the CPU that the block used."""
    spent: Spent = {}
    before = processor.by_program(pids)
    yield spent
    spent |= {name: one - before.get(name, 0.0) for name, one in processor.by_program(pids).items()}
