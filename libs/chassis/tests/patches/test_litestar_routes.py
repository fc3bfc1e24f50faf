"""Handlers that are called directly: they get and answer what Litestar would have let them get and answer."""

from typing import Annotated, Any

import httpx
import msgspec
import pytest
from litestar import Litestar, Request, Response, Router, get
from litestar.params import PathParameter

from ingot_chassis.http import app as _  # noqa: F401 - it changes Litestar
from ingot_chassis.patches import litestar_routes


class Heard(msgspec.Struct):
    values: list[Any]


@get("/number/{number:int}")
async def plain_number(request: Request, number: int) -> Heard:
    return Heard([number])


@get("/word/{word:str}/{number:int}")
async def plain_word(request: Request, number: int, word: str) -> Heard:
    return Heard([word, number])


@get("/rest/{rest:path}")
async def plain_rest(request: Request, rest: str) -> Heard:
    return Heard([rest])


@get("/list/{number:int}")
async def plain_list(request: Request, number: int) -> list[int]:
    return [number]


@get("/nothing/{number:int}", status_code=204)
async def plain_nothing(request: Request, number: int) -> None:
    return None


@get("/response/{number:int}")
async def plain_response(request: Request, number: int) -> Response[Heard]:
    return Response(Heard([number]), status_code=203, headers={"X-Number": str(number)})


@get("/number/{number:int}")
async def other_number(request: Request, number: int, more: str = "") -> Heard:
    return Heard([number])


@get("/word/{word:str}/{number:int}")
async def other_word(request: Request, number: int, word: str, more: str = "") -> Heard:
    return Heard([word, number])


@get("/rest/{rest:path}")
async def other_rest(request: Request, rest: str, more: str = "") -> Heard:
    return Heard([rest])


@get("/list/{number:int}")
async def other_list(request: Request, number: int, more: str = "") -> list[int]:
    return [number]


@get("/nothing/{number:int}", status_code=204)
async def other_nothing(request: Request, number: int, more: str = "") -> None:
    return None


@get("/response/{number:int}")
async def other_response(request: Request, number: int, more: str = "") -> Response[Heard]:
    return Response(Heard([number]), status_code=203, headers={"X-Number": str(number)})


@get("/small/{number:int}")
async def small(request: Request, number: Annotated[int, PathParameter(le=9)]) -> Heard:
    return Heard([number])


@get("/text/{number:int}")
async def text(request: Request, number: str) -> Heard:
    return Heard([number])


@get(["/either/{one:int}", "/or/{one:str}"])
async def either(request: Request, one: int) -> Heard:
    return Heard([one])


APP = Litestar(
    route_handlers=[
        Router(
            "/plain",
            route_handlers=[
                plain_number,
                plain_word,
                plain_rest,
                plain_list,
                plain_nothing,
                plain_response,
            ],
        ),
        Router(
            "/not-plain",
            route_handlers=[other_number, other_word, other_rest, other_list, other_nothing, other_response],
        ),
        small,
        text,
        either,
    ],
    openapi_config=None,
)


async def answer(path):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(APP), base_url="http://app") as client:
        return await client.get(path)


@pytest.mark.parametrize(
    "path",
    [
        "/number/7",
        "/number/-7",
        "/number/x",
        "/number/99999999999999999999",
        "/number/7?number=8",
        "/word/caf%C3%A9/1",
        "/word/1/1",
        "/word/%20%2B/1",
        "/rest/a/b",
        "/rest/a//b/",
        "/list/7",
        "/nothing/7",
        "/response/7",
    ],
)
async def test_the_answer_is_that_of_a_handler_which_litestar_calls(path):
    plain, other = await answer(f"/plain{path}"), await answer(f"/not-plain{path}")
    assert plain.status_code == other.status_code
    assert sorted(plain.headers.raw) == sorted(other.headers.raw)
    assert plain.content.replace(b"/plain/", b"/not-plain/") == other.content


@pytest.mark.parametrize("path", ["/number/7", "/word/x/1", "/rest/a", "/list/7", "/nothing/7"])
async def test_litestar_calls_only_handlers_that_take_more(monkeypatch, path):
    called = []

    async def handle(route, scope, receive, send):
        called.append(scope["path"])
        await handled_before(route, scope, receive, send)

    handled_before = litestar_routes.handle_as_litestar
    monkeypatch.setattr(litestar_routes, "handle_as_litestar", handle)
    await answer(f"/plain{path}")
    await answer(f"/not-plain{path}")
    assert called == [f"/not-plain{path}"]


async def test_a_value_that_is_to_be_checked_is_checked():
    assert (await answer("/small/9")).json() == {"values": [9]}
    assert (await answer("/small/10")).status_code == 400


async def test_a_value_of_another_type_is_converted_as_by_litestar():
    assert (await answer("/text/7")).status_code == 400


async def test_a_handler_of_two_paths_gets_its_type_from_both():
    assert (await answer("/either/7")).json() == {"values": [7]}
    assert (await answer("/or/7")).json() == {"values": [7]}
    assert (await answer("/or/x")).status_code == 400
