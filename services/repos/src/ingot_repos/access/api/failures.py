"""API errors for failures of the storage. The cause is logged as an error for the operator."""

from ingot_chassis.errors import ApiError, InsufficientStorage, Invalid, NotFound, Unavailable
from ingot_chassis.http.error_responses import Translations
from ingot_git.process.errors import (
    GitFailed,
    HooksNotRun,
    RepositoryDamaged,
    RepositoryNotFound,
    RepositorySuspect,
    SigningFailed,
    StorageFull,
    UnsafeObject,
    UnwritableDate,
)

CHECK_SECONDS = 15
"""Seconds until git checks a repository in which a call of libgit2 did not return."""


class Damaged(ApiError):
    """The repository cannot be read or written. An administrator has to repair it."""


TRANSLATIONS: Translations = {
    RepositoryNotFound: lambda _error: NotFound(),  # it was deleted during the request
    RepositoryDamaged: lambda _error: Damaged(),
    RepositorySuspect: lambda _error: Unavailable(
        "the repository is being checked", retry_after=CHECK_SECONDS
    ),
    UnwritableDate: lambda _error: Invalid(
        "git cannot write the date of a commit as that of a mail, so there is no patch"
    ),
    UnsafeObject: lambda error: Invalid(f"{getattr(error, 'path', '')}: {error}"),
    GitFailed: lambda _error: Damaged(),
    HooksNotRun: lambda _error: Unavailable("pushes are refused, because their hooks do not run"),
    SigningFailed: lambda _error: Unavailable("the server cannot sign the commit"),
    StorageFull: lambda _error: InsufficientStorage(),
}
