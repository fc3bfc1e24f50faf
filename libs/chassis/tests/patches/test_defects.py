"""Defects of libraries that are patched. A test fails when the library is mended and its patch can go."""

import asyncio
import subprocess
import sys

import msgspec
from litestar import Litestar, Request, get
from litestar.handlers import HTTPRouteHandler
from nats.aio.client import Client

from ingot_chassis.http import app as _  # noqa: F401 - it changes Litestar
from ingot_chassis.patches import litestar_guards, litestar_routes
from ingot_chassis.patches.nats_disconnects import NatsClient

IMPORT = "import sys, {}; print('aiohttp' in sys.modules)"


class Answer(msgspec.Struct):
    number: int


async def answer_number(request: Request, number: int) -> Answer:
    return Answer(number)


def handler_with(guard=None):
    handler = get("/{number:int}", guards=[guard] if guard else [])(answer_number)
    app = Litestar([handler], openapi_config=None)
    (route,) = app.routes
    return app, route, next(one for one in route.route_handlers if one.http_methods == {"GET"})


async def test_litestar_copies_the_handler_for_each_guard():
    handlers = []

    async def guard(_connection, handler):
        handlers.append(handler)

    _app, _route, handler = handler_with(guard)
    await litestar_guards.authorize_with_copies(handler, None)
    await HTTPRouteHandler.authorize_connection(handler, None)
    assert [one is handler for one in handlers] == [False, True]


async def test_litestar_does_much_more_for_a_plain_handler_than_to_call_it():
    app, route, _handler = handler_with()

    async def calls_of(handle):
        """Count the calls of Python functions for one request."""
        count, sent = 0, []

        async def send(message):
            sent.append(message)

        def note(_frame, event, _argument):
            nonlocal count
            count += event == "call"

        scope = {
            "type": "http", "method": "GET", "path": "/7", "query_string": b"", "headers": [], "state": {},
            "path_params": {"number": 7}, "app": app, "litestar_app": app, "route_handler": _handler,
        }  # fmt: skip
        sys.setprofile(note)
        try:
            await handle(route, scope, None, send)
        finally:
            sys.setprofile(None)
        assert sent[-1]["body"] == b'{"number":7}'
        return count

    for handle in (litestar_routes.handle_as_litestar, type(route).handle):
        await calls_of(handle)  # both remember what they find out about a handler
    assert await calls_of(litestar_routes.handle_as_litestar) > 2 * await calls_of(type(route).handle)


def test_nats_imports_aiohttp():
    modules = ("nats.aio.transport", "ingot_chassis.events, nats.aio.transport")
    outputs = [
        subprocess.run([sys.executable, "-c", IMPORT.format(one)], capture_output=True, text=True, check=True)
        for one in modules
    ]
    assert [one.stdout for one in outputs] == ["True\n", "False\n"]


async def test_nats_keeps_unsent_data_of_a_lost_connection_and_its_waiters():
    results = {}
    for make in (Client, NatsClient):
        client, flushed = make(), asyncio.get_running_loop().create_future()
        client._pending, client._pending_data_size = [b"PUB x 0\r\n\r\n"], 11
        client._flush_queue = asyncio.Queue()
        client._flush_queue.put_nowait(flushed)
        client._process_disconnect()
        results[make] = (client._pending_data_size, flushed.done())
    assert results == {Client: (11, False), NatsClient: (0, True)}
