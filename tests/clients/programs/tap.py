"""Checks of a script in Python, reported as lines of TAP."""

import contextlib
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator

URL, USER, PASSWORD, TOKEN = (os.environ[f"INGOT_{name}"] for name in ("URL", "USER", "PASSWORD", "TOKEN"))
SSH_PORT = os.environ["INGOT_SSH_PORT"]


@contextlib.contextmanager
def check(name: str) -> Iterator[None]:
    """Report the block as one check."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever fails is one failed check
        traceback.print_exc(file=sys.stderr)
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, subprocess.CalledProcessError):
            text = f"{text}: {error.stderr}"
        print(f"not ok - {name} # {' '.join(text.split())}", flush=True)
    else:
        print(f"ok - {name}", flush=True)


def run(*command: str, folder: str = ".", **variables: str) -> str:
    """Run a command and return its output."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return ended.stdout
