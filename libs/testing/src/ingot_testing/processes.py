"""Starts a server process under a keeper, and waits until it answers."""

import contextlib
import fcntl
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

KEEPER = Path(__file__).with_name("keeper.py")
SESSION_LOCK = "session.lock"
# Below the ports that systems assign to connections: such a connection could take a port while a server
# starts.
PORTS = range(20_000, 32_000)
PATIENCE = 30.0
RETRY = 0.01


class ServerError(RuntimeError):
    """A server could not be found or started."""


class Owner(NamedTuple):
    """The account for a server that refuses to run as root."""

    user: int
    group: int


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Lock a file against the other processes of the test run."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def free_port() -> int:
    """Return a loopback port that is reserved for this process among all test processes."""
    while True:
        port = secrets.choice(PORTS)
        if port not in _taken_ports and _take(port):
            _taken_ports.add(port)
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port


_taken_ports: set[int] = set()


@cache
def _port_locks() -> int:
    """Return the descriptor of a file with a byte per port.

    It stays open until the process ends, because closing it releases all locks.
    """
    path = Path(tempfile.gettempdir(), f"ingot-test-ports-{os.getuid()}")
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _take(port: int) -> bool:
    try:
        fcntl.lockf(_port_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


class GuardedProcess:
    """One server process with its keeper. It ends with the test run whose folder is `session`."""

    def __init__(
        self,
        command: list[str],
        *,
        session: Path,
        folder: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
        owner: Owner | None = None,
    ) -> None:
        self.log = folder.with_name(f"{folder.name}.log")
        user, group = owner or ("-", "-")
        lock = str(session / SESSION_LOCK)
        arguments = [lock, str(folder), str(int(stop_signal)), str(user), str(group), *command]
        # The keeper alone has the lock on the alive file: the end of the run waits for it.
        with folder.with_name(f"{folder.name}.alive").open("ab") as alive, self.log.open("ab") as log:
            fcntl.flock(alive, fcntl.LOCK_EX)
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests; the servers end after the run
                pass_fds=(alive.fileno(),),
            )

    def wait_until(self, answers: Callable[[], bool]) -> None:
        """Retry the connection until the server answers.

        Raises:
            ServerError: the server ended, or did not answer in time. The message has the end of its log.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._keeper.poll() is not None:
                raise ServerError(f"the server ended while starting:\n{self.log_end()}")
            try:
                if answers():
                    return
            except OSError:
                pass
            if time.monotonic() > deadline:
                self.stop()
                raise ServerError(f"no answer within {PATIENCE:.0f} s:\n{self.log_end()}")
            time.sleep(RETRY)

    def log_end(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """Stop the server gracefully."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server, as a power failure would."""
        self._end(signal.SIGUSR1)

    def processes(self) -> list[int]:
        """Return the ids of the server and of all its child processes."""
        children = _children()
        processes = children.get(self._keeper.pid, [])
        for process in processes:
            processes += children.get(process, [])
        return processes

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and to all its child processes."""
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def limit_files(self, *, full: bool) -> None:
        """Limit files of the server and all its child processes, like the function `limit_files`."""
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                limit_files(process, full=full)

    def detach(self) -> None:
        """Keep the server running until the test run ends, because a worker may end before the others."""
        self._keeper.returncode = 0

    def _end(self, request: signal.Signals) -> None:
        self._keeper.send_signal(request)
        self._keeper.wait()


def limit_files(process: int, *, full: bool) -> None:
    """Limit the size of files to 0, or remove the limit. For a process the limit looks like a full disk."""
    most = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process, resource.RLIMIT_FSIZE, (0 if full else most, most))


def _children() -> dict[int, list[int]]:
    """Return the children of each process on this machine."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of the program is in brackets, and may contain spaces.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    return children


def open_keepers(session: Path) -> list[int]:
    """Return handles for `wait_for_keepers`.

    Call this before the session lock is released, because keepers then remove the files.
    """
    return [os.open(alive, os.O_RDWR) for alive in session.glob("*.alive")]


def wait_for_keepers(keepers: list[int]) -> None:
    """Wait until every server of the run has ended. The session lock must have been released."""
    deadline = time.monotonic() + PATIENCE
    for keeper in keepers:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(RETRY)
        os.close(keeper)
