"""isomorphic-git: git in JavaScript."""

from pathlib import Path

from ...installers import npm_packages
from ...program import Program, script

VERSION = "1.44.11"
PROGRAM = Program(
    name="isomorphic-git",
    version=VERSION,
    registry="npm",
    runs="clones, fetches, pushes and deletes over HTTP",
    install=npm_packages({"isomorphic-git": VERSION}),
    run=script("node", str(Path(__file__).parent / "script.mjs")),
)
