"""Fixtures of tests of git."""

from datetime import timedelta

import pytest

from ingot_repos.upkeep.jobs.upkeep import UpkeepJobs


@pytest.fixture
def upkeep(world):
    components = world.components
    return UpkeepJobs(
        components.jobs, components.storage, components.lfs, world.settings.shard, timedelta(days=1)
    )
