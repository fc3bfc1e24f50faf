"""A data folder, and the real command running on it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ingot_command import RunningIngot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., RunningIngot]]:
    """Starts `ingot up` on the folder; whatever still runs in the end is killed."""
    with ExitStack() as ends:

        def started(*options: str, **variables: str) -> RunningIngot:
            running = RunningIngot("--data", str(folder), *options, **variables)
            ends.callback(running.kill)
            return running

        yield started


@pytest.fixture
def running(start: Callable[..., RunningIngot]) -> RunningIngot:
    """`ingot up` that has said it is ready."""
    ingot = start()
    ingot.wait_ready()
    return ingot
