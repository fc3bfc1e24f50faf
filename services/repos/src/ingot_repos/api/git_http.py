"""Git over HTTP: the two requests of a client, streamed both ways between the socket and git.

The handlers decide; what they return speaks raw ASGI, because such an answer begins while its request is read.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from litestar import Response, get, post
from litestar.types import Receive, Scope, Send

from ingot_chassis.errors import ApiError, BadRequest, Denied, NotFound, Unauthenticated
from ingot_chassis.policy import anyone
from ingot_repos.api.call import Call, Found
from ingot_repos.core import access
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

    def __init__(self, request: Call, receive: Receive, send: Send) -> None:
        self.request = request
        self._receive, self._send = receive, send
        self.body_ended = asyncio.Event()

    @property
    def is_gzip(self) -> bool:
        return self.request.headers.get("content-encoding", "").lower() in ("gzip", "x-gzip")

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


class GitAnswer(Response[None]):
    """An answer that takes the exchange over from the framework."""

    def __init__(self, speak: Callable[[Exchange], Awaitable[None]], request: Call) -> None:
        super().__init__(None)
        self._speak, self._request = speak, request

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        async def app(_scope: Scope, receive: Receive, send: Send) -> None:
            await self._speak(Exchange(self._request, receive, send))

        return app


@get("/{owner:str}/{repo:str}/info/refs", policy=anyone(), include_in_schema=False)
async def info_refs(request: Call) -> Response[bytes]:
    """What refs there are: the beginning of every fetch and push."""
    service = _service(request.query_params.get("service", ""))
    if service is None:
        raise NotFound
    found = await _found(request, service)
    try:
        answer = await advertise(request.storage.path(found.id), service, request.headers.get("git-protocol"))
    except RepositoryNotFound:
        raise NotFound from None
    headers = {name.decode(): value.decode() for name, value in NEVER_CACHED}
    return Response(answer, media_type=f"application/x-{service}-advertisement", headers=headers)


@post(
    "/{owner:str}/{repo:str}/git-upload-pack",
    policy=anyone(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def upload_pack(request: Call) -> GitAnswer:
    """A fetch."""
    _require_type(request, "git-upload-pack")
    found = await _found(request, "git-upload-pack")
    return GitAnswer(partial(_fetch, found), request)


@post(
    "/{owner:str}/{repo:str}/git-receive-pack",
    policy=anyone(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def receive_pack(request: Call) -> GitAnswer:
    """A push."""
    _require_type(request, "git-receive-pack")
    found = await _found(request, "git-receive-pack")
    pusher = await request.own_account()
    return GitAnswer(partial(_push, found, pusher.id), request)


async def _found(request: Call, service: Service) -> Found:
    """The repository of the path, for fetching or pushing.

    Anonymous callers are asked for a password whenever something is missing, so nothing shows what exists.
    """
    writing = service == "git-receive-pack"
    params = request.path_params
    name = str(params["repo"]).removesuffix(".git")
    if request.who.signed_in and not request.who.may(f"{'write' if writing else 'read'}:repository"):
        raise Denied("the token lacks the scope for that")
    try:
        if writing:
            found = await request.repository(str(params["owner"]), name, "write")
            access.require_open(found.row)
        else:
            found = await request.repository(str(params["owner"]), name)
    except (NotFound, Denied, Unauthenticated):
        if request.who.signed_in:
            raise
        raise Unauthenticated("sign in to do that", headers=ASK_FOR_PASSWORD) from None
    if not found.is_named(str(params["owner"]), name):
        raise request.moved(owner=found.row.owner_login, repo=f"{found.row.name}.git")
    if writing and found.row.mirror:
        raise Denied("a mirror takes no pushes")
    request.require_on_disk(found)
    request.take_place()
    return found


async def _fetch(found: Found, exchange: Exchange) -> None:
    """Stream a pack; stop git when the client goes away."""
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


async def _push(found: Found, pusher_id: int, exchange: Exchange) -> None:
    """Take a push in: written down before refs move, announced before the client hears the end of it."""
    request = exchange.request
    body = exchange.body()
    try:
        push = await read_push_commands(inflate(body, MAX_INFLATED) if exchange.is_gzip else body)
    except BodyRefused as error:
        raise BadRequest(str(error)) from error
    names = [command.name for command in push.commands]
    confined = request.who.confined_to is not None
    async with request.parts.pushes.journaled(found.id, pusher_id, names, confined=confined) as push_id:
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


def _require_type(request: Call, service: Service) -> None:
    if request.headers.get("content-type") != f"application/x-{service}-request":
        raise UnsupportedRequest


class UnsupportedRequest(ApiError):
    """The Content-Type must be the one that git sends."""

    status = 415


routes = [info_refs, upload_pack, receive_pack]
