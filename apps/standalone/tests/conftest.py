"""Data folders, and the real command running on them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .ingot_command import RunningIngot

Start = Callable[..., RunningIngot]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts `ingot up` on the folder of the test. What still runs at the end of the test is killed."""
    with ExitStack() as ends:

        def start_ingot(*options: str, **variables: str) -> RunningIngot:
            running = RunningIngot(folder, *options, **variables)
            ends.callback(running.kill)
            return running

        yield start_ingot


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningIngot]:
    """An `ingot up` that is ready. Tests of all modules share it and do not stop it."""
    ingot = RunningIngot(tmp_path_factory.mktemp("ingot") / "data")
    ingot.wait_ready()
    yield ingot
    ingot.kill()
