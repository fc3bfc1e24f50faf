"""The commands that a client may run, spelled as by git and git-lfs. All others are rejected."""

import re
from typing import NamedTuple

_NAME = r"[A-Za-z0-9._-]{1,255}"
_PATH = rf"/?({_NAME})/({_NAME})/?"
_COMMAND = re.compile(
    rf"(git-upload-pack|git-receive-pack|git-upload-archive|git-lfs-authenticate) (?:'{_PATH}'|{_PATH})"
    r"(?: (download|upload))?"
)


class Command(NamedTuple):
    """A command of a client. ``name`` is without ``.git``. Only git-lfs-authenticate has an ``operation``."""

    program: str
    owner: str
    name: str
    operation: str = ""


def parse(text: str) -> Command | None:
    """Parse an exec request. Return None for other commands."""
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    program, operation = match[1], match[6] or ""
    if bool(operation) != (program == "git-lfs-authenticate"):
        return None
    owner, name = match[2] or match[4], match[3] or match[5]
    return Command(program, owner, name.removesuffix(".git"), operation)
