"""The real `ingot` command as a subprocess."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

INGOT = Path(sys.executable).with_name("ingot")
MAX_SECONDS = 180.0


def environment(**variables: str) -> dict[str, str]:
    """The environment of the tests without settings of Ingot, and with `variables`."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    return others | variables


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The one line on stderr, which explains exit code 2."""
        lines = self.err.splitlines()
        assert self.code == 2, (self.code, self.out, self.err)
        assert len(lines) == 1, self.err
        return lines[0]


def ingot(
    *arguments: str, stdin: str = "", command: tuple[str, ...] = (str(INGOT),), **variables: str
) -> CommandResult:
    """Run the command to its end."""
    done = subprocess.run(
        [*command, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(**variables),
        timeout=MAX_SECONDS,
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


class RunningIngot:
    """`ingot up` on a free port."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self._condition = threading.Condition()
        self.process = subprocess.Popen(
            [INGOT, "up", "--port", "0", "--data", folder, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(**variables),
        )
        threading.Thread(target=self._read_output, daemon=True).start()

    def wait_ready(self) -> Self:
        self.wait_line("Ingot is ready at ")
        return self

    def wait_line(self, start: str) -> str:
        """The first line that begins so, as soon as it is there."""
        deadline = time.monotonic() + MAX_SECONDS
        with self._condition:
            while True:
                matches = [line for line in self.lines if line.startswith(start)]
                if matches:
                    return matches[0]
                assert self.lines[-1:] != [""], f"it ended: {self.lines}"
                assert self._condition.wait(deadline - time.monotonic()), f"no {start!r} in {self.lines}"

    @property
    def url(self) -> str:
        return self.wait_line("Ingot is ready at ").split()[-1]

    @property
    def password(self) -> str:
        """The generated password of the first administrator."""
        match = re.search(r"password: (\S+)   \(shown only now\)", self.wait_line("Administrator"))
        assert match, self.lines
        return match[1]

    def sign_in_status(self, name: str, password: str) -> int:
        """The status of a request with that password."""
        return httpx.get(f"{self.url}api/v1/user", auth=(name, password), timeout=20).status_code

    def wait_status(self, status: int, name: str, password: str) -> None:
        """Return when such a request gets that status: the gateway remembers a sign-in for some seconds."""
        deadline = time.monotonic() + MAX_SECONDS
        while (last := self.sign_in_status(name, password)) != status:
            assert time.monotonic() < deadline, last
            time.sleep(0.05)

    def create_user(self, *, as_user: str, password: str, name: str) -> int:
        """The status of the answer."""
        new = {"username": name, "email": f"{name}@example.org", "password": "something"}
        url = f"{self.url}api/v1/admin/users"
        return httpx.post(url, auth=(as_user, password), json=new, timeout=20).status_code

    def get_as_administrator(self, path: str) -> list[dict[str, Any]]:
        """The list at that path of the API."""
        auth = ("root", self.password)
        url = f"{self.url}api/v1/{path}"
        return httpx.get(url, auth=auth, timeout=20).json()  # type: ignore[no-any-return]

    def children(self) -> set[int]:
        """The processes below this one."""
        return children_of(self.process.pid)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(MAX_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(MAX_SECONDS)

    def _read_output(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._add_line(line.rstrip("\n") or " ")
        self._add_line("")

    def _add_line(self, line: str) -> None:
        with self._condition:
            self.lines.append(line)
            self._condition.notify_all()


def children_of(pid: int) -> set[int]:
    """Every process below `pid`."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    children: set[int] = set()
    newest = {pid}
    while newest:
        newest = {child for child, parent in parents.items() if parent in newest}
        children |= newest
    return children


def wait_ended(pids: set[int]) -> None:
    """Return when none of these processes runs."""
    deadline = time.monotonic() + MAX_SECONDS
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still running: {pids}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
