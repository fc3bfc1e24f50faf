"""Errors that clients see, and the error that an operator sees as one line.

Code below the API raises them. ``http.error_responses`` turns them into the error object, in one place.
"""

from collections.abc import Mapping, Sequence

import msgspec

UNEXPECTED = "Something went wrong here; the log has the details."
NO_OPERATION = "no such operation"
"""Message for a path without a route.

A route that does not find, or hides, an object returns "Not found.".
"""
REASON_HEADER = "X-Error-Message"
"""Header with the message of an error response without a body. Its UTF-8 is percent-encoded."""


class FieldError(msgspec.Struct, frozen=True):
    """An error of one field: ``code`` for programs, ``message`` for people."""

    field: str
    code: str
    message: str


class ErrorObject(msgspec.Struct, omit_defaults=True):
    """The body of every error response. ``errors`` is set for 422."""

    message: str
    url: str
    errors: list[FieldError] = []


class ApiError(Exception):
    """An error response.

    Subclasses fix the status; the first line of their docstring is the default message.
    """

    status = 500

    def __init__(
        self,
        message: str = "",
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message or type(self).__name__)
        self.message = message or (self.__doc__ or "").strip().split("\n", 1)[0]
        self.errors = list(errors)
        self.headers = dict(headers or {})


class Moved(ApiError):
    """The resource has moved; the Location header has its URL.

    A method other than GET is to be repeated unchanged (RFC 9110, 15.4.8).
    """

    def __init__(self, location: str, *, method: str) -> None:
        super().__init__(headers={"Location": location})
        self.status = 302 if method == "GET" else 307


class BadRequest(ApiError):
    """The request cannot be read."""

    status = 400


class Unauthenticated(ApiError):
    """Sign in first."""

    status = 401


class Denied(ApiError):
    """You may not do that."""

    status = 403


class NotFound(ApiError):
    """Not found."""

    status = 404


class NotAllowed(ApiError):
    """The state of the resource does not allow that."""

    status = 405


class Conflict(ApiError):
    """That clashes with something that exists."""

    status = 409


class TooLarge(ApiError):
    """The request is larger than the limit."""

    status = 413


class Invalid(ApiError):
    """A field is not acceptable. Raise with ``Invalid.field("name", "taken", "…")``."""

    status = 422

    @classmethod
    def field(cls, field: str, code: str, message: str) -> "Invalid":
        return cls(f"{field}: {message}", errors=[FieldError(field, code, message)])


class TooManyRequests(ApiError):
    """Too many requests; try again later."""

    status = 429


class Unavailable(ApiError):
    """Not available at the moment; try again. ``retry_after`` in seconds."""

    status = 503

    def __init__(self, message: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class DatabaseUnavailable(Unavailable):
    """The database does not answer; try again. ``reason`` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__("the database does not answer", retry_after=2)
        self.reason = reason


class InsufficientStorage(ApiError):
    """There is no room to store that; an administrator has to make some."""

    status = 507


class CannotStart(Exception):
    """An error for the operator: one line with the cure. The process ends with code 2."""


class DatabaseNewer(CannotStart):
    """The database was migrated by a newer release than this one."""
