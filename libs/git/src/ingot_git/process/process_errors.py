"""Derives errors from the exit code and stderr of failed git processes."""

import re
import signal
from pathlib import Path

from ingot_git.process.disk import says_full
from ingot_git.process.errors import GitFailed, StorageFull

MAX_STDERR = 4096
_CREDENTIALS = re.compile(r"://[^/\s@]*@")
_CONTROL = re.compile(r"[^\x20-\x7e]+")
_OWN_LINE = re.compile("(error|fatal): (?!invalid |remote |unable to parse remote )")
"""Excludes messages that end in text from a remote; all others end in text of git or the system."""
_KILLED_CHILD = f" died of signal {int(signal.SIGXFSZ)}"
_UNWRITTEN_LOCK = re.compile(r": couldn't write '[^']+\.lock'$")
"""The message for a failed write of a ref lock; git gives no reason.

No ref name contains a colon or a space.
"""


def git_failure(exit_code: int, stderr: bytes, git_dir: Path | None) -> GitFailed | StorageFull:
    """Return the error for a git process whose exit code is not 0."""
    lines = stderr.decode("ascii", "replace").splitlines()
    if exit_code == -signal.SIGXFSZ or any(_OWN_LINE.match(line) and _is_full(line) for line in lines):
        return StorageFull("the disk is full")
    return GitFailed(exit_code, scrub(stderr, git_dir))


def scrub(stderr: bytes, git_dir: Path | None = None) -> str:
    """Return git's stderr for the log: printable ASCII without credentials and storage path.

    Only the last ``MAX_STDERR`` bytes are used.
    """
    text = stderr[-MAX_STDERR:].decode("ascii", "replace")
    if git_dir is not None:
        text = text.replace(str(git_dir).rstrip("/"), "<repository>")
    return _CONTROL.sub(" ", _CREDENTIALS.sub("://***@", text)).strip()


def _is_full(line: str) -> bool:
    return says_full(line) or line.endswith(_KILLED_CHILD) or _UNWRITTEN_LOCK.search(line) is not None
