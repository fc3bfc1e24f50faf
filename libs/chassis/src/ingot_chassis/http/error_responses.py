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

from ingot_chassis.errors import (
    UNEXPECTED,
    ApiError,
    DatabaseUnavailable,
    ErrorObject,
    FieldError,
    InsufficientStorage,
)
from ingot_chassis.http.methods import allowed, is_internal

log = structlog.get_logger()

NO_OPERATION = "no such operation"
"""Of a path that no route has. What a route does not find, or does not show, is "Not found."."""
LONGEST_MESSAGE = 300
_PATH = re.compile(r"\s*- at `\$?\.?([^`]*)`\s*$")
_WRONG_TYPE = re.compile(r"^Expected `[^`]+`, got ")


Translations = Mapping[type[Exception], Callable[[Exception], ApiError]]
"""What failures below the handlers mean to a caller. They are logged as errors, unless the database is away."""


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

    def api_error(request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
        _log_away(service, request, error)
        return answer(error.status, error.message, error.errors, error.headers)

    def validation(request: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
        items: list[Any] = [item for item in error.extra or [] if isinstance(item, dict)]
        field_errors = [_field_error(item) for item in items]
        # One in the query beside one in the path makes Litestar name the query; a field of the body is neither.
        if any(item.get("key") in request.path_params and item.get("source") != "body" for item in items):
            return answer(404, "Not found.")
        wrong_type = field_errors and all(e.code == "type" for e in field_errors)
        return answer(400 if wrong_type else 422, _summary(field_errors), field_errors)

    def out_of_range(request: Request[Any, Any, Any], error: OverflowError) -> Response[bytes]:
        log.warning("out of range", service=service, path=request.scope["path"], error=str(error))
        return answer(422, "A number or a time is out of range.")

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
        **dict.fromkeys(translations, _failing(service, translations, api_error)),
        ValidationException: validation,
        **_routing_handlers(answer),
        ClientException: http,
        HTTPException: http,
        Exception: crash,
    }


def _routing_handlers(answer: Callable[..., Response[bytes]]) -> dict[Any, Any]:
    """What is answered where no handler is: no route for the path, or none for the method."""

    def no_route(_request: Request[Any, Any, Any], error: NotFoundException) -> Response[bytes]:
        # Any other cause is a path parameter that names nothing, such as the id `x`; the operation is there.
        route_missing = isinstance(error.__cause__, NotFoundException | None)
        return answer(404, NO_OPERATION if route_missing else "Not found.")

    def wrong_method(request: Request[Any, Any, Any], error: MethodNotAllowedException) -> Response[bytes]:
        if is_internal(request.scope["path"]):
            return answer(404, NO_OPERATION)
        methods = allowed(error)
        return answer(405, f"this path has no such method; it has {methods}", headers={"Allow": methods})

    return {NotFoundException: no_route, MethodNotAllowedException: wrong_method}


def _log_away(service: str, request: Request[Any, Any, Any], error: ApiError) -> None:
    if isinstance(error, DatabaseUnavailable):
        log.warning("database away", service=service, path=request.scope["path"], reason=error.reason)


def _summary(errors: list[FieldError]) -> str:
    return "; ".join(f"{error.field}: {error.message}" for error in errors) or "The request is not valid."


def _failing(service: str, translations: Translations, render: Callable[..., Response[bytes]]) -> Any:
    def failure(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        meaning = next(translations[kind](error) for kind in type(error).__mro__ if kind in translations)
        if isinstance(meaning, InsufficientStorage):
            log.error("request failed", service=service, path=request.scope["path"], error=repr(error))
        elif not isinstance(meaning, DatabaseUnavailable):
            log.error("request failed", service=service, path=request.scope["path"], exc_info=error)
        return render(request, meaning)

    return failure


def _field_error(item: dict[str, Any]) -> FieldError:
    """One message of msgspec, with the path of the field taken out of its text."""
    text = str(item.get("message", ""))
    path = _PATH.search(text)
    field = str(item.get("key", ""))
    if path:
        text = text[: path.start()]
        field = path.group(1).removeprefix("data.") or field
    if len(text) > LONGEST_MESSAGE:  # it quotes what was sent
        text = f"{text[:LONGEST_MESSAGE]}…"
    missing = re.match(r"^Object missing required field `([^`]+)`$", text)
    if missing:
        prefix = "" if field in ("data", "") else f"{field}."
        return FieldError(prefix + missing.group(1), "required", "is required")
    if field == "data":
        field = "body"
    return FieldError(field, "type" if _WRONG_TYPE.match(text) else "invalid", text)
