"""The action of Backstage that publishes the repository of a template."""

from pathlib import Path

from ...installers import npm_packages
from ...program import Program, script

VERSION = "0.2.25"
PROGRAM = Program(
    name="Backstage",
    version=VERSION,
    registry="npm",
    runs="its action `publish:gitea` for public, private and internal repositories",
    install=npm_packages({"@backstage/plugin-scaffolder-backend-module-gitea": VERSION}),
    run=script("node", str(Path(__file__).parent / "script.mjs")),
)
