"""The servers that a benchmark has for itself: PostgreSQL, Redis and NATS, all empty."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingot_testing.databases import PostgresDatabases
from ingot_testing.servers import SessionServers


@contextmanager
def empty_servers() -> Iterator[tuple[SessionServers, PostgresDatabases]]:
    """They start when they are asked for, and end with the block."""
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        yield servers, databases
    finally:
        databases.close()
        servers.close()
