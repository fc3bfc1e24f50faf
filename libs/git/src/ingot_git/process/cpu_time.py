"""Measures and limits the CPU time of git processes.

Limits are fractions of a second, which RLIMIT_CPU does not support. So the CPU clock of the process is read
while git runs.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from ingot_git.process.errors import GitTooExpensive

CHECK_SECONDS = 0.05
"""Seconds between two reads of the clock."""
_START_SECONDS = 0.01
_TICKS = os.sysconf("SC_CLK_TCK")
_ALL_THREADS = 2
"""The kind of clock that counts the CPU time of a whole process."""


class CpuLimit(NamedTuple):
    """A limit of CPU seconds. If ``bytes_per_second`` is not 0, this many bytes of output add one second."""

    seconds: float
    bytes_per_second: int = 0

    def is_exceeded(self, pid: int, output: int) -> bool:
        """True if the process has used more CPU time than allowed. ``output`` is its output in bytes."""
        earned = output / self.bytes_per_second if self.bytes_per_second else 0.0
        return cpu_seconds(pid) > self.seconds + earned


class CpuBudget:
    """CPU seconds that the git processes of one operation share, one after the other.

    The start of a process is not charged, except by ``charge_whole``. Loops of the operation call
    ``require``.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = self._left = seconds
        self._read = time.thread_time()

    def is_exceeded(self, pid: int, _output: int) -> bool:
        """True if the running process has used more than the rest of the budget. Output adds no CPU time."""
        return cpu_seconds(pid) - _START_SECONDS > self._left

    def charge(self, pid: int) -> None:
        """Subtract the CPU time of a process, except its start. Call this before the process is reaped."""
        self._left -= max(0.0, cpu_seconds(pid) - _START_SECONDS)

    def charge_whole(self, pid: int) -> None:
        """Subtract the CPU time of a process, including its start. Call this before the process is reaped.

        The start is most of the CPU time of many short processes.
        """
        self._left -= cpu_seconds(pid)

    def require(self) -> None:
        """Charge the CPU time of this thread since the last call or the creation. Raises GitTooExpensive."""
        now = time.thread_time()
        self._left -= now - self._read
        self._read = now
        if self._left < 0:
            raise GitTooExpensive


READ = CpuLimit(0.35, bytes_per_second=32 * 1024 * 1024)
"""The limit of a read that answers a request."""


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process and its children in seconds; 0.0 after it was reaped.

    The time of ended children is counted in clock ticks (10 ms).
    """
    return _clock(pid) + _of_ended_children(pid) + sum(map(_clock, _children(pid)))


def _of_ended_children(pid: int) -> float:
    """Return `cutime` and `cstime` of proc(5), the times of ended children, in seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / _TICKS


def _clock(pid: int) -> float:
    """Return the CPU time of one process in seconds; 0.0 if it has ended (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime(~pid << 3 | _ALL_THREADS)
    except OSError:
        return 0.0


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split()]
    except OSError:
        return []
