"""Fixtures of tests of git."""

from datetime import timedelta

import pygit2
import pytest

from ingot_repos.upkeep.jobs.upkeep import UpkeepJobs


@pytest.fixture
def upkeep(world):
    components = world.components
    return UpkeepJobs(
        components.jobs, components.storage, components.lfs, world.settings.shard, timedelta(days=1)
    )


@pytest.fixture
def unflushed():
    """Objects that no test needs after a power failure."""
    pygit2.settings.enable_fsync_gitdir(False)
    yield
    pygit2.settings.enable_fsync_gitdir(True)
