"""Git over HTTP: the two requests of a client, streamed both ways between the socket and git.

Raw ASGI, because an answer begins while its request is still being read.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import structlog
from litestar import asgi
from litestar.types import Receive, Scope, Send

from ingot_chassis.errors import ApiError, BadRequest, Denied, NotFound, Unauthenticated, Unavailable
from ingot_chassis.policy import anyone
from ingot_repos.api.call import Call, Found
from ingot_repos.git.errors import BodyRefused, GitError, RepositoryNotFound
from ingot_repos.git.smart_http import Service, advertise, inflate, read_push_commands, serve

log = structlog.get_logger()

MAX_INFLATED = 64 * 1024 * 1024
NEVER_CACHED = ((b"cache-control", b"no-cache, max-age=0, must-revalidate"), (b"pragma", b"no-cache"))
ASK_FOR_PASSWORD = {"WWW-Authenticate": 'Basic realm="Ingot"'}


class ClientGone(GitError):
    """The connection ended before the request did."""


class Exchange:
    """One request of a git client and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.request = Call(scope, receive=receive, send=send)
        self._receive, self._send = receive, send
        self.body_ended = asyncio.Event()

    @property
    def method(self) -> str:
        return str(self.request.scope["method"])

    @property
    def is_gzip(self) -> bool:
        return self.request.headers.get("content-encoding", "").lower() in ("gzip", "x-gzip")

    async def found(self, service: Service) -> Found:
        """The repository of the path, for fetching or pushing.

        Anonymous callers are asked for a password whenever something is missing, so nothing shows what exists.
        """
        writing = service == "git-receive-pack"
        request = self.request
        params = request.path_params
        name = str(params["repo"]).removesuffix(".git")
        if request.who.signed_in and not request.who.may(f"{'write' if writing else 'read'}:repository"):
            raise Denied("the token lacks the scope for that")
        try:
            if writing:
                found = await request.writable(str(params["owner"]), name)
            else:
                found = await request.repository(str(params["owner"]), name)
        except (NotFound, Denied, Unauthenticated):
            if request.who.signed_in:
                raise
            raise Unauthenticated("sign in to do that", headers=ASK_FOR_PASSWORD) from None
        if writing and found.row.mirror:
            raise Denied("a mirror takes no pushes")
        if found.row.state == "failed":
            raise NotFound("the fork failed; delete it")
        if found.row.state != "ready":
            raise Unavailable("the fork is not ready yet")
        return found

    async def body(self) -> AsyncIterator[bytes]:
        """The request body as it comes. Raises ClientGone."""
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGone("the client went away")
            if message["body"]:
                yield message["body"]
            if not message.get("more_body"):
                self.body_ended.set()
                return

    async def gone(self) -> None:
        """Return when the client goes away after its request was read."""
        await self.body_ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            continue

    async def start(self, media_type: str) -> None:
        headers = [(b"content-type", media_type.encode()), *NEVER_CACHED]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, chunk: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": more})


@asgi("/{owner:str}/{repo:str}/info/refs", policy=anyone(), copy_scope=False)
async def info_refs(scope: Scope, receive: Receive, send: Send) -> None:
    """What refs there are: the beginning of every fetch and push."""
    exchange = Exchange(scope, receive, send)
    service = _service(exchange.request.query_params.get("service", ""))
    if exchange.method != "GET" or service is None:
        raise NotFound
    found = await exchange.found(service)
    path = exchange.request.storage.path(found.id)
    try:
        answer = await advertise(path, service, exchange.request.headers.get("git-protocol"))
    except RepositoryNotFound:
        raise NotFound from None
    await exchange.start(f"application/x-{service}-advertisement")
    await exchange.write(answer, more=False)


@asgi("/{owner:str}/{repo:str}/git-upload-pack", policy=anyone(), copy_scope=False)
async def upload_pack(scope: Scope, receive: Receive, send: Send) -> None:
    """A fetch."""
    exchange = Exchange(scope, receive, send)
    _require_post(exchange, "git-upload-pack")
    found = await exchange.found("git-upload-pack")
    stream = serve(
        exchange.request.storage.path(found.id),
        "git-upload-pack",
        exchange.request.headers.get("git-protocol"),
        exchange.body(),
        gzip=exchange.is_gzip,
    )
    serving = asyncio.current_task()
    watch = asyncio.create_task(exchange.gone())
    gone = False

    def stop(ended: asyncio.Task[None]) -> None:
        nonlocal gone
        if not ended.cancelled() and serving is not None:
            gone = True
            serving.cancel()

    watch.add_done_callback(stop)
    try:
        await _answer(exchange, "git-upload-pack", stream, found)
    except asyncio.CancelledError:
        if not gone:
            raise
    finally:
        watch.remove_done_callback(stop)
        watch.cancel()


@asgi("/{owner:str}/{repo:str}/git-receive-pack", policy=anyone(), copy_scope=False)
async def receive_pack(scope: Scope, receive: Receive, send: Send) -> None:
    """A push: written down before refs move, announced before the client hears the end of it."""
    exchange = Exchange(scope, receive, send)
    _require_post(exchange, "git-receive-pack")
    found = await exchange.found("git-receive-pack")
    request = exchange.request
    pusher = await request.own_account()
    body = exchange.body()
    try:
        push = await read_push_commands(inflate(body, MAX_INFLATED) if exchange.is_gzip else body)
    except BodyRefused as error:
        raise BadRequest(str(error)) from error
    names = [command.name for command in push.commands]
    pushes = request.parts.pushes
    async with pushes.journaled(found.id, pusher.id, names) as push_id:
        stream = serve(
            request.storage.path(found.id),
            "git-receive-pack",
            request.headers.get("git-protocol"),
            push.body,
            max_push_bytes=request.parts.max_push_bytes or None,
        )
        try:
            last = await _answer(exchange, "git-receive-pack", stream, found, hold_last=True)
        finally:
            # Also when the client is gone or the process stops: refs may have moved.
            await asyncio.shield(_settled(request, push_id))
    await exchange.write(last, more=False)


async def _settled(request: Call, push_id: int) -> None:
    """Announce the push. What fails here is done by the sweeper: the refs have moved already."""
    try:
        await request.parts.pushes.settle(push_id)
    except Exception:
        log.exception("push not announced yet", push=push_id)


async def _answer(
    exchange: Exchange,
    service: Service,
    stream: AsyncGenerator[bytes, None],
    found: Found,
    *,
    hold_last: bool = False,
) -> bytes:
    """Pass git's answer on; with ``hold_last`` its last chunk is returned instead, and the answer stays open."""
    held: bytes | None = None
    async with contextlib.aclosing(stream):
        try:
            async for chunk in stream:
                if held is None:
                    await exchange.start(f"application/x-{service}-result")
                else:
                    await exchange.write(held)
                held = chunk
        except BodyRefused as error:
            if held is None:
                raise BadRequest(str(error)) from error
            log.info("git request refused", repository=found.id, error=str(error))
        except ClientGone:
            log.info("git client gone", repository=found.id, service=service)
        except GitError as error:
            log.info("git ended early", repository=found.id, service=service, error=str(error))
    if held is None:
        await exchange.start(f"application/x-{service}-result")
        held = b""
    if not hold_last:
        await exchange.write(held, more=False)
    return held


def _service(name: str) -> Service | None:
    match name:
        case "git-upload-pack" | "git-receive-pack":
            return name
        case _:
            return None


def _require_post(exchange: Exchange, service: Service) -> None:
    if exchange.method != "POST":
        raise NotFound
    if exchange.request.headers.get("content-type") != f"application/x-{service}-request":
        raise UnsupportedRequest


class UnsupportedRequest(ApiError):
    """The Content-Type must be the one that git sends."""

    status = 415


routes: list[Any] = [info_refs, upload_pack, receive_pack]
