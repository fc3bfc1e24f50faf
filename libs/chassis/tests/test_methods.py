"""HEAD, OPTIONS, wrong methods, and paths that no route has."""

from collections.abc import AsyncIterator

import httpx
import pytest
from litestar import Litestar, Response, delete, get, post
from litestar.response import Stream

from ingot_chassis.errors import NotFound
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.policy import anyone, resource, services, signed_in
from ingot_chassis.security.keys import Jwks
from ingot_chassis.security.principal import PrincipalVerifier, ServiceVerifier
from ingot_chassis.service import ServiceParts
from ingot_chassis.settings import ServiceSettings

streamed_parts: list[int] = []


@get("/things/{thing_id:int}", policy=anyone())
async def show_thing(thing_id: int) -> Response[dict[str, int]]:
    if thing_id == 404:
        raise NotFound
    return Response({"id": thing_id}, headers={"Link": "next"})


@delete("/things/{thing_id:int}", policy=signed_in("write:thing"))
async def delete_thing(thing_id: int) -> None:
    raise NotFound


@post("/things", policy=anyone())
async def make_thing() -> None:
    return None


@get("/stream", policy=anyone())
async def show_stream() -> Stream:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(1000):
            streamed_parts.append(number)
            yield b"x" * 1000

    return Stream(parts(), media_type="text/plain")


async def hide(_connection: object, _level: str) -> None:
    raise NotFound


@get("/secrets/{name:str}", policy=resource("read", "read:thing", hide))
async def show_secret(name: str) -> None:
    return None


@get("/internal/keys", policy=services("friend"))
async def show_keys() -> str:
    return "keys"


def app() -> Litestar:
    async def no_keys() -> Jwks:
        return Jwks([])

    parts = ServiceParts(
        name="counter",
        settings=ServiceSettings(public_url="http://ingot.test/"),
        bus=Bus("nats://127.0.0.1:1", name="counter"),
        principal_verifier=PrincipalVerifier("counter", no_keys),
        service_verifier=ServiceVerifier("counter", {}),
    )
    routes = [show_thing, delete_thing, make_thing, show_stream, show_secret, show_keys]
    return service_app(parts, routes=routes)


@pytest.fixture
async def client():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app()), base_url="http://counter") as client:
        yield client


@pytest.mark.parametrize("path", ["/things/1", "/things/404", "/livez", "/nowhere", "/secrets/a"])
async def test_head_has_the_headers_of_get_and_no_body(client, path):
    whole, head = await client.get(path), await client.head(path)

    assert head.status_code == whole.status_code
    assert head.content == b""
    del whole.headers["x-request-id"], head.headers["x-request-id"]
    assert head.headers == whole.headers


async def test_head_of_a_stream_does_not_make_the_stream(client):
    streamed_parts.clear()
    answer = await client.head("/stream")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/plain")
    assert len(streamed_parts) < 1000


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [
        ("PUT", "/things/1", "DELETE, GET, HEAD, OPTIONS"),
        ("PUT", "/things/404", "DELETE, GET, HEAD, OPTIONS"),
        ("PUT", "/things/x", "DELETE, GET, HEAD, OPTIONS"),
        ("GET", "/things", "OPTIONS, POST"),
        ("HEAD", "/things", "OPTIONS, POST"),
        ("BREW", "/secrets/a", "GET, HEAD, OPTIONS"),
        ("TRACE", "/secrets/a", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(client, method, path, methods):
    answer = await client.request(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
    if method != "HEAD":
        assert answer.json()["url"] == "http://ingot.test/api/v1/swagger"


@pytest.mark.parametrize("path", ["/things/1", "/things/404", "/things/1/"])
async def test_options_names_the_methods_and_not_whether_the_thing_is_there(client, path):
    answer = await client.options(path)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "DELETE, GET, HEAD, OPTIONS"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "BREW"])
async def test_paths_for_services_are_not_there_for_anybody_else(client, method):
    assert (await client.request(method, "/internal/keys")).status_code == 404


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nowhere", "no such operation"),
        ("/things/1/nowhere", "no such operation"),
        ("/secrets/a/nowhere", "no such operation"),
        ("/things/404", "Not found."),
        ("/things/x", "Not found."),
        ("/secrets/a", "Not found."),
    ],
)
async def test_a_missing_operation_is_not_a_missing_thing(client, path, message):
    answer = await client.get(path)

    assert (answer.status_code, answer.json()["message"]) == (404, message)
    assert answer.json()["url"] == "http://ingot.test/api/v1/swagger"


def test_apps_with_the_same_routes_register_them_once_in_tests():
    """Registering takes longer than most tests, and each registration stays in memory until the end."""
    first, second = app(), app()
    assert first is not second
    assert first.routes is second.routes
