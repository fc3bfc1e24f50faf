"""Logs in a terminal, in a process of its own: structlog is imported once."""

import subprocess
import sys

PROGRAM = """
import sys
from ingot_chassis.telemetry import configure_logging
import structlog

configure_logging("info", readable=True)
token = "s3cret"
try:
    raise ValueError("what failed")
except ValueError:
    structlog.get_logger().exception("it failed")
print("rich" in sys.modules)
"""


def test_a_readable_log_has_the_traceback_without_values_of_variables_and_needs_no_rich():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert "Traceback" in done.stderr
    assert "ValueError: what failed" in done.stderr
    assert "'s3cret'" not in done.stderr
