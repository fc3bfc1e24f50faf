"""Log lines: batched in a loop, and at once for warnings or without a loop."""

import asyncio
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from ingot_chassis.telemetry import LogLines


class Written(BytesIO):
    """A file that remembers each write of its own."""

    def __init__(self):
        super().__init__()
        self.parts = []
        self.event = asyncio.Event()

    def write(self, data):
        self.parts.append(bytes(data))
        self.event.set()
        return len(data)


async def test_lines_of_a_busy_moment_are_one_write():
    file = Written()
    lines = LogLines(file)
    for line in (b"a", b"b", b"c"):
        lines.info(line)
    assert file.parts == []
    await asyncio.wait_for(file.event.wait(), 5)
    assert file.parts == [b"a\nb\nc\n"]


@pytest.mark.parametrize("level", ["warning", "error", "critical"])
async def test_a_warning_is_written_at_once_with_what_waits(level):
    file = Written()
    lines = LogLines(file)
    lines.info(b"a")
    getattr(lines, level)(b"b")
    assert file.parts == [b"a\nb\n"]


def test_a_line_outside_of_a_loop_is_written_at_once():
    file = Written()
    LogLines(file).info(b"a")
    assert file.parts == [b"a\n"]


def test_a_loop_that_ended_before_it_wrote_keeps_no_line_back():
    file = Written()
    lines = LogLines(file)

    async def write(line):
        lines.info(line)

    asyncio.run(write(b"a"))
    lines.info(b"b")
    assert file.parts == [b"a\nb\n"]


@pytest.mark.parametrize("level", ["info", "warning"])
def test_what_runs_goes_on_when_the_log_is_on_a_full_disk(level):
    with Path("/dev/full").open("ab", buffering=0) as full:
        lines = LogLines(full)
        getattr(lines, level)(b"a")
        getattr(lines, level)(b"b")


READABLE_LOG = """
from ingot_chassis.telemetry import configure_logging
import structlog

configure_logging("info", readable=True)
token = "s3cret"
try:
    raise ValueError("what failed")
except ValueError:
    structlog.get_logger().exception("it failed")
"""


def test_a_readable_log_has_the_traceback_without_values_of_variables():
    done = subprocess.run([sys.executable, "-c", READABLE_LOG], capture_output=True, text=True, check=True)
    assert "Traceback" in done.stderr
    assert "ValueError: what failed" in done.stderr
    assert "'s3cret'" not in done.stderr
