"""py-gitea: objects of Python for the API."""

import sys
from pathlib import Path

from ...installers import python_packages
from ...program import Program, script

VERSION = "0.2.10"
NOT_SERVED = "Ingot does not serve this operation"
PROGRAM = Program(
    name="py-gitea",
    version=VERSION,
    registry="PyPI",
    runs="users, organizations, teams, repositories, branches, files, issues, milestones",
    # 0.3.3 needs Python 3.13.
    install=python_packages(f"py-gitea=={VERSION}"),
    run=script(sys.executable, str(Path(__file__).parent / "script.py")),
    left_out={"the heatmap of a user": NOT_SERVED},
)
