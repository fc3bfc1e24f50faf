"""The writer of archives: its size, whatever the number of files."""

import hashlib
import time
from pathlib import Path

from ingot_remotes.archives.archive import open_archive
from ingot_remotes.archives.layout import file_path
from ingot_remotes.archives.writer import ArchiveWriter

READS = 200
MOST = 20
"""Limit of the ratio of costs with 3,000 files and with 10. A sum over all files costs 300 times as much."""


def write(path: Path, count: int) -> ArchiveWriter:
    writer = ArchiveWriter(path)
    for number in range(count):
        with writer.open(file_path(hashlib.sha256(str(number).encode()).hexdigest())) as entry:
            entry.write(b"four")
    return writer


def cost(work) -> float:
    """Return the least CPU seconds of five runs."""
    costs = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(READS):
            work()
        costs.append(time.process_time() - began)
    return min(costs)


def test_the_size_and_the_paths_cost_the_same_for_any_number_of_files(tmp_path):
    sizes, paths = [], []
    for count in (10, 3_000):
        path = tmp_path / f"{count}.zip"
        writer = write(path, count)
        assert writer.size == 4 * count
        sizes.append(cost(lambda writer=writer: writer.size))
        writer.discard()
        with open_archive(path) as archive:
            assert len(archive.paths()) == count
            paths.append(cost(archive.paths))
    assert sizes[1] < MOST * sizes[0]
    assert paths[1] < MOST * paths[0]
