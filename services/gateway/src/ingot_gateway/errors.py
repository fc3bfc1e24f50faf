"""Errors that only the gateway has, and the class that writes all errors."""

from typing import Literal
from urllib.parse import quote, urlencode

import msgspec
from litestar.types import HTTPResponseStartEvent, Message, Send

from ingot_chassis.errors import ApiError, ErrorObject
from ingot_chassis.telemetry import request_id
from ingot_contracts.web import PageFrame
from ingot_gateway.error_pages import HEADERS, error_page


class ClientTooSlow(ApiError):
    """The request did not arrive in time."""

    status = 408


class UrlTooLong(ApiError):
    """The URL is longer than the limit."""

    status = 414


class HeadersTooLarge(ApiError):
    """The request has too many headers, or they are larger than the limit."""

    status = 431


class BadGateway(ApiError):
    """A service behind this one gave no usable answer."""

    status = 502


class GatewayTimeout(ApiError):
    """A service behind this one did not answer in time."""

    status = 504


class LfsError(msgspec.Struct):
    """The body of an error for git-lfs."""

    message: str
    documentation_url: str


Reader = Literal["program", "git", "lfs", "browser"]


class ErrorWriter:
    """Writes errors as error objects, whose ``url`` is the API page, or in the formats of git and git-lfs.

    Browsers get a page.
    """

    def __init__(self, public_url: str, frame: PageFrame) -> None:
        self._page, self._frame = public_url.rstrip("/") + "/api/v1/swagger", frame

    def sign_in(self, path: str, query: bytes) -> str:
        """Return the URL of the sign-in page that redirects to ``path`` after the sign-in."""
        back = quote(path, safe="/") + (f"?{query.decode('latin-1')}" if query else "")
        return f"{self._frame.root}/login?{urlencode({'to': back}, safe='/')}"

    async def write(
        self, send: Send, error: ApiError, *, reader: Reader = "program", sign_in: str = ""
    ) -> None:
        """Send ``error`` as the response, which must not have begun, in the format of ``reader``.

        git gets plain text. ``sign_in`` is the URL of the sign-in page for a browser without a session, or
        empty.
        """
        if reader == "git":
            body, about = f"{error.message}\n".encode(), [(b"content-type", b"text/plain; charset=utf-8")]
        elif reader == "lfs":
            body = msgspec.json.encode(LfsError(error.message, self._page))
            about = [(b"content-type", b"application/vnd.git-lfs+json")]
        elif reader == "browser":
            about = HEADERS
            body = error_page(error, request_id(), self._frame, sign_in=sign_in)
        else:
            shown = ErrorObject(message=error.message, url=self._page, errors=error.errors)
            body, about = msgspec.json.encode(shown), [(b"content-type", b"application/json")]
        headers = [
            *about,
            (b"content-length", str(len(body)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ]
        await send({"type": "http.response.start", "status": error.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


class ErrorPages:
    """A ``send`` that forwards responses of a service to a browser. Error objects become pages."""

    def __init__(self, send: Send, errors: ErrorWriter, sign_in: str) -> None:
        self._send, self._errors, self._sign_in = send, errors, sign_in
        self._refusal: HTTPResponseStartEvent | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_error_object(message):
            self._refusal = message
        elif message["type"] == "http.response.body" and self._refusal is not None:
            self._body += message["body"]
            if not message.get("more_body", False):
                error = _error(self._refusal, self._body)
                await self._errors.write(self._send, error, reader="browser", sign_in=self._sign_in)
        else:
            await self._send(message)


def _is_error_object(start: HTTPResponseStartEvent) -> bool:
    kind = dict(start["headers"]).get(b"content-type", b"")
    return start["status"] >= 400 and kind.startswith(b"application/json")


def _error(start: HTTPResponseStartEvent, body: bytes) -> ApiError:
    """Return the error in a service's response, with its ``Retry-After`` if it has this header."""
    try:
        message = msgspec.json.decode(body, type=ErrorObject).message
    except msgspec.DecodeError:
        message = ""
    wait = dict(start["headers"]).get(b"retry-after", b"").decode("latin-1")
    error = ApiError(message or "the service refused", headers={"Retry-After": wait} if wait else None)
    error.status = start["status"]
    return error
