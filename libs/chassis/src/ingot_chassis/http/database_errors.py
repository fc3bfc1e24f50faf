"""Responses to errors of the database."""

from sqlalchemy.exc import DBAPIError

from ingot_chassis.db.driver import is_away, is_full
from ingot_chassis.errors import UNEXPECTED, ApiError, DatabaseUnavailable, InsufficientStorage
from ingot_chassis.http.error_responses import Translations


def _meaning(error: Exception) -> ApiError:
    if is_away(error):
        return DatabaseUnavailable(repr(error.orig))
    return InsufficientStorage() if is_full(error) else ApiError(UNEXPECTED)


DATABASE_ERRORS: Translations = {DBAPIError: _meaning}
