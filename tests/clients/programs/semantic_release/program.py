"""The plugin of semantic-release that publishes releases."""

from pathlib import Path

from ...installers import npm_packages
from ...program import Program, script

VERSION = "2.1.0"
PROGRAM = Program(
    name="semantic-release-gitea",
    version=VERSION,
    registry="npm",
    runs="verifies its access, publishes releases with and without assets",
    install=npm_packages({"@saithodev/semantic-release-gitea": VERSION}),
    run=script("node", str(Path(__file__).parent / "script.mjs")),
)
