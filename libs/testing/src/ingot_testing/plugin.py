"""The pytest plugin: fixtures that provide real servers and databases for tests.

| fixture            | provides                                                                  |
|--------------------|---------------------------------------------------------------------------|
| `postgres_server`  | the administrator's URL of the run's PostgreSQL                           |
| `database_backend` | `sqlite`, then `postgresql`: parameter of the next two fixtures           |
| `database_url`     | an empty database for this test                                           |
| `make_database`    | `make_database(name, migrate)`: a copy of a migrated database             |
| `redis_url`        | this worker's database of the run's Redis, emptied for the test           |
| `nats_url`         | the run's NATS with JetStream; tests choose distinct stream names         |
| `own_nats`         | a private NATS that can be stopped, killed and restarted                  |
| `object_backend`   | `folder`, then `s3`: parameter of the next fixture                        |
| `objects_at`       | an empty storage of objects: the settings `objects_…` of a service        |
| `receiver`         | an HTTP endpoint that records requests                                    |

With `INGOT_TEST_DATABASES=turns` a test runs on one kind of database only, half of the tests on each. Nearly
every statement is sent by many tests, so each kind still runs it. Tests of SQL itself have the marker
`pytest.mark.both_databases` and always run on both.
"""

import gc
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from ingot_testing.databases import (
    Backend,
    Databases,
    MakeDatabase,
    Migrate,
    PostgresDatabases,
    SqliteDatabases,
)
from ingot_testing.servers import NatsServer, SessionServers
from ingot_testing.turns import take_turns

SERVERS = pytest.StashKey[SessionServers]()
WORKER_KEY = "ingot_test_folder"


def is_xdist_controller(options: Any) -> bool:
    """Return whether this is the xdist controller, which runs no tests and can skip imports of services."""
    alone = options.usepdb or options.collectonly
    return (
        bool(getattr(options, "numprocesses", None)) and not alone and "PYTEST_XDIST_WORKER" not in os.environ
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    options.noconftest = options.noconftest or is_xdist_controller(options)


def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    # Markers for `data` and path parameters that Litestar 3 will require; 2.x reads both spellings.
    config.addinivalue_line("filterwarnings", "ignore::litestar.exceptions.LitestarDeprecationWarning")
    config.addinivalue_line("markers", "both_databases: on SQLite and on PostgreSQL, whatever is set")
    if not is_xdist_controller(config.option):
        from ingot_testing.apps import keep_routes, keep_statements

        keep_routes()
        keep_statements()
    config.stash[SERVERS] = (
        SessionServers(Path(worker_input[WORKER_KEY])) if worker_input else SessionServers.open()
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("INGOT_TEST_DATABASES", "both") != "both":
        take_turns(config, items, ("sqlite", "postgresql"), "both_databases")


def pytest_collection_finish() -> None:
    """Exempt all loaded objects from garbage collection, because they stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the folder with the run's servers to an xdist worker."""
    node.workerinput[WORKER_KEY] = str(node.config.stash[SERVERS].folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    servers = config.stash.get(SERVERS, None)
    if servers is not None:
        servers.close()


@pytest.fixture(scope="session")
def session_servers(request: pytest.FixtureRequest) -> SessionServers:
    return request.config.stash[SERVERS]


@pytest.fixture(scope="session")
def postgres_server(session_servers: SessionServers) -> str:
    return session_servers.postgres()


@pytest.fixture(scope="session")
def nats_url(session_servers: SessionServers) -> str:
    return session_servers.nats()


@pytest.fixture
def own_nats(session_servers: SessionServers) -> Iterator[NatsServer]:
    server = session_servers.own_nats()
    yield server
    server.stop()


@pytest.fixture
def redis_url(session_servers: SessionServers) -> str:
    import redis

    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    url = f"{session_servers.redis()}/{worker}"
    with redis.Redis.from_url(url) as connection:
        connection.flushdb()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


class BackendsInUse:
    """Opens a backend when the first test needs it, so SQLite tests alone start no PostgreSQL."""

    def __init__(self, servers: SessionServers) -> None:
        self._servers = servers
        self._open: dict[Backend, Databases] = {}

    def __getitem__(self, backend: Backend) -> Databases:
        if backend not in self._open:
            self._open[backend] = (SqliteDatabases if backend == "sqlite" else PostgresDatabases)(
                self._servers
            )
        return self._open[backend]

    def close(self) -> None:
        for databases in self._open.values():
            databases.close()


@pytest.fixture(scope="session")
def database_backends(session_servers: SessionServers) -> Iterator[BackendsInUse]:
    backends = BackendsInUse(session_servers)
    yield backends
    backends.close()


@pytest.fixture
def database_url(database_backend: Backend, database_backends: BackendsInUse) -> Iterator[str]:
    databases = database_backends[database_backend]
    url = databases.empty()
    yield url
    databases.drop(url)


@pytest.fixture
def make_database(database_backend: Backend, database_backends: BackendsInUse) -> Iterator[MakeDatabase]:
    databases = database_backends[database_backend]
    with ExitStack() as drops:

        def make(name: str, migrate: Migrate) -> str:
            url = databases.copy(name, migrate)
            drops.callback(databases.drop, url)
            return url

        yield make


@pytest.fixture(params=["folder", "s3"])
def object_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.fixture
def objects_at(object_backend: str, session_servers: SessionServers, tmp_path: Path) -> dict[str, str]:
    if object_backend == "folder":
        return {"objects_url": (tmp_path / "objects").as_uri()}
    return bucket(session_servers)


def bucket(servers: SessionServers) -> dict[str, str]:
    """Return the settings of an empty storage in the run's S3-compatible server."""
    server = urlsplit(servers.s3())
    endpoint = f"{server.scheme}://{server.hostname}:{server.port}"
    return {
        "objects_url": f"s3://tests/{secrets.token_hex(8)}?endpoint={endpoint}",
        "objects_key_id": server.username or "",
        "objects_secret": server.password or "",
    }


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Any]:
    from ingot_testing.receiver import Receiver

    async with Receiver() as receiver:
        yield receiver
