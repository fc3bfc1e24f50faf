"""The errors of this package; callers map them to their own answers."""

from collections.abc import Sequence


class GitError(Exception):
    """Base of every error that this package raises on purpose."""


class RepositoryNotFound(GitError):
    """There is no repository with this id on this storage."""


class RepositoryExists(GitError):
    """A repository with this id is already on this storage."""


class InvalidName(GitError):
    """A ref name, path or object id is invalid in git; nothing was started."""


class RefNotFound(GitError):
    """No branch, tag or commit has this name."""


class ObjectNotFound(GitError):
    """The object, or the path inside a commit, does not exist or is of another kind."""


class RefMoved(GitError):
    """A ref did not have the expected value, or its name conflicts with another ref; nothing changed."""


class MergeConflict(GitError):
    """The two sides cannot be merged automatically.

    Args:
        paths: known paths in conflict; empty if the style of the merge does not allow this history.
        reason: one short sentence.
    """

    def __init__(self, paths: Sequence[str] = (), reason: str = "merge conflict") -> None:
        self.paths = tuple(paths)
        super().__init__(reason)


class RepositoryDamaged(GitError):
    """An object that a ref or another object refers to is missing or unreadable. The text names no path."""


class RepositorySuspect(GitError):
    """A process did not come back from the repository; it is read again when git has found it sound, mostly soon."""


class StorageFull(GitError):
    """The disk is full, or a quota or a limit of file sizes is reached."""


class HooksNotRun(GitError):
    """The storage lets no program run, so git would leave out the hooks that decide about pushes."""


class PackedByAnother(GitError):
    """Another process packs the repository."""


class BodyRefused(GitError):
    """A request body violates the protocol: bad gzip, bad pkt-line, or larger than the limit."""


class OutputTooLarge(GitError):
    """A git process wrote more than its caller allows; it was killed."""


class GitTimedOut(GitError):
    """A git process ran longer than its time limit; it was killed with its process group."""


class GitFailed(GitError):
    """A git process ended with a code that its caller did not expect.

    Args:
        exit_code: as of `Popen.returncode`; negative for a signal.
        stderr: without paths and credentials, short enough for a log line.
    """

    def __init__(self, exit_code: int, stderr: str) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        super().__init__(f"git ended with {exit_code}: {stderr}")
