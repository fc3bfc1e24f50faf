"""The check of logs: it sees every traceback, whatever form the log has, and none in what is expected."""

import subprocess
import sys

import pytest

from .checks import TROUBLE

PROGRAM = """
import logging, sys, traceback
import structlog
from ingot_chassis.telemetry import configure_logging

configure_logging(readable=sys.argv[1] == "console")
log = structlog.get_logger()
try:
    1 / 0
except ZeroDivisionError as error:
    log.warning("job failed", error=repr(error), where=traceback.format_exc(limit=-1))
    log.exception("first")
    logging.getLogger("library").exception("second")
    group = ExceptionGroup("both", [error, error])
try:
    raise group
except ExceptionGroup:
    log.exception("third")
1 / 0
"""


@pytest.mark.parametrize("form", ["console", "json"])
def test_every_traceback_in_a_log_is_trouble_and_nothing_else_is(form):
    run = subprocess.run([sys.executable, "-c", PROGRAM, form], capture_output=True, text=True, check=False)
    trouble = [line for line in run.stderr.splitlines() if TROUBLE.search(line)]
    assert len(trouble) == 4, run.stderr
    assert not any("job failed" in line for line in trouble), trouble
