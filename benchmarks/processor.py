"""CPU time and memory of processes and their children, from their clocks and /proc."""

import os
import time
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
_ALL_THREADS = 2
"""The clock of a process that counts its CPU time (``CPUCLOCK_SCHED``)."""


def descendants(root: int) -> set[int]:
    """The children of ``root``, their children and so on, without ``root`` itself."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    pids: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), []):
            pids.add(pid)
            waiting.append(pid)
    return pids


def seconds(pids: set[int]) -> float:
    """User and system time of ``pids`` so far, with that of their ended children."""
    return sum(_own(pid) + sum(map(int, fields[13:15])) * TICK for pid in pids if (fields := _fields(pid)))


def _own(pid: int) -> float:
    """User and system time of one process. /proc has it in ticks of 10 ms: more than most calls cost.

    The clock id is computed as clock_getcpuclockid(3) does. Python has that function for threads only.
    """
    try:
        return time.clock_gettime(~pid << 3 | _ALL_THREADS)
    except OSError:  # it has ended
        return 0.0


def by_program(pids: set[int]) -> dict[str, float]:
    """User and system time by program, in seconds."""
    times: dict[str, float] = {}
    for pid in pids:
        program = _program(pid)
        times[program] = times.get(program, 0.0) + seconds({pid})
    return times


def resident(pids: set[int]) -> int:
    """Resident memory of ``pids`` in bytes. Shared memory is counted for each process."""
    return sum(int(fields[21]) for pid in pids if (fields := _fields(pid))) * os.sysconf("SC_PAGE_SIZE")


def proportional(pid: int) -> int:
    """Resident memory in bytes. Shared pages are divided among their processes (smaps_rollup)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def memory_by_program(pids: set[int]) -> dict[str, int]:
    """Proportional memory by program, in bytes."""
    sizes: dict[str, int] = {}
    for pid in pids:
        program = _program(pid)
        sizes[program] = sizes.get(program, 0) + proportional(pid)
    return sizes


def _program(pid: int) -> str:
    """Return the name of the service, or of the executable for other processes."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return "ended"
    module = next((argument for argument in arguments if argument.startswith("ingot_")), "")
    return module.removeprefix("ingot_") or Path(arguments[0].split(":")[0]).name or "ended"


def _fields(pid: int) -> list[str]:
    """The fields of ``stat`` from the third on. Empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
