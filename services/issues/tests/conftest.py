"""The world of the tests of issues."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ingot_chassis.db.migrations import upgrade
from ingot_issues.migrations import SCRIPTS
from ingot_testing.databases import MakeDatabase

from .world import World


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """Settings of the world that a file of tests needs otherwise than they are."""
    return {"objects_url": (tmp_path / "files").as_uri()}


@pytest_asyncio.fixture
async def world(make_database: MakeDatabase, settings: dict[str, Any]) -> AsyncIterator[World]:
    world = World(make_database("issues", lambda url: asyncio.run(upgrade(url, SCRIPTS))), **settings)
    yield world
    await world.close()
