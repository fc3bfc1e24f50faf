"""What callers get when the storage fails. The log has the cause, as an error, for the operator."""

from ingot_chassis.errors import ApiError, InsufficientStorage
from ingot_chassis.http.error_responses import Translations
from ingot_repos.git.errors import GitFailed, RepositoryDamaged, StorageFull


class Damaged(ApiError):
    """The repository cannot be read or written; an administrator has to look after it."""


TRANSLATIONS: Translations = {
    RepositoryDamaged: lambda _error: Damaged(),
    GitFailed: lambda _error: Damaged(),
    StorageFull: lambda _error: InsufficientStorage(),
}
