"""Databases for one test: empty ones, and cheap copies of a migrated template, on SQLite and PostgreSQL."""

import asyncio
import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit, urlunsplit

from ingot_testing.servers import SessionServers

Backend = Literal["sqlite", "postgresql"]
Migrate = Callable[[str], object]


class MakeDatabase(Protocol):
    """The factory of the fixture `make_database`."""

    def __call__(self, name: str, migrate: Migrate) -> str:
        """Return the URL of a new database that `migrate(url)` has filled.

        `name` identifies the result of `migrate`: it runs once per worker and backend, and later tests get
        copies. `migrate` is a plain function in a separate thread (it may use `asyncio.run`). It must close
        its connections before it returns.
        """


class Databases(Protocol):
    """The interface of the database backends."""

    def empty(self) -> str:
        """Return the URL of a new database without tables."""

    def copy(self, name: str, migrate: Migrate) -> str:
        """Return the URL of a new copy of the named template, which is created on first use."""

    def drop(self, url: str) -> None:
        """Remove the database of a finished test, even if it has open connections."""

    def close(self) -> None:
        """Remove all templates."""


class SqliteDatabases:
    """Stores every database in its own folder, so `-wal` and `-shm` are removed with it."""

    def __init__(self, servers: SessionServers) -> None:
        self._folder = servers.folder / f"sqlite-{secrets.token_hex(4)}"
        self._templates: dict[str, Path] = {}

    def empty(self) -> str:
        return _sqlite_url(self._new_file())

    def copy(self, name: str, migrate: Migrate) -> str:
        if name not in self._templates:
            template = self._new_file()
            _on_own_thread(migrate, _sqlite_url(template))
            # Connections that change the mode at the same time are rejected. A copy of the file alone would
            # lack the contents of the write-ahead log.
            with closing(sqlite3.connect(template)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._templates[name] = template
        file = self._new_file()
        shutil.copyfile(self._templates[name], file)
        return _sqlite_url(file)

    def drop(self, url: str) -> None:
        shutil.rmtree(Path(urlsplit(url).path[1:]).parent, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_file(self) -> Path:
        folder = self._folder / secrets.token_hex(4)
        folder.mkdir(parents=True)
        return folder / "x.db"


class PostgresDatabases:
    """Creates databases on the shared server, with names that are unique among workers and other runs."""

    def __init__(self, servers: SessionServers) -> None:
        self._prefix = f"ingot_test_{os.getpid()}_{secrets.token_hex(4)}"
        self._number = 0
        self._templates: dict[str, str] = {}
        self._url = urlsplit(servers.postgres())
        self._admin = AdminConnection(urlunsplit(self._url))

    def empty(self) -> str:
        name = self._new_name()
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY FILE_COPY")
        return self._database_url(name)

    def copy(self, name: str, migrate: Migrate) -> str:
        if name not in self._templates:
            url = self.empty()
            _on_own_thread(migrate, url)
            self._templates[name] = _database_name(url)
        copy = self._new_name()
        self._admin.execute(f"CREATE DATABASE {copy} TEMPLATE {self._templates[name]} STRATEGY FILE_COPY")
        return self._database_url(copy)

    def drop(self, url: str) -> None:
        self._admin.execute(f"DROP DATABASE IF EXISTS {_database_name(url)} WITH (FORCE)")

    def close(self) -> None:
        for name in self._templates.values():
            self._admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._admin.close()

    def _new_name(self) -> str:
        self._number += 1
        return f"{self._prefix}_{self._number}"

    def _database_url(self, name: str) -> str:
        return urlunsplit(self._url._replace(scheme="postgresql+asyncpg", path=f"/{name}"))


class AdminConnection:
    """A connection with an event loop in its own thread, because async tests create databases, too."""

    def __init__(self, url: str) -> None:
        import asyncpg

        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="postgres-admin", daemon=True).start()
        self._connection: Any = self._run(lambda: asyncpg.connect(url, ssl=False))

    def execute(self, statement: str) -> None:
        self._run(lambda: self._connection.execute(statement))

    def close(self) -> None:
        self._run(self._connection.close)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, call: Callable[[], Any]) -> Any:
        async def awaited() -> Any:
            return await call()

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()


def _on_own_thread(migrate: Migrate, url: str) -> None:
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(migrate, url).result()


def _sqlite_url(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


def _database_name(url: str) -> str:
    return urlsplit(url).path[1:]
