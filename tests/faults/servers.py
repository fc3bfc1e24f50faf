"""A PostgreSQL and a Redis of one test alone: they are killed, and started again on their data and ports."""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from ingot_testing.binaries import postgres_owner, postgres_programs, redis_programs
from ingot_testing.databases import AdminConnection
from ingot_testing.greetings import postgres_answers, redis_answers
from ingot_testing.processes import GuardedProcess, Owner, ServerError, free_port
from ingot_testing.servers import POSTGRES_SETTINGS, init_postgres

from ..e2e import parts
from ..e2e.deployments import Standalone

PATIENCE = 30.0
RETRY = 0.02
# What it has acknowledged survives a kill. It need not survive a power cut, so it waits for no disk.
SETTINGS = POSTGRES_SETTINGS | {
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
}


class OwnServer:
    """One server. The code that starts it also stops it."""

    def __init__(
        self,
        session: Path,
        folder: Path,
        command: list[str],
        answers: Callable[[], bool],
        owner: Owner | None = None,
    ) -> None:
        self._session, self._folder, self._command = session, folder, command
        self._answers, self._owner = answers, owner
        self._process: GuardedProcess | None = None

    def begin(self) -> None:
        """Start it without waiting for it."""
        if self._process is None:
            self._process = GuardedProcess(
                self._command, session=self._session, folder=self._folder, owner=self._owner
            )

    def start(self) -> None:
        """Returns when it answers. Raises ServerError."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.begin()
            assert self._process is not None
            try:
                return self._process.wait_until(self._answers)
            except ServerError:
                self._process = None
                # PostgreSQL starts only when all processes of the killed one have ended.
                if time.monotonic() > deadline:
                    raise

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def limit_files(self, *, full: bool) -> None:
        """Let it write to no file, or to every file again."""
        if self._process is not None:
            self._process.limit_files(full=full)

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None


class NatsOfIngot:
    """The NATS of `ingot up`, which starts it again when it has died."""

    def __init__(self, ingot: Standalone) -> None:
        self._ingot = ingot
        self._killed = 0

    def kill(self) -> None:
        self._killed = self._ingot.nats_process()
        self.send_signal(signal.SIGKILL)

    def begin(self) -> None:
        """Wait for the server of Ingot, kill it, and wait for the next one. Raises ServerError."""
        self.start()
        self.kill()
        self.start()

    def start(self) -> None:
        """Wait until `ingot up` has started another server. Raises ServerError."""
        deadline = time.monotonic() + parts.PATIENCE  # Ingot may have to start before it
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):  # the note of it is written just now
                if self._ingot.nats_process() != self._killed:
                    return
            time.sleep(RETRY)
        raise ServerError("`ingot up` has not started its NATS again")

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self._ingot.nats_process(), number)


def own_redis(session: Path) -> tuple[OwnServer, str]:
    """A Redis that runs, and its URL."""
    folder = session / f"redis-{secrets.token_hex(4)}"
    folder.mkdir()
    port, password = free_port(), secrets.token_hex(16)
    configuration = folder / "redis.conf"
    configuration.touch(mode=0o600)
    configuration.write_text(
        f'bind 127.0.0.1\nport {port}\nrequirepass {password}\ndir {folder}\nsave ""\nappendonly yes\n'
    )
    program = next(redis_programs())
    server = OwnServer(
        session, folder, [str(program), str(configuration)], partial(redis_answers, port, password)
    )
    server.start()
    return server, f"redis://:{password}@127.0.0.1:{port}/0"


def own_postgres(session: Path, names: Collection[str]) -> tuple[OwnServer, dict[str, str]]:
    """A PostgreSQL that runs, and the URLs of empty databases by their names."""
    owner = postgres_owner()
    folder = session / f"postgres-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    programs, version = next(postgres_programs(folder / "programs", owner))
    port, password = free_port(), secrets.token_hex(16)
    secret = folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(password)
    if owner:
        for path in (folder, secret):
            os.chown(path, owner.user, owner.group)
    init_postgres(programs, version, folder, owner)
    settings = SETTINGS | {"port": str(port)}
    with (folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    base = f"://postgres:{password}@127.0.0.1:{port}"
    command = [str(programs / "postgres"), "-D", str(folder / "data")]
    administration = f"postgresql{base}/postgres"
    server = OwnServer(session, folder, command, partial(postgres_answers, administration), owner)
    server.start()
    administrator = AdminConnection(administration)
    for name in names:
        administrator.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY FILE_COPY")
    administrator.close()
    return server, {name: f"postgresql+asyncpg{base}/{name}" for name in names}
