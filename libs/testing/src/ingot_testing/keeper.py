"""Guards a server process of a test run, so the server never outlives the run.

Run it as a script: `keeper.py SESSION_LOCK FOLDER STOP_SIGNAL USER GROUP COMMAND...` (`-` for no user and
group).

The controlling pytest process holds an exclusive lock on SESSION_LOCK. The kernel releases it however that
process ends (normally, by Ctrl-C, by SIGKILL). The keeper then stops its server and removes the FOLDER of the
run. Only the keeper's own child gets signals, so a reused pid cannot be hit. SIGTERM stops the server
gracefully, SIGUSR1 kills it (tests use both).
"""

import contextlib
import fcntl
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

PATIENCE = 10.0


def keep(
    lock: Path, folder: Path, stop_signal: int, owner: tuple[int, int] | None, command: list[str]
) -> int:
    """Run the command until it ends, is stopped, or the test run is over. Return its exit code."""
    user, group = owner or (None, None)
    server: subprocess.Popen[bytes] | None = None
    request = 0
    run_is_over = threading.Event()

    def end(number: int, _frame: object = None) -> None:
        nonlocal request
        request = number
        if server is None:
            return  # it ended right after its start
        if number == signal.SIGUSR1:
            server.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            server.send_signal(stop_signal)
        patience = threading.Timer(PATIENCE, server.kill)
        patience.daemon = True
        patience.start()

    def stop_with_the_run() -> None:
        with lock.open("rb") as session:
            fcntl.flock(session, fcntl.LOCK_SH)
            run_is_over.set()
            end(signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGUSR1, end)
    # Drop extra groups together with privileges: otherwise root's groups would stay.
    server = subprocess.Popen(command, user=user, group=group, extra_groups=[] if owner else None, cwd=folder)
    if request:
        end(request)
    threading.Thread(target=stop_with_the_run, daemon=True).start()
    code = server.wait()
    if run_is_over.is_set():
        shutil.rmtree(lock.parent, ignore_errors=True)
    return code


def main() -> None:
    lock, folder, stop_signal, user, group, *command = sys.argv[1:]
    owner = None if user == "-" else (int(user), int(group))
    sys.exit(abs(keep(Path(lock), Path(folder), int(stop_signal), owner, command)))


if __name__ == "__main__":
    main()
