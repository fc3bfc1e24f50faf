"""Growth of memory under load: the requests of `run.py` in turns for an hour, and the memory after each.

Memory is proportional (smaps_rollup), of the processes of Ingot and of NATS, without PostgreSQL and Redis. A
mode has grown if the median of the last quarter is over 5 % above that of the second. Caches and memory pools
are full by the second quarter. ``python benchmarks/memory.py [--minutes N] [--mode MODE] [--check]``. With
--check it exits with code 1 if memory has grown, or if a figure is above its bound.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import processor  # noqa: E402
import run  # noqa: E402

STORES = ("postgres", "redis-server")
GROWTH = 0.05
IDLE_SECONDS = 20.0
BOUNDS = {"processes": (450, None), "one": (200, 300)}
"""Largest MiB of a mode when it is idle, and after the load. With several processes, web is not counted."""


def used() -> dict[str, float]:
    """MiB by program."""
    sizes = processor.memory_by_program(processor.descendants(os.getpid()))
    return {name: size / 2**20 for name, size in sizes.items() if not name.startswith(STORES)}


def report(when: str, sizes: dict[str, float], bound: int | None) -> bool:
    """Print the sizes. Return True if they are within the bound."""
    total = sum(size for name, size in sizes.items() if name != "web")
    parts = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items()))
    print(f"{when}: {total:.0f} MiB{f' (bound {bound})' if bound else ''}: {parts}", flush=True)
    return bound is None or total <= bound


def is_steady(totals: Sequence[float]) -> bool:
    """Print a comparison of the last quarter with the second. Return True if memory has not grown."""
    quarter = max(1, len(totals) // 4)
    second, last = (statistics.median(part) for part in (totals[quarter : 2 * quarter], totals[-quarter:]))
    print(f"second quarter {second:.0f} MiB, last {last:.0f} MiB: {last / second - 1:+.1%}", flush=True)
    return last / second - 1 <= GROWTH


def soak(mode: str, minutes: float) -> bool:
    """Load one mode for ``minutes``. Return True if memory has not grown and is within its bounds."""
    idle, loaded = BOUNDS[mode]
    with run.MODES[mode]() as deployment:
        time.sleep(IDLE_SECONDS)
        within = report(f"{mode}, idle", used(), idle)
        token = run.create_repository_and_token(deployment.url)
        run.fill(deployment.url)
        totals = list[float]()
        until, requests = time.monotonic() + minutes * 60, 0
        for case in cycle(run.CASES):
            count = max(run.CONNECTIONS, int(1000 * case.share))
            requests += int(run.load(deployment.url, case.request(token), count, status=case.status)["count"])
            if case is run.CASES[-1]:
                totals.append(sum(used().values()))
                if time.monotonic() > until:
                    break
        print(f"{requests} requests, {len(totals)} turns", flush=True)
        within = report(f"{mode}, after the load", used(), loaded) and within
        return is_steady(totals) and within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="of each mode")
    parser.add_argument("--mode", choices=run.MODES, help="load one mode")
    parser.add_argument("--check", action="store_true", help="fail if memory grows or is above a bound")
    options = parser.parse_args()
    within = [soak(mode, options.minutes) for mode in ([options.mode] if options.mode else run.MODES)]
    if options.check and not all(within):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
