"""Roles of PostgreSQL with fewer privileges than the owner of a database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine


@asynccontextmanager
async def without_extensions(database_url: str) -> AsyncIterator[str]:
    """Yield the URL of the same empty database for a role that may create tables, but no extensions."""
    engine, name = create_async_engine(database_url), make_url(database_url).database
    async with engine.begin() as owner:
        await owner.execute(text(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'x'"))
        await owner.execute(text(f'GRANT ALL ON SCHEMA public TO "{name}"'))
    try:
        yield make_url(database_url).set(username=name, password="x").render_as_string(hide_password=False)
    finally:
        async with engine.begin() as owner:
            await owner.execute(text(f'DROP OWNED BY "{name}" CASCADE'))
            await owner.execute(text(f'DROP ROLE "{name}"'))
        await engine.dispose()
