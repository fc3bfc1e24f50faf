"""Processor time of processes and of all that they started, out of /proc."""

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def below(root: int) -> set[int]:
    """The processes that ``root`` started, and those that they started, without ``root`` itself."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), []):
            found.add(pid)
            waiting.append(pid)
    return found


def seconds(pids: set[int]) -> float:
    """User and system time of ``pids`` so far, with that of their children that have ended."""
    return sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _fields(pid))) * TICK


def by_program(pids: set[int]) -> dict[str, float]:
    """The same, by what the processes run."""
    found: dict[str, float] = {}
    for pid in pids:
        program = _program(pid)
        found[program] = found.get(program, 0.0) + seconds({pid})
    return found


def resident(pids: set[int]) -> int:
    """Resident memory of ``pids`` in bytes; what they share is counted each time."""
    return sum(int(fields[21]) for pid in pids if (fields := _fields(pid))) * os.sysconf("SC_PAGE_SIZE")


def _program(pid: int) -> str:
    """A service by its name, anything else by the name of its program."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    module = next((argument for argument in arguments if argument.startswith("ingot_")), "")
    return module.removeprefix("ingot_") or Path(arguments[0].split(":")[0]).name or "gone"


def _fields(pid: int) -> list[str]:
    """The fields of ``stat`` from the third on; empty when the process has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
