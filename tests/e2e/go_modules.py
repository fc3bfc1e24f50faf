"""The Go tool-chain, in a module that pins the version of a program to build."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def go(module: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it in the folder of a module."""
    # Without C, of which none is needed: to compile it takes as long as a tenth of the rest.
    environment = os.environ | {"CGO_ENABLED": "0"}
    return subprocess.run(
        ["go", *arguments], cwd=module, env=environment, capture_output=True, text=True, check=False
    )


def require_modules(module: Path, program: str) -> None:
    """Skip the test without Go, or where the modules of the program cannot be fetched."""
    if shutil.which("go") is None:
        pytest.skip("there is no Go on PATH")
    if go(module, "mod", "download").returncode != 0:
        pytest.skip(f"the Go modules of {program} cannot be fetched")
