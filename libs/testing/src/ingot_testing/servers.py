"""One PostgreSQL, Redis, NATS and S3-compatible storage per test run, each started on first use.

A URL setting (`INGOT_TEST_POSTGRES_URL`, `INGOT_TEST_REDIS_URL`, `INGOT_TEST_NATS_URL`, `INGOT_TEST_S3_URL`)
names a running server. It must be for tests only, because tests empty it.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from ingot_testing.binaries import (
    nats_programs,
    postgres_owner,
    postgres_programs,
    redis_programs,
    s3_programs,
)
from ingot_testing.greetings import nats_answers, postgres_answers, redis_answers, s3_answers
from ingot_testing.processes import (
    SESSION_LOCK,
    GuardedProcess,
    Owner,
    ServerError,
    file_lock,
    free_port,
    open_keepers,
    wait_for_keepers,
)

ATTEMPTS = 3
REDIS_DATABASES = 256
MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 2 << 30
POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "1000",
    "shared_buffers": "64MB",
    # No data has to survive a crash, and a test run creates and drops many databases.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1d",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "jit": "off",
}

Server = TypeVar("Server")
Program = TypeVar("Program")


class NatsServer:
    """A nats-server with JetStream that can be stopped, killed and restarted with its data and port."""

    def __init__(self, *, session: Path, folder: Path) -> None:
        self._session = session
        self.folder = folder
        self._process: GuardedProcess | None = None
        self._name = ""
        """The server's name, by which it is recognized at its port."""
        self.max_payload = 1024 * 1024
        """Maximum message size in bytes, from the next start on."""
        folder.mkdir(parents=True)
        self._program, self._port = _first_usable("nats-server", nats_programs(), self._try_program)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    def begin(self) -> None:
        """Start the server unless it runs, without waiting for it."""
        if self._process is None:
            self._process = self._begin(self._program, self._port)

    def start(self) -> None:
        """Start the server unless it runs, and wait until it responds. Raises ServerError."""
        self.begin()
        self._wait(self._port)

    def stop(self) -> None:
        """Stop the server gracefully. Return when it has ended."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """Kill the server. Return when it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def limit_files(self, *, full: bool) -> None:
        """Prevent the server from writing files, or allow it again."""
        if self._process is not None:
            self._process.limit_files(full=full)

    def detach(self) -> None:
        if self._process is not None:
            self._process.detach()

    def _try_program(self, program: Path) -> tuple[Path, int]:
        port = free_port()
        self._process = self._begin(program, port)
        self._wait(port)
        return program, port

    def _begin(self, program: Path, port: int) -> GuardedProcess:
        self._name = secrets.token_hex(8)
        settings = {
            "server_name": self._name,
            "listen": f"127.0.0.1:{port}",
            "max_payload": self.max_payload,
            # An acknowledged message survives a kill: tests rely on what production guarantees.
            "jetstream": {"store_dir": str(self.folder), "sync_interval": "always"},
        }
        configuration = self.folder / "nats.conf"
        configuration.write_text(json.dumps(settings))
        return GuardedProcess(
            [str(program), "-c", str(configuration)], session=self._session, folder=self.folder
        )

    def _wait(self, port: int) -> None:
        """Wait until the server responds. Raises ServerError."""
        assert self._process is not None
        try:
            self._process.wait_until(partial(nats_answers, port, self._name))
        except ServerError:
            self._process = None
            raise


class SessionServers:
    """The servers of a test run, found through the folder that all its processes share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._session: IO[bytes] | None = None

    @classmethod
    def open(cls) -> "SessionServers":
        """Begin a run and return its servers.

        Only the controlling process may call this. It must call `close`. If it dies, the servers stop, too.
        """
        folder = Path(tempfile.mkdtemp(prefix="ingot-test-", dir=_base_folder()))
        folder.chmod(0o711)  # PostgreSQL's account has to reach its own folder below
        servers = cls(folder)
        servers._session = (folder / SESSION_LOCK).open("ab")
        fcntl.flock(servers._session, fcntl.LOCK_EX)
        return servers

    def close(self) -> None:
        """Stop every server of the run and remove its folder."""
        if self._session is not None:
            keepers = open_keepers(self.folder)
            self._session.close()
            self._session = None
            wait_for_keepers(keepers)
            shutil.rmtree(self.folder, ignore_errors=True)

    def postgres(self) -> str:
        """Return the administrator's URL: `postgresql://…/postgres`."""
        return self._url("postgres", self._start_postgres).replace("postgresql+asyncpg://", "postgresql://")

    def redis(self) -> str:
        """Return the URL without a database number."""
        return self._url("redis", self._start_redis)

    def nats(self) -> str:
        return self._url("nats", self._start_nats)

    def s3(self) -> str:
        """Return `http://key:secret@host:port`. The first object that is stored creates its bucket."""
        return self._url("s3", self._start_s3)

    def own_nats(self) -> NatsServer:
        """Return a private nats-server. The caller must stop it."""
        return NatsServer(session=self.folder, folder=self.folder / f"nats-{secrets.token_hex(4)}")

    def _url(self, name: str, start: Callable[[], str]) -> str:
        url = os.environ.get(f"INGOT_TEST_{name.upper()}_URL")
        if url:
            return url
        with file_lock(self.folder / f"{name}.lock"):
            file = self.folder / f"{name}.url"
            failure = self.folder / f"{name}.failure"
            if failure.exists():
                raise ServerError(failure.read_text())
            if not file.exists():
                try:
                    started = start()
                except ServerError as error:
                    failure.write_text(str(error))
                    raise
                file.touch(mode=0o600)
                file.write_text(started)
            return file.read_text()

    def _start_nats(self) -> str:
        server = NatsServer(session=self.folder, folder=self.folder / "nats")
        server.detach()
        return server.url

    def _start_redis(self) -> str:
        folder = self.folder / "redis"
        folder.mkdir()
        return _first_usable("redis-server", redis_programs(), partial(self._try_redis, folder))

    def _try_redis(self, folder: Path, program: Path) -> str:
        port, password = free_port(), secrets.token_hex(16)
        configuration = folder / "redis.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(
            f"bind 127.0.0.1\nport {port}\nrequirepass {password}\ndatabases {REDIS_DATABASES}\n"
            f'dir {folder}\nsave ""\nappendonly no\n'
        )
        process = GuardedProcess([str(program), str(configuration)], session=self.folder, folder=folder)
        process.wait_until(partial(redis_answers, port, password))
        process.detach()
        return f"redis://:{password}@127.0.0.1:{port}"

    def _start_s3(self) -> str:
        folder = self.folder / "s3"
        folder.mkdir()
        return _first_usable("weed (SeaweedFS)", s3_programs(), partial(self._try_s3, folder))

    def _try_s3(self, folder: Path, program: Path) -> str:
        data = folder / secrets.token_hex(4)
        data.mkdir()
        key, secret = secrets.token_hex(10), secrets.token_hex(20)
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": key, "secretKey": secret}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
        configuration = folder / "identities.json"
        configuration.touch(mode=0o600)
        configuration.write_text(json.dumps({"identities": [identity]}))
        ports = {
            f"{part}.{kind}": free_port()
            for part in ("master", "volume", "filer", "s3")
            for kind in ("port", "port.grpc")
        }
        options = ports | {
            "dir": data,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.electionTimeout": "1s",
            "master.volumeSizeLimitMB": 128,
            "volume.max": 20,
            "s3": "true",
            "s3.config": configuration,
            "s3.autoCreateBucket": "true",
            "s3.iam": "false",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
        }
        process = GuardedProcess(
            [str(program), "server", *(f"-{name}={value}" for name, value in options.items())],
            session=self.folder,
            folder=folder,
            stop_signal=signal.SIGKILL,  # it would wait ten seconds for possible readers
        )
        process.wait_until(partial(s3_answers, ports["s3.port"]))
        process.detach()
        return f"http://{key}:{secret}@127.0.0.1:{ports['s3.port']}"

    def _start_postgres(self) -> str:
        owner = postgres_owner()
        programs = postgres_programs(self.folder / "postgres-programs", owner)
        return _first_usable("PostgreSQL", programs, partial(self._try_postgres, owner))

    def _try_postgres(self, owner: Owner | None, program: tuple[Path, int]) -> str:
        programs, version = program
        folder = self.folder / f"postgres-{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        port, password = free_port(), secrets.token_hex(16)
        secret = folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(password)
        if owner:
            for path in (folder, secret):
                os.chown(path, owner.user, owner.group)
        init_postgres(programs, version, folder, owner)
        data = folder / "data"
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(
                f"{name} = '{value}'\n" for name, value in (POSTGRES_SETTINGS | {"port": str(port)}).items()
            )
        process = GuardedProcess(
            [str(programs / "postgres"), "-D", str(data)],
            session=self.folder,
            folder=folder,
            owner=owner,
            stop_signal=signal.SIGQUIT,  # at once, without waiting for clients or writing a checkpoint
        )
        url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        process.wait_until(partial(postgres_answers, url))
        process.detach()
        return url


def _base_folder() -> Path:
    """Return the folder for a run's data.

    It is in memory if there is enough: copies of databases are 30 times faster there.
    """
    root = os.geteuid() == 0
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        state = os.statvfs(MEMORY)
        # Root may have to copy PostgreSQL's programs to the folder, and they must be executable there.
        runs_programs = not (root and state.f_flag & os.ST_NOEXEC)
        if runs_programs and state.f_bavail * state.f_frsize >= ENOUGH_MEMORY:
            return MEMORY
    folder = Path(tempfile.gettempdir()).resolve()
    if root and not all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents)):
        return Path(
            "/tmp"
        )  # the temporary folder may be private to root, and PostgreSQL does not run as root
    return folder


def _first_usable(name: str, programs: Iterable[Program], start: Callable[[Program], Server]) -> Server:
    """Start the first program that works and return its server. Raises ServerError.

    Each program is retried, because another process may take a free port.
    """
    failures: list[str] = []
    for program in programs:
        for _ in range(ATTEMPTS):
            try:
                return start(program)
            except (ServerError, OSError) as error:
                failures.append(f"{program}: {error}")
    tried = "\n".join(failures) or "none on PATH, and its wheel is not installed"
    raise ServerError(f"no usable {name}: {tried}")


def init_postgres(programs: Path, version: int, folder: Path, owner: Owner | None) -> None:
    # Text is compared by code point but folded as Unicode, wherever the tests run.
    locale = (
        ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if version >= 17
        else ["--locale=C.UTF-8"]
    )
    user, group = owner or (None, None)
    answer = subprocess.run(
        [
            str(programs / "initdb"),
            *("-D", str(folder / "data"), "-U", "postgres", "-E", "UTF8", *locale),
            *("--auth=password", f"--pwfile={folder / 'password'}", "--no-sync", "--no-instructions"),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        user=user,
        group=group,
        extra_groups=[] if owner else None,
    )
    if answer.returncode != 0:
        raise ServerError(f"initdb failed: {answer.stderr[-2000:]}")
