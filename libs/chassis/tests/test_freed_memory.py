"""Buffers that come and go cost no new pages of memory."""

import ctypes
import subprocess
import sys

import pytest

ROUNDS = 50
FAULTS = """
import resource
from ingot_chassis.freed_memory import keep_freed_memory
{first}
def buffers():
    return [bytearray(512 * 1024) for _ in range(4)]
for _ in range(3):
    buffers()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({rounds}):
    buffers()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first):
    """Return how often the kernel gave the process a page for the buffers of all rounds."""
    script = FAULTS.format(first=first, rounds=ROUNDS)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has no mallopt")
def test_buffers_that_come_and_go_cost_no_new_pages():
    assert faults("") > 100 * ROUNDS
    assert faults("keep_freed_memory()") < 10 * ROUNDS
