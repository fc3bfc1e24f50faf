"""The errors of git processes that failed, as far as what they wrote to stderr says why."""

import re
import signal
from pathlib import Path

from ingot_repos.git.disk import says_full
from ingot_repos.git.errors import GitFailed, StorageFull

MAX_STDERR = 4096
_CREDENTIALS = re.compile(r"://[^/\s@]*@")
_CONTROL = re.compile(r"[^\x20-\x7e]+")
_OWN_LINE = re.compile("(error|fatal): (?!invalid |remote |unable to parse remote )")
"""These texts of git end in words of a remote, where others end in words of git or of the system."""
_KILLED_CHILD = f" died of signal {int(signal.SIGXFSZ)}"
_UNWRITTEN_LOCK = re.compile(r": couldn't write '[^']+\.lock'$")
"""Of the lock of a ref git does not say why. No ref has a colon or a space in its name."""


def git_failure(exit_code: int, stderr: bytes, git_dir: Path | None) -> GitFailed | StorageFull:
    """The error for a git process that ended with another code than 0."""
    lines = stderr.decode("ascii", "replace").splitlines()
    if exit_code == -signal.SIGXFSZ or any(_OWN_LINE.match(line) and _is_full(line) for line in lines):
        return StorageFull("the disk is full")
    return GitFailed(exit_code, scrub(stderr, git_dir))


def scrub(stderr: bytes, git_dir: Path | None = None) -> str:
    """Git's stderr for the log: without credentials and storage path, printable ASCII, bounded."""
    text = stderr[-MAX_STDERR:].decode("ascii", "replace")
    if git_dir is not None:
        text = text.replace(str(git_dir).rstrip("/"), "<repository>")
    return _CONTROL.sub(" ", _CREDENTIALS.sub("://***@", text)).strip()


def _is_full(line: str) -> bool:
    return says_full(line) or line.endswith(_KILLED_CHILD) or _UNWRITTEN_LOCK.search(line) is not None
