"""Test databases: empty ones are empty, copies carry the template's content and do not share changes."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_testing.databases import PostgresDatabases, SqliteDatabases

pytestmark = pytest.mark.both_databases

migrations: list[str] = []


def migrate(url: str) -> None:
    migrations.append(url)

    async def create() -> None:
        engine = create_async_engine(url)
        async with engine.begin() as connection:
            if url.startswith("sqlite"):
                await connection.execute(text("PRAGMA journal_mode=WAL"))
            await connection.execute(text("CREATE TABLE things (name text)"))
            await connection.execute(text("INSERT INTO things VALUES ('from the template')"))
        await engine.dispose()

    asyncio.run(create())


async def names(url: str, *, add: str | None = None) -> list[str]:
    engine = create_async_engine(url)
    try:
        async with engine.begin() as connection:
            if add:
                await connection.execute(text("INSERT INTO things VALUES (:name)"), {"name": add})
            return list((await connection.execute(text("SELECT name FROM things ORDER BY name"))).scalars())
    finally:
        await engine.dispose()


async def test_url_names_the_backend(database_url, database_backend):
    driver = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}[database_backend]
    assert urlsplit(database_url).scheme == driver


@pytest.mark.parametrize("time", ["first", "second"])
async def test_database_starts_empty(database_url, time):
    engine = create_async_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE things (name text)"))
    await engine.dispose()


@pytest.mark.parametrize("time", ["1st", "2nd"])
async def test_changes_stay_in_their_copy(make_database, time):
    one = make_database("things", migrate)
    other = make_database("things", migrate)
    assert await names(one, add=f"{time} time") == [f"{time} time", "from the template"]
    assert await names(other) == ["from the template"]


async def test_template_is_made_once(make_database, database_backend):
    for _ in range(3):
        make_database("once", migrate)
    urls = [url for url in migrations if url.startswith(database_backend)]
    make_database("once", migrate)
    assert urls == [url for url in migrations if url.startswith(database_backend)]


def test_plain_tests_may_use_it_too(make_database):
    assert asyncio.run(names(make_database("things", migrate))) == ["from the template"]


def test_sqlite_files_are_removed(session_servers):
    databases = SqliteDatabases(session_servers)
    url = databases.copy("things", migrate)
    asyncio.run(names(url, add="one"))
    file = Path(urlsplit(url).path[1:])
    assert file.exists()
    databases.drop(url)
    assert not file.parent.exists()
    databases.close()


async def test_postgres_databases_are_dropped_under_open_connections(session_servers):
    databases = PostgresDatabases(session_servers)
    url = databases.copy("things", migrate)
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    databases.drop(url)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(url.replace("+asyncpg", ""))
    connection.terminate()
    databases.close()
