"""The process that serves repositories for the SSH server: reached over a socket, or an app in this process.

A request and its response are streamed in parallel: git answers before the client has sent everything.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Protocol, Self
from urllib.parse import unquote

from ingot_chassis.peers.asgi import AsgiApp, http_scope
from ingot_wire.client import read_rest
from ingot_wire.client_connection import Body
from ingot_wire.framing import Headers


class UpstreamAnswer(Protocol):
    """The response of a process: a status, and a body that is read in parts.

    Leaving the block ends the request.
    """

    status: int

    async def read_part(self) -> tuple[bytes, bool]: ...
    async def read(self) -> bytes: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...


class Upstream(Protocol):
    """A process that serves repositories. Raises ConnectionError if it does not answer."""

    async def request(self, method: str, target: bytes, headers: Headers, body: Body) -> UpstreamAnswer: ...


class AppUpstream:
    """An app in this process. It is called like over HTTP, but without a socket."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._running = set[asyncio.Task[None]]()

    async def request(self, method: str, target: bytes, headers: Headers, body: Body) -> UpstreamAnswer:
        raw_path, _, query = target.partition(b"?")
        framing = [] if isinstance(body, bytes) else [(b"transfer-encoding", b"chunked")]
        scope = http_scope(
            method,
            path=unquote(raw_path.decode()),
            raw_path=raw_path,
            query=query,
            headers=[*headers, *framing],
        )
        answer = AppAnswer(body)
        # The app ends by itself when the client has left: a push must still be announced.
        task = asyncio.create_task(answer.run(self._app, scope), name="a request of the SSH server")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await answer.begun()
        except BaseException:  # the answer will not be read, and the app must not wait for a reader
            answer.leave()
            raise
        return answer


class AppAnswer:
    """The response of an app in this process. At most one part of it is buffered."""

    def __init__(self, body: Body) -> None:
        self.status = 0
        self._body = aiter(_once(body) if isinstance(body, bytes) else body)
        self._is_read = self._is_left = False
        self._parts = asyncio.Queue[tuple[bytes, bool]](1)
        self._begun, self._left = asyncio.Event(), asyncio.Event()

    async def run(self, app: AsgiApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._begun.set()
            if not self._is_left:
                await self._parts.put((b"", False))

    async def begun(self) -> None:
        """Wait until the status is known. Raises ConnectionError."""
        await self._begun.wait()
        if not self.status:
            raise ConnectionError("the service sent no answer")

    async def read_part(self) -> tuple[bytes, bool]:
        """Return the next bytes of the body, and True if more follow."""
        return await self._parts.get()

    async def read(self) -> bytes:
        """Return the rest of the body."""
        return await read_rest(self.read_part)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Stop reading the response. The app runs to its end without a reader."""
        self._is_left = True
        self._left.set()
        while not self._parts.empty():
            self._parts.get_nowait()

    async def _receive(self) -> dict[str, Any]:
        if not self._is_read:
            reading = asyncio.ensure_future(anext(self._body, None))
            leaving = asyncio.create_task(self._left.wait())
            try:
                await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    chunk = reading.result()
                    self._is_read = chunk is None
                    return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}
            except ConnectionError:
                return {"type": "http.disconnect"}
            finally:
                reading.cancel()
                leaving.cancel()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._begun.set()
        elif not self._is_left:
            await self._parts.put((message.get("body", b""), message.get("more_body", False)))


async def _once(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data
