"""The size and the seed of the runs of the oracle, and the loop that they run on.

``INGOT_ORACLE`` is the number of requests. ``INGOT_ORACLE_SEED`` repeats a run; by default the seed is
today's date.
"""

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import structlog
import uvloop

from .oracle_checks import OracleError

REQUESTS = int(os.environ.get("INGOT_ORACLE", "5000"))
SEED = os.environ.get("INGOT_ORACLE_SEED") or datetime.now(UTC).date().isoformat()


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Drop the log lines: each rejected request writes one."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def run_quietly(job: Coroutine[Any, Any, None], *, on_uvloop: bool) -> None:
    """Run ``job`` on a new loop, without log lines. Raises OracleError."""
    loop_factory = uvloop.new_event_loop if on_uvloop else asyncio.new_event_loop
    with _quiet_logs(), asyncio.Runner(loop_factory=loop_factory) as runner:
        try:
            runner.run(job)
        except* OracleError as group:
            raise OracleError("\n\n".join(str(error) for error in group.exceptions[:3])) from group
