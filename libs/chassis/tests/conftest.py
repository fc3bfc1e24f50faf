"""Databases with the tables of the smallest messaging service, and the program that dies on order."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.db.database import Database
from ingot_testing.databases import MakeDatabase

from .messaging_world import metadata

HERE = Path(__file__).parent

Live = Callable[..., str]


def create_tables(url: str) -> None:
    async def create() -> None:
        engine = create_async_engine(url)
        async with engine.begin() as connection:
            await connection.run_sync(metadata.create_all)
        await engine.dispose()

    asyncio.run(create())


@pytest.fixture
def make_url(make_database: MakeDatabase) -> Callable[[], str]:
    """Each call: the URL of a new database with the messaging tables."""
    return lambda: make_database("messaging", create_tables)


@pytest.fixture
async def database(make_url: Callable[[], str]) -> AsyncIterator[Database]:
    """One of these, opened."""
    opened = Database(make_url(), metadata)
    yield opened
    await opened.close()


@pytest.fixture
def live() -> Iterator[Live]:
    """Run one life of ``mortal_service``: ``live(database=…, reader=…, nats=…, kill_at=…)``.

    It returns killed or lived.
    """
    program = subprocess.Popen(
        [sys.executable, str(HERE / "mortal_service.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin
    assert program.stdout

    def one_life(**order: object) -> str:
        program.stdin.write(json.dumps(order) + "\n")
        program.stdin.flush()
        return program.stdout.readline().strip()

    yield one_life
    program.stdin.close()
    program.wait()
