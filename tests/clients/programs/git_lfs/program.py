"""git-lfs, as the module of its end-to-end tests pins it."""

import sys
from pathlib import Path

from ...installers import go_program
from ...program import Program, script

HERE = Path(__file__).parent
MODULE = HERE.parents[2] / "e2e/transports/git_lfs"
PROGRAM = Program(
    name="git-lfs",
    version="3.8.1",
    registry="Go proxy",
    runs="pushes, clones, locks and unlocks by HTTP and SSH",
    install=go_program(MODULE, "github.com/git-lfs/git-lfs/v3"),
    run=script(sys.executable, str(HERE / "script.py"), "{folder}/program"),
)
