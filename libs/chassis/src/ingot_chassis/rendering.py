"""How errors look on the wire: always the error object, whatever raised them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import (
    ClientException,
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from sqlalchemy.exc import DBAPIError

from ingot_chassis.errors import ApiError, ErrorObject, FieldError, InsufficientStorage

log = structlog.get_logger()

UNEXPECTED = "Something went wrong here; the log has the details."
# SQLite and PostgreSQL, each in its own words (sqlite.org/rescode.html, PostgreSQL's error 53100).
DATABASE_FULL = ("database or disk is full", "No space left on device", "could not extend file")
_PATH = re.compile(r"\s*- at `\$?\.?([^`]*)`\s*$")
_WRONG_TYPE = re.compile(r"^Expected `[^`]+`, got ")


Translations = Mapping[type[Exception], Callable[[Exception], ApiError]]
"""What failures below the handlers mean to a caller. They are logged as errors, whatever is answered."""


def exception_handlers(service: str, public_url: str, translations: Translations) -> dict[Any, Any]:
    """Litestar exception handlers of a service. ``url`` in the error object is the page of the API."""
    page = public_url.rstrip("/") + "/api/v1/swagger"

    def answer(
        status: int,
        message: str,
        errors: list[FieldError] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response[bytes]:
        body = msgspec.json.encode(ErrorObject(message=message, url=page, errors=errors or []))
        return Response(body, status_code=status, headers=headers, media_type="application/json")

    def api_error(_request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
        return answer(error.status, error.message, error.errors, error.headers)

    def validation(request: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
        items: list[Any] = [item for item in error.extra or [] if isinstance(item, dict)]
        found = [_field_error(item) for item in items]
        # One in the query beside one in the path makes Litestar name the query; a field of the body is neither.
        if any(item.get("key") in request.path_params and item.get("source") != "body" for item in items):
            return answer(404, "Not found.")
        wrong_type = found and all(e.code == "type" for e in found)
        return answer(400 if wrong_type else 422, _summary(found), found)

    def out_of_range(request: Request[Any, Any, Any], error: OverflowError) -> Response[bytes]:
        log.warning("out of range", service=service, path=request.scope["path"], error=str(error))
        return answer(422, "A number or a time is out of range.")

    def not_found(_request: Request[Any, Any, Any], _error: HTTPException) -> Response[bytes]:
        return answer(404, "Not found.")

    def http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if error.status_code >= 500:
            return crash(request, error)
        return answer(error.status_code, error.detail or "The request cannot be served.")

    def crash(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        log.error("unexpected error", service=service, path=request.scope["path"], exc_info=error)
        return answer(500, UNEXPECTED)

    return {
        ApiError: api_error,
        OverflowError: out_of_range,
        **dict.fromkeys((DBAPIError, *translations), _failing(service, translations, api_error)),
        ValidationException: validation,
        NotFoundException: not_found,
        MethodNotAllowedException: not_found,
        ClientException: http,
        HTTPException: http,
        Exception: crash,
    }


def _summary(errors: list[FieldError]) -> str:
    return "; ".join(f"{error.field}: {error.message}" for error in errors) or "The request is not valid."


def _failing(service: str, translations: Translations, render: Callable[..., Response[bytes]]) -> Any:
    def failure(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        log.error("request failed", service=service, path=request.scope["path"], exc_info=error)
        return render(request, _meaning(error, translations))

    return failure


def _meaning(error: Exception, translations: Translations) -> ApiError:
    if isinstance(error, DBAPIError):
        full = any(words in str(error.orig) for words in DATABASE_FULL)
        return InsufficientStorage() if full else ApiError(UNEXPECTED)
    return next(translations[kind](error) for kind in type(error).__mro__ if kind in translations)


def _field_error(item: dict[str, Any]) -> FieldError:
    """One message of msgspec, with the path of the field taken out of its text."""
    text = str(item.get("message", ""))
    found = _PATH.search(text)
    field = str(item.get("key", ""))
    if found:
        text = text[: found.start()]
        field = found.group(1).removeprefix("data.") or field
    missing = re.match(r"^Object missing required field `([^`]+)`$", text)
    if missing:
        prefix = "" if field in ("data", "") else f"{field}."
        return FieldError(prefix + missing.group(1), "required", "is required")
    if field == "data":
        field = "body"
    return FieldError(field, "type" if _WRONG_TYPE.match(text) else "invalid", text)
