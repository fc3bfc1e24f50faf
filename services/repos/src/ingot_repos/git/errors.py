"""What can go wrong in the git room, as exceptions that callers map to their own answers."""

from collections.abc import Sequence


class GitError(Exception):
    """Base of every error this room raises on purpose."""


class RepositoryNotFound(GitError):
    """There is no repository with this id on this storage."""


class RepositoryExists(GitError):
    """A repository with this id is already on this storage."""


class InvalidName(GitError):
    """A ref name, path or object id is not one that git could hold; nothing was started."""


class RefNotFound(GitError):
    """No branch, tag or commit bears this name."""


class ObjectNotFound(GitError):
    """The object, or the path inside a commit, does not exist or is not of the asked kind."""


class RefMoved(GitError):
    """A ref did not hold the expected value, or its name is in the way of another; nothing changed."""


class MergeConflict(GitError):
    """The two sides cannot be joined by themselves.

    Args:
        paths: paths in conflict, as far as known; empty when it is the history that does not fit.
        reason: one short sentence.
    """

    def __init__(self, paths: Sequence[str] = (), reason: str = "merge conflict") -> None:
        self.paths = tuple(paths)
        super().__init__(reason)


class RepositoryDamaged(GitError):
    """What a ref or another object leads to is missing on disk, or cannot be read. The text names no path."""


class StorageFull(GitError):
    """The disk, a quota or a limit of file sizes leaves no room for what was to be written."""


class BodyRefused(GitError):
    """A request body is not what the protocol allows: bad gzip, bad pkt-line, or larger than the bound."""


class OutputTooLarge(GitError):
    """A git process wrote more than its caller was ready to hold; it was killed."""


class GitTimedOut(GitError):
    """A git process ran longer than its time limit; it was killed with its group."""


class GitFailed(GitError):
    """A git process ended with a code that its caller did not expect.

    Args:
        exit_code: as of `Popen.returncode`; negative for a signal.
        stderr: scrubbed of paths and credentials, short enough for a log line.
    """

    def __init__(self, exit_code: int, stderr: str) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        super().__init__(f"git ended with {exit_code}: {stderr}")
