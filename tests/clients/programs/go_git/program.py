"""go-git: git in Go."""

from pathlib import Path

from ...installers import go_program
from ...program import Program, script

PROGRAM = Program(
    name="go-git",
    version="5.19.3",
    registry="Go proxy",
    runs="clones, fetches, pushes and deletes over HTTP and SSH",
    install=go_program(Path(__file__).parent, "."),
    run=script("{folder}/program"),
)
