"""The oldest supported version of git, and its check."""

import re

from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import GitUnsupported

OLDEST = (2, 39)
"""git 2.38 added git-merge-tree(1) with merges, 2.39 many merges in one process (ADR 30)."""
_CURE = f"install git {OLDEST[0]}.{OLDEST[1]} or newer on the PATH of this process"
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")


def require_git() -> None:
    """Check the git on ``PATH``. Blocks.

    Raises:
        GitUnsupported: git is missing or too old. The text says what to install.
    """
    try:
        text = run_git(GitArgs("version"))
    except FileNotFoundError as error:
        raise GitUnsupported(f"git is not installed; {_CURE}") from error
    require_version(text)


def require_version(text: bytes) -> None:
    """Check the output of `git version`. Raises GitUnsupported."""
    version = _VERSION.match(text)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        shown = text.decode("ascii", "replace").strip()
        raise GitUnsupported(f"{shown!r} is too old; {_CURE}")
