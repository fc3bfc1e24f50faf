"""pygit2: libgit2 as a client."""

import sys
from importlib.metadata import version
from pathlib import Path

from ...installers import present
from ...program import Program, script

PROGRAM = Program(
    name="pygit2",
    version=version("pygit2"),
    registry="PyPI",
    runs="clones, fetches, pushes and deletes over HTTP",
    install=present,
    run=script(sys.executable, str(Path(__file__).parent / "script.py")),
)
