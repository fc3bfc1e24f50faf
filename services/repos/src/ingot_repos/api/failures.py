"""What callers get when the storage fails. The log has the cause, as an error, for the operator."""

from ingot_chassis.errors import ApiError, InsufficientStorage, NotFound, Unavailable
from ingot_chassis.http.error_responses import Translations
from ingot_repos.git.errors import (
    GitFailed,
    HooksNotRun,
    RepositoryDamaged,
    RepositoryNotFound,
    RepositorySuspect,
    StorageFull,
)

CHECK_SECONDS = 15
"""After which git looks at a repository from which libgit2 did not come back."""


class Damaged(ApiError):
    """The repository cannot be read or written; an administrator has to look after it."""


TRANSLATIONS: Translations = {
    RepositoryNotFound: lambda _error: NotFound(),  # it was deleted meanwhile
    RepositoryDamaged: lambda _error: Damaged(),
    RepositorySuspect: lambda _error: Unavailable(
        "the repository is being checked", retry_after=CHECK_SECONDS
    ),
    GitFailed: lambda _error: Damaged(),
    HooksNotRun: lambda _error: Unavailable("pushes are refused, because their hooks do not run"),
    StorageFull: lambda _error: InsufficientStorage(),
}
