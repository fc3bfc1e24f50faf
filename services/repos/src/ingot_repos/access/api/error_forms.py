"""Errors in the formats of the git and LFS protocols instead of the format of the API."""

from collections.abc import Callable

import msgspec
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

from ingot_chassis.errors import ErrorObject, Unauthenticated
from ingot_repos.settings import Settings

LFS = "application/vnd.git-lfs+json"
TEXT = "text/plain; charset=utf-8"


class LfsError(msgspec.Struct):
    """The body of an LFS error response."""

    message: str
    documentation_url: str


def sign_in_first(settings: Settings) -> Unauthenticated:
    """Return the error that makes git ask its user for a password.

    With ``git_clients_enabled``, the realm is ``Gitea``. Credential helpers recognize this realm, and open a
    browser for the login.
    """
    realm = "Gitea" if settings.git_clients_enabled else "Ingot"
    return Unauthenticated("sign in to do that", headers={"WWW-Authenticate": f'Basic realm="{realm}"'})


def for_lfs(app: ASGIApp) -> ASGIApp:
    """Return ``app`` with error responses in the format of the LFS protocol."""

    def as_object(error: ErrorObject) -> bytes:
        return msgspec.json.encode(LfsError(error.message, error.url))

    return _with_errors(app, LFS, as_object, {401: (b"lfs-authenticate", b'Basic realm="Ingot"')})


def for_git(app: ASGIApp) -> ASGIApp:
    """Return ``app`` with errors as plain text, because git shows only text to its user."""

    def as_text(error: ErrorObject) -> bytes:
        return f"{error.message}\n".encode()

    return _with_errors(app, TEXT, as_text, {})


def _with_errors(
    app: ASGIApp,
    media_type: str,
    encode: Callable[[ErrorObject], bytes],
    headers_by_status: dict[int, tuple[bytes, bytes]],
) -> ASGIApp:
    """Return ``app`` with each JSON error encoded by ``encode``. ``headers_by_status`` adds one header.

    The result is a function, not an object, because the framework copies objects.
    """

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
            if message.get("more_body", False):
                return
            content = encode(msgspec.json.decode(bytes(body), type=ErrorObject))
            replaced = (b"content-type", b"content-length")
            headers = [(name, value) for name, value in start["headers"] if name.lower() not in replaced]
            headers += [
                (b"content-type", media_type.encode()),
                (b"content-length", str(len(content)).encode()),
            ]
            if header := headers_by_status.get(start["status"]):
                headers.append(header)
            await send({**start, "headers": headers})
            await send({"type": "http.response.body", "body": content, "more_body": False})

        await app(scope, receive, send_translated)

    return handle


def _is_error_object(message: HTTPResponseStartEvent) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return message["status"] >= 400 and headers.get(b"content-type", b"").startswith(b"application/json")
