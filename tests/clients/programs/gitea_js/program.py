"""gitea-js: the client of the API in TypeScript."""

from pathlib import Path

from ...installers import npm_packages
from ...program import Program, script

VERSION = "1.23.0"
LEFT_OUT = {
    "admin.adminEditUser": "the number of repositories cannot be limited, so a limit is refused",
}
PROGRAM = Program(
    name="gitea-js",
    version=VERSION,
    registry="npm",
    runs="its methods: users, organizations, repositories, git, issues, pull requests, releases, wiki",
    install=npm_packages({"gitea-js": VERSION}),
    run=script("node", str(Path(__file__).parent / "script.mjs")),
    left_out=LEFT_OUT,
)
