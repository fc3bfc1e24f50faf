"""A PostgreSQL that stops, for the databases of one test only."""

import asyncio
from collections.abc import Collection
from urllib.parse import urlsplit, urlunsplit

import asyncpg


async def cut_off(urls: Collection[str], seconds: float) -> None:
    """End all connections to the databases, and refuse new ones for that long."""
    parts = [urlsplit(url) for url in urls]
    connection = await asyncpg.connect(urlunsplit(parts[0]._replace(scheme="postgresql", path="/postgres")))
    names = [part.path.strip("/") for part in parts]
    try:
        for name in names:
            await connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ANY($1)"
        await connection.execute(query, names)
        await asyncio.sleep(seconds)
    finally:
        for name in names:
            await connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        await connection.close()
