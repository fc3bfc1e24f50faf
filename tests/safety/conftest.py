"""One Ingot for all tests of this folder that change nothing for others."""

from collections.abc import Iterator

import pytest

from ..e2e.deployments import Standalone, running
from .world import World


@pytest.fixture(scope="session")
def ingot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    deployment = Standalone(tmp_path_factory.mktemp("safety"))
    with running(deployment):
        yield deployment


@pytest.fixture(scope="session")
def world(ingot: Standalone) -> World:
    return World.build(ingot.url, ingot.serve_ssh())
