"""Errors of LFS routes in the form and media type of its protocol, whatever raised them."""

import msgspec
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

from ingot_chassis.errors import ErrorObject

MEDIA_TYPE = "application/vnd.git-lfs+json"


class LfsError(msgspec.Struct):
    """The body of an error answer."""

    message: str
    documentation_url: str


def translate_errors(app: ASGIApp) -> ASGIApp:
    """A function, because the framework copies objects."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        start: HTTPResponseStartEvent | None = None
        body = bytearray()

        async def send_translated(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_error_object(message):
                start = message
                return
            if start is None or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_error(send, start, bytes(body))

        await app(scope, receive, send_translated)

    return handle


def _is_error_object(message: HTTPResponseStartEvent) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return message["status"] >= 400 and headers.get(b"content-type", b"").startswith(b"application/json")


async def _send_error(send: Send, start: HTTPResponseStartEvent, body: bytes) -> None:
    error = msgspec.json.decode(body, type=ErrorObject)
    content = msgspec.json.encode(LfsError(error.message, error.url))
    headers = [
        (name, value)
        for name, value in start["headers"]
        if name.lower() not in (b"content-type", b"content-length")
    ]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode())]
    if start["status"] == 401:
        headers.append((b"lfs-authenticate", b'Basic realm="Ingot"'))
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})
