"""Data folders, and the real command running on them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ingot_command import RunningIngot

Start = Callable[..., RunningIngot]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts `ingot up` on the folder of the test; whatever still runs in the end is killed."""
    with ExitStack() as ends:

        def started(*options: str, **variables: str) -> RunningIngot:
            running = RunningIngot(folder, *options, **variables)
            ends.callback(running.kill)
            return running

        yield started


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningIngot]:
    """`ingot up` that is ready; tests share it and leave it running."""
    ingot = RunningIngot(tmp_path_factory.mktemp("ingot") / "data")
    ingot.wait_ready()
    yield ingot
    ingot.kill()
