"""Errors that only the gateway has, and the one way in which it writes any error."""

import msgspec
from litestar.types import Send

from ingot_chassis.errors import ApiError, ErrorObject


class ClientTooSlow(ApiError):
    """The request did not arrive in time."""

    status = 408


class UrlTooLong(ApiError):
    """The URL is longer than the limit."""

    status = 414


class HeadersTooLarge(ApiError):
    """The request has too many headers, or they are larger than the limit."""

    status = 431


class ErrorWriter:
    """Writes the error object, with the page of the API as its ``url``."""

    def __init__(self, public_url: str) -> None:
        self._page = public_url.rstrip("/") + "/api/v1/swagger"

    async def write(self, send: Send, error: ApiError, *, to_git: bool = False) -> None:
        """Answer with ``error``; nothing may have been sent before. git shows its user plain text alone."""
        if to_git:
            body, content_type = f"{error.message}\n".encode(), b"text/plain; charset=utf-8"
        else:
            shown = ErrorObject(message=error.message, url=self._page, errors=error.errors)
            body, content_type = msgspec.json.encode(shown), b"application/json"
        headers = [
            (b"content-type", content_type),
            (b"content-length", str(len(body)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ]
        await send({"type": "http.response.start", "status": error.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})
