"""The time until a restarted process answers, with an existing database and existing folders.

Each service of a cluster is ended by SIGTERM and started again while the others run. Then `ingot up` is
measured with the nats-server that it starts. ``python benchmarks/start.py [--starts N] [--check]``. With
--check it exits with code 1 if a median is above its bound. Times are wall-clock times, so the host must be
quiet. They are also printed as multiples of the calibration loop of `run.py`.
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

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compile now, or every start compiles the changed modules
BOUNDS = {"processes": 1.5, "one": 2.5}
"""Seconds until a service, and all in one process, answers."""


def start(deployment: run.Deployment, part: str) -> tuple[float, float]:
    """Return the seconds until it is ready, and its CPU until then."""
    deployment.stop_part(part)
    began = time.perf_counter()
    deployment.restart(part)
    took = time.perf_counter() - began
    spent = processor.seconds(
        {pid for name, pid in deployment.processes().items() if name.split()[0] == part}
    )
    return took, spent


def measure(deployment: run.Deployment, mode: str, starts: int) -> bool:
    """Print the median of each part. Return True if all are within the bound."""
    within = True
    for part in deployment.parts:
        figures = [start(deployment, part) for _ in range(starts)]
        took, spent = (statistics.median(column) for column in zip(*figures, strict=True))
        within = within and took <= BOUNDS[mode]
        print(
            f"{part:<10}{took:>7.2f} s{spent:>7.2f} s of CPU{took / run.calibrate() / 1000:>8.1f} thousand "
            f"loops{'' if took <= BOUNDS[mode] else f'  above {BOUNDS[mode]} s'}",
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
