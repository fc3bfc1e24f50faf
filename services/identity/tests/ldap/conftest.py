"""A directory, and a site that may reach it."""

import pytest

from ingot_testing.slapd import running_slapd


@pytest.fixture
async def slapd(tmp_path):
    async with running_slapd(tmp_path) as slapd:
        yield slapd


@pytest.fixture
async def site(make_world, slapd):
    del slapd
    async with make_world(allowed_directories=["localhost"]) as world:
        yield world
