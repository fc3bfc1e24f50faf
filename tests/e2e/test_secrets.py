"""Secrets in a cluster: no log, table of PostgreSQL, value of Redis, stream of NATS or process has one."""

import asyncpg
import httpx
import pytest
from redis.asyncio import Redis

from ..safety.test_secrets import (
    Outside,
    Visitor,
    contents_of,
    hand_over,
    observations,
    require_none,
)
from .deployments import WITH_DATABASE


async def tables(url):
    """Each table of a database as PostgreSQL holds it, bytes as they are."""
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        contents = {}
        for (name,) in rows:
            parts = []

            async def add(part, parts=parts):
                parts.append(part)

            await connection.copy_from_table(name, output=add, format="binary")
            contents[name] = b"".join(parts)
        return contents
    finally:
        await connection.close()


async def values(url):
    """Keys and values of Redis."""
    async with Redis.from_url(url) as redis:
        return {f"redis {key}": key + (await redis.dump(key) or b"") async for key in redis.scan_iter()}


@pytest.mark.parametrize("deployment", ["cluster of two"], indirect=True)
async def test_no_secret_is_anywhere_else_in_a_cluster(deployment):
    servers = deployment.backing_servers
    async with Outside.open() as outside:
        async with httpx.AsyncClient(base_url=deployment.url, timeout=60) as client:
            visitor = Visitor(client)
            secrets = await hand_over(visitor, outside, deployment.serve_ssh())
        contents = observations(outside, visitor)
    stored = {service: await tables(servers.database_urls[service]) for service in WITH_DATABASE}
    assert b"cora@example.org" in stored["identity"]["account"]
    for service, of_service in stored.items():
        contents |= {f"{service}.{name}": content for name, content in of_service.items()}
    contents |= await values(servers.redis_url) | contents_of(servers.nats.folder)
    contents |= contents_of(deployment.folder)
    require_none(secrets, contents)
