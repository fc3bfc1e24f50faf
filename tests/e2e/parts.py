"""One process of a deployment: started, waited for, stopped, killed, halted, and kept from its disk."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import httpx

from ingot_testing.processes import limit_files

PATIENCE = 150.0
LOG_SHOWN = 20_000


class Part:
    """One process, its log, and the URL at which it says that it is ready."""

    def __init__(self, command: Iterable[str], variables: Mapping[str, str], *, url: str, log: Path) -> None:
        self.url = url
        self._command, self._log = list(command), log
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
        self._environment = environment | dict(variables)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> int:
        """Its id. It must have been started."""
        assert self._process is not None
        return self._process.pid

    def beside(self, variables: Mapping[str, str], *, url: str, command: str = "") -> "Part":
        """Another process of the same, which is somewhere else. It may run another command of the service."""
        words = [*self._command[:-1], command] if command else self._command
        return Part(words, self._environment | dict(variables), url=url, log=self._log)

    def begin(self) -> None:
        """Start it without waiting."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        with httpx.Client(timeout=5) as client:  # one for all tries: a new one costs 50 ms of the processor
            while True:
                assert self._process is not None
                assert self._process.poll() is None, (
                    f"{self._log.stem} ended while starting:\n{self.log_end()}"
                )
                try:
                    if client.get(f"{self.url}readyz").status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                assert time.monotonic() < deadline, f"{self._log.stem} does not answer:\n{self.log_end()}"
                time.sleep(0.02)

    def wait_done(self) -> None:
        """For a process that ends by itself."""
        assert self._process is not None
        assert self._process.wait(PATIENCE) == 0, f"{self._log.stem} failed:\n{self.log_end()}"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def limit_files(self, *, full: bool) -> None:
        if self._process is not None:
            limit_files(self._process.pid, full=full)

    def stop(self) -> int:
        """Its exit code; negative for a signal."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def output_of(self, *arguments: str) -> str:
        """Return the output of another command with this process's settings. Raises CalledProcessError."""
        command = [*self._command[:3], *arguments]
        return subprocess.run(
            command, env=self._environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    def log_end(self) -> str:
        return self._log.read_text(errors="replace")[-LOG_SHOWN:]
