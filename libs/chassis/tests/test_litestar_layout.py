"""Routes that are laid out sooner: routers on several apps, and what is not there any more."""

import httpx
import pytest
from litestar import Litestar, Request, Response, Router, get
from litestar.datastructures import State
from litestar.types import ASGIApp, Receive, Scope, Send

from ingot_chassis.http import app as _  # noqa: F401 - it changes Litestar
from ingot_chassis.http.methods import route_methods


class Refused(Exception):
    pass


def middleware(app: ASGIApp) -> ASGIApp:
    async def add_name(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["passed"] = "inner"
        await app(scope, receive, send)

    return add_name


@get("/", opt={"level": "read"})
async def show_name(state: State, request: Request) -> dict[str, str]:
    return {"name": state.name, "passed": request.scope["state"].get("passed", "")}


@get(["/one", "/other"])
async def refuse() -> None:
    raise Refused


def answer_refused(_request: object, _error: Refused) -> None:
    return Response({"refused": True}, status_code=418)


INNER = Router("/inner", route_handlers=[show_name], middleware=[middleware])
OUTER = Router("/outer", route_handlers=[INNER, refuse], exception_handlers={Refused: answer_refused})


def app(name):
    return Litestar(route_handlers=[OUTER, show_name], state=State({"name": name}), openapi_config=None)


@pytest.fixture
def apps():
    return [app("first"), app("second")]


async def answer(app, path):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        return await client.get(path)


async def test_a_router_serves_on_several_apps(apps):
    for app, name in zip(apps, ("first", "second"), strict=True):
        assert (await answer(app, "/outer/inner")).json() == {"name": name, "passed": "inner"}
        assert (await answer(app, "/")).json() == {"name": name, "passed": ""}
        for path in ("/outer/one", "/outer/other"):
            assert (await answer(app, path)).status_code == 418


def test_every_handler_belongs_to_its_own_app(apps):
    handlers = [{id(h): h for route in app.routes for h in route.route_handlers} for app in apps]

    assert not handlers[0].keys() & handlers[1].keys()
    for app, of_app in zip(apps, handlers, strict=True):
        assert len(of_app) == 3
        assert all(handler.app is app for handler in of_app.values())
        layers = {handler.handler_name: handler.ownership_layers for handler in of_app.values()}
        assert [getattr(layer, "path", None) for layer in layers["refuse"][:-1]] == ["/", "/outer"]
    assert (INNER.owner, OUTER.owner) == (None, None)


def test_no_handler_of_options_is_laid_out_and_the_method_is_named_all_the_same(apps):
    assert {method for route in apps[0].routes for method in route.methods} == {"GET"}
    assert route_methods(apps[0], "/outer/one") == "GET, HEAD, OPTIONS"


def test_nothing_is_looked_for_that_no_route_uses(apps):
    names = [type(plugin).__name__ for plugin in apps[0].plugins]
    assert not [name for name in names if name.startswith(("Attrs", "Pydantic"))]
