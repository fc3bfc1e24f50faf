"""The errors of this package. Callers map them to their own responses."""

from collections.abc import Sequence


class GitError(Exception):
    """Base of every error that this package raises on purpose."""


class ClientDisconnected(GitError):
    """The connection of a client ended before its request did."""


class RepositoryNotFound(GitError):
    """The storage has no repository with this id."""


class RepositoryExists(GitError):
    """The storage already has a repository with this id."""


class InvalidName(GitError):
    """A ref name, path or object id is not valid in git. Nothing was started."""


class RefNotFound(GitError):
    """No branch, tag or commit has this name."""


class ObjectNotFound(GitError):
    """The object, or the path in a commit, does not exist or has another type."""


class RefMoved(GitError):
    """A ref has another value than expected, or its name conflicts with another ref. Nothing changed."""


class MergeConflict(GitError):
    """The two sides cannot be merged automatically.

    Args:
        paths: known paths in conflict; empty if the merge method does not support this history.
        reason: one short sentence.
    """

    def __init__(self, paths: Sequence[str] = (), reason: str = "merge conflict") -> None:
        self.paths = tuple(paths)
        super().__init__(reason)


class MergeTooExpensive(MergeConflict):
    """git could not merge the two sides within its limits, so they may conflict or not."""

    def __init__(self) -> None:
        super().__init__(
            reason="the merge takes more computing time than allowed; merge in a clone and push the result"
        )


class SigningFailed(GitError):
    """The server could not sign a commit or tag, so it was not made."""


class UnsafeObject(GitError):
    """git would reject this new object in a push. Nothing was written.

    ``path`` is the file of the object; the text is the reason.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        super().__init__(text)


class RepositoryDamaged(GitError):
    """An object is missing or unreadable although a ref or another object needs it. The text has no path."""


class RepositorySuspect(GitError):
    """A process died while it read the repository. It is readable again after git has checked it."""


class StorageFull(GitError):
    """The disk is full, or a quota or a limit of file sizes is reached."""


class GitUnsupported(GitError):
    """git is not installed, or too old."""


class HooksNotRun(GitError):
    """The storage does not allow programs to run, so git would skip the hooks that check pushes."""


class PackedByAnother(GitError):
    """Another process is packing the repository."""


class BodyRefused(GitError):
    """A request body violates the protocol: bad gzip, bad pkt-line, or larger than the limit."""


class OutputTooLarge(GitError):
    """A git process wrote more output than allowed and was killed."""


class GitTimedOut(GitError):
    """A git process exceeded its time limit. It was killed with its process group."""


class GitTooExpensive(GitTimedOut):
    """A git process exceeded its CPU time limit. It was killed with its process group."""

    def __init__(self) -> None:
        super().__init__("git used more CPU time than allowed")


class UnwritableDate(GitError):
    """A commit has a date that git-format-patch(1) refuses: before 1970 in its time zone, or too large."""


class GitFailed(GitError):
    """A git process ended with an unexpected exit code.

    Args:
        exit_code: as `Popen.returncode`; negative for a signal.
        stderr: without paths and credentials, short enough for a log line.
    """

    def __init__(self, exit_code: int, stderr: str) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        super().__init__(f"git ended with exit code {exit_code}: {stderr}")
