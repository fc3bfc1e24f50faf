"""The git of this machine."""

import subprocess
import sys
from pathlib import Path

from ...installers import command
from ...program import Program, script


def version() -> str:
    """The version of git that this machine has."""
    try:
        return subprocess.run(
            ["git", "--version"], capture_output=True, text=True, check=True
        ).stdout.split()[2]
    except FileNotFoundError:
        return "—"


PROGRAM = Program(
    name="git",
    version=version(),
    registry="the system's",
    runs="clones (whole, shallow, partial, mirror), fetches, pushes, tags, by HTTP and SSH",
    install=command("git"),
    run=script(sys.executable, str(Path(__file__).parent / "script.py")),
)
