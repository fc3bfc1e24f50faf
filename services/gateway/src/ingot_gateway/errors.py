"""Errors that only a door has, and the one way it writes any error."""

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
    """The request headers are more or larger than the limit."""

    status = 431


class ErrorWriter:
    """Writes the error object, with the page of the API as its ``url``."""

    def __init__(self, public_url: str) -> None:
        self._page = public_url.rstrip("/") + "/api/v1/swagger"

    async def write(self, send: Send, error: ApiError) -> None:
        """Answer with ``error``; nothing may have been sent before."""
        body = msgspec.json.encode(ErrorObject(message=error.message, url=self._page, errors=error.errors))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ]
        await send({"type": "http.response.start", "status": error.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})
