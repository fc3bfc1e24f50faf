"""Runs a program and kills it when its parent dies: ``python parent_watchdog.py <descriptor> <program> …``.

The descriptor is the reading end of a pipe; only the parent has the writing end. When the parent dies, by any
signal, the pipe closes. Then this program kills its process group: the program and all its children. A
parent death signal (prctl(2)) would not reach the children. It would also be sent too early: when the thread
that requested it ends.
"""

import os
import select
import signal
import sys


def main(parent_pipe: int, program: list[str]) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # The whole group receives it, and the program decides when it ends.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writer)
    os.set_inheritable(parent_pipe, False)
    # Python ignores SIGPIPE; git must not.
    child = os.posix_spawnp(
        program[0],
        program,
        os.environ,
        setsigdef=[signal.SIGPIPE, signal.SIGCHLD, signal.SIGTERM],
    )
    # Close the copies of this process: the program must be able to close the last ones.
    os.close(0)
    os.close(1)
    while True:
        ready, _, _ = select.select([parent_pipe, reader], [], [])
        if parent_pipe in ready:
            os.killpg(0, signal.SIGKILL)
        os.read(reader, 512)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
