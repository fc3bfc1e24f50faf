"""dulwich: git in Python."""

import sys
from pathlib import Path

from ...installers import python_packages
from ...program import Program, script

VERSION = "1.2.21"
PROGRAM = Program(
    name="dulwich",
    version=VERSION,
    registry="PyPI",
    runs="clones, fetches, pushes and deletes over HTTP",
    install=python_packages(f"dulwich=={VERSION}"),
    run=script(sys.executable, str(Path(__file__).parent / "script.py")),
)
