"""Errors as pages, with advice and the id of the request."""

from typing import Any

import structlog
from litestar import Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from ingot_chassis.errors import UNEXPECTED, ApiError, Denied, Invalid, NotFound, Unauthenticated
from ingot_chassis.http.methods import allowed, is_internal, route_methods
from ingot_chassis.peers.peers import Refusal
from ingot_chassis.telemetry import request_id
from ingot_web.forms.rules.addresses import page_of_form
from ingot_web.forms.rules.dangerous import NEW_PASSWORDS, PROOF_FIELDS, ProofRequired
from ingot_web.pages.api.request import WebRequest, retry_after

log = structlog.get_logger()

TITLES = {
    400: "That cannot be read",
    401: "Sign in first",
    403: "You may not do that",
    404: "There is no such page",
    405: "This page cannot do that",
    408: "That took too long",
    409: "That clashes with something",
    413: "That is too large",
    422: "That is not valid",
    429: "Too many requests",
    503: "Not available at the moment",
}


MISSING_PAGE = "missing_page"
"""The name of a function in the state of a request. It returns the page for a missing item."""


def error_page(
    request: WebRequest, status: int, message: str, error: ApiError | None = None
) -> Response[str]:
    """Return an error page. ``message`` is the text of the service.

    ``error`` may have a Retry-After header.
    """
    title = TITLES.get(status, "Something went wrong here")
    return request.render(
        "pages/error.html",
        status=status,
        error=error,
        title=title,
        problem=message,
        code=status,
        retry_after=retry_after(error) if error is not None else "",
        request_id=request_id(),
    )


def _api_error(request: WebRequest, error: ApiError) -> Response[Any]:
    if isinstance(error, Refusal) and "/api/v1/repos/" in error.location:
        return _moved(request, error.location)
    is_nobody = "principal" in request.scope and not request.principal.signed_in
    if error.status == Denied.status and request.method == "GET" and is_nobody:
        error = Unauthenticated("sign in to see this")
    if error.status == NotFound.status and request.method == "GET" and not request.wants_part:
        page = request.scope["state"].get(MISSING_PAGE)
        if page is not None:
            framed: Response[Any] = page()
            return framed
    return error_page(request, error.status, error.message, error)


def _proof_page(request: WebRequest, error: ProofRequired) -> Response[Any]:
    """Return the page that asks for a proof, and then sends the form again with the proof."""
    left_out = (*PROOF_FIELDS, *NEW_PASSWORDS, "old_password", "token")
    return request.render(
        "pages/proof.html",
        status=error.status,
        error=error,
        title="Confirm that it is you",
        problem=_words(error),
        ways=error.ways,
        fields=[pair for pair in error.form.pairs if pair[0] not in left_out],
        passwords={name: label for name, label in NEW_PASSWORDS.items() if error.form.has(name)},
    )


def _words(error: ProofRequired) -> str:
    if isinstance(error.refusal, Invalid):
        return "The password or the code is wrong."
    return error.message


def _moved(request: WebRequest, location: str) -> Response[bytes]:
    """Redirect to the page of the repository with its current name."""
    owner, name = location.split("/api/v1/repos/", 1)[1].split("?", maxsplit=1)[0].split("/")[:2]
    rest = request.rest(2)
    return request.redirect(f"/{owner}/{name}{'/' + rest if rest else ''}")


def _http_error(request: WebRequest, error: HTTPException) -> Response[str]:
    if error.status_code >= 500:
        return _crash(request, error)
    return error_page(request, error.status_code, "")


def _wrong_method(request: WebRequest, error: MethodNotAllowedException) -> Response[Any]:
    """Redirect a browser that opens the URL of a form to the page of the form.

    For other methods than GET, return an error page with the allowed methods in ``Allow``.
    """
    path = request.scope["path"]
    if is_internal(path):
        return error_page(request, 404, "")
    if request.method == "GET":
        return request.redirect(page_of_form(path, lambda above: _has_page(request, above)))
    page = error_page(request, error.status_code, "")
    page.headers["Allow"] = allowed(error)
    return page


def _has_page(request: WebRequest, path: str) -> bool:
    return "GET" in route_methods(request.app, path).split(", ")


def _crash(request: WebRequest, error: Exception) -> Response[str]:
    log.error("unexpected error", service="web", path=request.scope["path"], exc_info=error)
    return error_page(request, 500, UNEXPECTED)


handlers: dict[Any, Any] = {
    ProofRequired: _proof_page,
    ApiError: _api_error,
    NotFoundException: _http_error,
    MethodNotAllowedException: _wrong_method,
    HTTPException: _http_error,
    Exception: _crash,
}
