"""py-gitea: objects of Python for the API."""

import sys
from pathlib import Path

from ...installers import python_packages
from ...program import Program, script

VERSION = "0.2.10"
PROGRAM = Program(
    name="py-gitea",
    version=VERSION,
    registry="PyPI",
    runs="users, organizations, teams, repositories, branches, files, issues, milestones",
    # 0.3.3 needs Python 3.13.
    install=python_packages(f"py-gitea=={VERSION}"),
    run=script(sys.executable, str(Path(__file__).parent / "script.py")),
    left_out={
        "times": "a defect of py-gitea: it builds the URL from an owner that its issues do not have",
        "members of an organization": "a defect of py-gitea: it takes the answer 204 for a failure",
    },
)
