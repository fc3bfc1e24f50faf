"""The time until an ended process answers again, on a database and in folders that it has used before.

Each service of a cluster ends by SIGTERM and starts while the others run; then `ingot up`, with the nats-server that it
starts. ``python benchmarks/start.py [--starts N] [--check]``. With --check a median above its bound ends it with code 1.
Times are of the wall, so the host must be quiet: a start is also a multiple of the calibration loop of `run.py`.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import processor  # noqa: E402
import run  # noqa: E402

os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # else every start compiles what has changed since the bytecode was written
BOUNDS = {"processes": 1.5, "one": 2.5}
"""Seconds until a service, and all in one process, answers."""


def start(deployment: run.Deployment, part: str) -> tuple[float, float]:
    """Seconds until it is ready, and the CPU that it took until then."""
    deployment.stop_part(part)
    began = time.perf_counter()
    deployment.restart(part)
    took = time.perf_counter() - began
    spent = processor.seconds(
        {pid for name, pid in deployment.processes().items() if name.split()[0] == part}
    )
    return took, spent


def measure(deployment: run.Deployment, mode: str, starts: int) -> bool:
    """Print the median of each part; whether all are within the bound."""
    within = True
    for part in deployment.parts:
        figures = [start(deployment, part) for _ in range(starts)]
        took, spent = (statistics.median(column) for column in zip(*figures, strict=True))
        within = within and took <= BOUNDS[mode]
        print(
            f"{part:<10}{took:>7.2f} s{spent:>7.2f} s of CPU{took / run.calibrate() / 1000:>8.1f} thousand loops"
            f"{'' if took <= BOUNDS[mode] else f'  above {BOUNDS[mode]} s'}",
            flush=True,
        )
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5, help="of each process")
    parser.add_argument("--check", action="store_true", help="fail if a median is above its bound")
    options = parser.parse_args()
    within = True
    for mode, make in run.MODES.items():
        with make() as deployment:
            run.create_repository_and_token(deployment.url)
            within = measure(deployment, mode, options.starts) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
