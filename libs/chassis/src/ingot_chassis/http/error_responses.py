"""Error responses: the error object for all exceptions, unless the route declares otherwise.

Two options of a route change them. ``bodiless`` lists statuses of errors without a body, and
``error_statuses`` replaces statuses, such as ``{422: 400}``. A check is a GET route with status 204: its 404
has no body.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

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
from litestar.handlers import HTTPRouteHandler

from ingot_chassis.errors import (
    NO_OPERATION,
    REASON_HEADER,
    UNEXPECTED,
    ApiError,
    DatabaseUnavailable,
    ErrorObject,
    FieldError,
    InsufficientStorage,
)
from ingot_chassis.http.methods import allowed, is_internal

log = structlog.get_logger()

LONGEST_MESSAGE = 300
_SAFE_IN_HEADERS = "".join(char for char in map(chr, range(0x20, 0x7F)) if char != "%")
_PATH = re.compile(r"\s*- at `\$?\.?([^`]*)`\s*$")
_NO_WEB_URL = "Expected `str` matching regex '^(https?://"
_WRONG_TYPE = re.compile(r"^Expected `[^`]+`, got ")


Translations = Mapping[type[Exception], Callable[[Exception], ApiError]]
"""Exception types to responses. They are logged as errors, unless the database is unavailable."""


def exception_handlers(service: str, public_url: str, translations: Translations) -> dict[Any, Any]:
    """Return Litestar's exception handlers of a service.

    ``url`` in the error object is the page of the API.
    """
    answer = _renderer(public_url.rstrip("/") + "/api/v1/swagger")

    def api_error(request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
        _log_unavailable(service, request, error)
        return answer(request, error.status, error.message, error.errors, error.headers)

    def validation(request: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
        items: list[Any] = [item for item in error.extra or [] if isinstance(item, dict)]
        field_errors = [_field_error(item) for item in items]
        # If a parameter of the query is wrong next to one of the path, Litestar names the query. Fields of
        # the body are neither.
        if any(item.get("key") in request.path_params and item.get("source") != "body" for item in items):
            return answer(request, 404, "Not found.")
        return answer(request, 422, _summary(field_errors), field_errors)

    def out_of_range(request: Request[Any, Any, Any], error: OverflowError) -> Response[bytes]:
        log.warning("out of range", service=service, path=request.scope["path"], error=str(error))
        return answer(request, 422, "A number or a time is out of range.")

    def http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if error.status_code >= 500:
            return crash(request, error)
        # Litestar's own 400 is for a form that cannot be parsed.
        status = 422 if error.status_code == 400 else error.status_code
        text = "The body is too large." if status == 413 else error.detail
        return answer(request, status, text or "The request cannot be served.")

    def crash(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        log.error("unexpected error", service=service, path=request.scope["path"], exc_info=error)
        return answer(request, 500, UNEXPECTED)

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


def bodiless_statuses(handler: HTTPRouteHandler) -> set[int]:
    """Return the statuses of errors for which this route returns no body."""
    is_check = handler.status_code == 204 and "GET" in handler.http_methods
    return {*handler.opt.get("bodiless", ()), *((404,) if is_check else ())}


def _renderer(page: str) -> Callable[..., Response[bytes]]:
    """Return the function that renders the response of an error. ``page`` is the URL in the error object."""

    def answer(
        request: Request[Any, Any, Any],
        status: int,
        message: str,
        errors: list[FieldError] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response[bytes]:
        handler = request.scope.get("route_handler")
        if isinstance(handler, HTTPRouteHandler):
            status = handler.opt.get("error_statuses", {}).get(status, status)
            if status in bodiless_statuses(handler):
                reason = {REASON_HEADER: quote(message[:LONGEST_MESSAGE], safe=_SAFE_IN_HEADERS)}
                return Response(
                    b"", status_code=status, headers={**(headers or {}), **reason}, media_type="text/plain"
                )
        body = msgspec.json.encode(ErrorObject(message=message, url=page, errors=errors or []))
        return Response(body, status_code=status, headers=headers, media_type="application/json")

    return answer


def _routing_handlers(answer: Callable[..., Response[bytes]]) -> dict[Any, Any]:
    """Return handlers of requests without a route: no route for the path, or none for the method."""

    def no_route(request: Request[Any, Any, Any], error: NotFoundException) -> Response[bytes]:
        # Any other cause is an invalid path parameter, such as the id `x`. The operation exists.
        route_missing = isinstance(error.__cause__, NotFoundException | None)
        return answer(request, 404, NO_OPERATION if route_missing else "Not found.")

    def wrong_method(request: Request[Any, Any, Any], error: MethodNotAllowedException) -> Response[bytes]:
        if is_internal(request.scope["path"]):
            return answer(request, 404, NO_OPERATION)
        methods = allowed(error)
        message = f"this path has no such method; it has {methods}"
        return answer(request, 405, message, headers={"Allow": methods})

    return {NotFoundException: no_route, MethodNotAllowedException: wrong_method}


def _log_unavailable(service: str, request: Request[Any, Any, Any], error: ApiError) -> None:
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
    """Parse a message of msgspec into a field error. The message contains the path of the field."""
    text = str(item.get("message", ""))
    path = _PATH.search(text)
    field = str(item.get("key", ""))
    if path:
        text = text[: path.start()]
        field = path.group(1).removeprefix("data.") or field
    if text.startswith(_NO_WEB_URL):
        text = "must be an address that begins with http:// or https://, without a user name"
    if len(text) > LONGEST_MESSAGE:  # it quotes the request
        text = f"{text[:LONGEST_MESSAGE]}…"
    missing = re.match(r"^Object missing required field `([^`]+)`$", text)
    if missing:
        prefix = "" if field in ("data", "") else f"{field}."
        return FieldError(prefix + missing.group(1), "required", "is required")
    if field == "data":
        field = "body"
    return FieldError(field, "type" if _WRONG_TYPE.match(text) else "invalid", text)
