"""Run `ingot up` for development: fill the instance once, and restart it when a source changes.

``python tools/dev.py [--data DIR] [--port PORT] [--watch DIR …] [--no-seed]``. Ctrl-C ends it.
The data are in `.dev`, apart from those of `make run`.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
from seed import PASSWORD, SeedError, administrator, seed

TOP = Path(__file__).parent.parent
DATA = TOP / ".dev"
SOURCES = tuple(sorted(path for kind in ("libs", "services", "apps") for path in TOP.glob(f"{kind}/*/src")))
POLL_SECONDS, READY_SECONDS, END_SECONDS = 0.5, 60.0, 20.0


def stamps(folders: Sequence[Path]) -> dict[Path, int]:
    """Return the times of change of all files below ``folders``, without compiled ones."""
    times = {}
    for folder in folders:
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # deleted or replaced by an editor
                if path.suffix != ".pyc" and path.is_file():
                    times[path] = path.stat().st_mtime_ns
    return times


class Instance:
    """The process of `ingot up`."""

    def __init__(self, data: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        command = str(Path(sys.executable).with_name("ingot"))
        self._command = [command, "up", "--port", str(port), "--data", str(data)]
        self._environment = {
            "INGOT_ADMIN_PASSWORD": PASSWORD,
            "INGOT_DRAIN_SECONDS": "1",
            "INGOT_WEB_STYLEGUIDE": "true",
            # Cheap hashes of passwords: each request of `make seed` and `make shell` checks one.
            "INGOT_IDENTITY_PASSWORD_MEMORY_KIB": "64",
            "INGOT_IDENTITY_PASSWORD_ROUNDS": "1",
        } | os.environ
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, env=self._environment)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def fill(self) -> None:
        """Wait until it answers, then fill it."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        try:
            seed(self.url)
        except (SeedError, httpx.HTTPError) as error:
            print(f"the instance is not filled: {error}; try `make seed`", flush=True)
        name, password = administrator()
        print(f"sign in as {name} with {password!r}", flush=True)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}readyz").status_code == 200
        except httpx.TransportError:
            return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of all data (.dev)")
    parser.add_argument("--port", type=int, default=int(os.environ.get("INGOT_PORT") or 3000))
    parser.add_argument("--watch", type=Path, nargs="+", default=SOURCES, help="folders of sources")
    parser.add_argument("--no-seed", action="store_true", help="leave the instance empty")
    options = parser.parse_args()
    instance, before = Instance(options.data, options.port), stamps(options.watch)
    for number in (signal.SIGINT, signal.SIGTERM):  # shells start background jobs with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    instance.start()
    if not options.no_seed:
        threading.Thread(target=instance.fill, daemon=True).start()
    try:
        while True:
            time.sleep(POLL_SECONDS)
            if (now := stamps(options.watch)) != before:
                (first, _), *_ = now.items() ^ before.items()
                print(f"{os.path.relpath(first)} has changed: restarting", flush=True)
                instance.stop()
                before = now
                instance.start()
    except KeyboardInterrupt:
        print()
    finally:
        instance.stop()


if __name__ == "__main__":
    main()
