"""Empty servers for one benchmark: PostgreSQL, Redis and NATS."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingot_testing.databases import PostgresDatabases
from ingot_testing.servers import SessionServers


@contextmanager
def empty_servers() -> Iterator[tuple[SessionServers, PostgresDatabases]]:
    """Start servers on first use, and stop them at the end of the block."""
    servers = SessionServers.open()
    databases = PostgresDatabases(servers)
    try:
        yield servers, databases
    finally:
        databases.close()
        servers.close()
