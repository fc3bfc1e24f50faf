"""Runs a program for as long as the process that started it lives: ``python leash.py <descriptor> <program> …``.

The descriptor is the reading end of a pipe whose writing end only that process holds. When it dies, by whatever
signal, the pipe ends, and this kills its own process group: the program with all its children. A parent death
signal (prctl(2)) would reach neither the children nor outlive the thread that asked for it.
"""

import os
import select
import signal
import sys


def main(leash: int, program: list[str]) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer)
    os.set_inheritable(leash, False)
    # Python ignores these two signals; git shall not.
    child = os.posix_spawnp(
        program[0], program, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD]
    )
    # The program's ends are its own: it must be able to close them.
    os.close(0)
    os.close(1)
    while True:
        ready, _, _ = select.select([leash, reader], [], [])
        if leash in ready:
            os.killpg(0, signal.SIGKILL)
        os.read(reader, 512)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
