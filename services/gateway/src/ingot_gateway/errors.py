"""Errors that only the gateway has, and the one way in which it writes any error."""

from typing import Literal
from urllib.parse import urlsplit

import msgspec
from litestar.types import Send

from ingot_chassis.errors import ApiError, ErrorObject
from ingot_chassis.telemetry import request_id
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


class LfsError(msgspec.Struct):
    """The body of an error for git-lfs."""

    message: str
    documentation_url: str


Reader = Literal["program", "git", "lfs", "browser"]


class ErrorWriter:
    """Writes the error object, with the page of the API as its ``url``; to git and git-lfs, what they show; to a browser, a page."""

    def __init__(self, public_url: str, site_name: str) -> None:
        self._page = public_url.rstrip("/") + "/api/v1/swagger"
        self._root, self._site_name = urlsplit(public_url).path.rstrip("/"), site_name

    async def write(self, send: Send, error: ApiError, *, reader: Reader = "program") -> None:
        """Answer with ``error``; nothing may have been sent before. git shows its user plain text alone."""
        if reader == "git":
            body, about = f"{error.message}\n".encode(), [(b"content-type", b"text/plain; charset=utf-8")]
        elif reader == "lfs":
            body = msgspec.json.encode(LfsError(error.message, self._page))
            about = [(b"content-type", b"application/vnd.git-lfs+json")]
        elif reader == "browser":
            about = HEADERS
            body = error_page(error, request_id(), root=self._root, site_name=self._site_name)
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
