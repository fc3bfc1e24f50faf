"""CPU time of a process and of those that it has started."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """User and system time of a process, of the processes below it, and of their children that have ended."""
    stats = {int(folder.name): _stat(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit()}
    included, waiting = set[int](), [root]
    while waiting:
        parent = waiting.pop()
        included.add(parent)
        waiting += [pid for pid, fields in stats.items() if fields and int(fields[1]) == parent]
    return sum(sum(map(int, stats[pid][11:15])) for pid in included if stats.get(pid)) / TICKS


def _stat(folder: Path) -> list[str]:
    """The fields of ``stat`` from the third on (proc(5)); empty when the process has ended."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
