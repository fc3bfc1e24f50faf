"""Changes of Litestar at run time: it lays out the routes of an app in less than half of the time.

It copies a router with all that its handlers refer to, makes a handler of OPTIONS for each path, though `methods.py` answers
that method, and looks for pydantic and attrs, which no route uses. ADR 14 has the figures, and says when this module may go.
"""

from copy import copy
from typing import Any

from litestar import Litestar, Router, router
from litestar.enums import ScopeType
from litestar.handlers import HTTPRouteHandler
from litestar.plugins.core import MsgspecDIPlugin
from litestar.routes import HTTPRoute
from litestar.routes.base import BaseRoute


def lay_out_sooner() -> None:
    """Replace what Litestar does, for all apps of this process."""
    app_class: Any = Litestar
    route_class: Any = HTTPRoute
    routers: Any = router
    app_class._get_default_plugins = staticmethod(_default_plugins)  # noqa: SLF001
    route_class.__init__ = _init_route
    routers.deepcopy = _copy_of_router


def _default_plugins(plugins: list[Any]) -> list[Any]:
    return [*plugins, MsgspecDIPlugin()]


def _init_route(route: HTTPRoute, *, path: str, route_handlers: list[HTTPRouteHandler]) -> None:
    """As Litestar does it, but for the handler of OPTIONS."""
    methods: Any = [method for handler in route_handlers for method in handler.http_methods]
    BaseRoute.__init__(
        route,
        methods=methods,
        path=path,
        scope_type=ScopeType.HTTP,
        handler_names=[handler.handler_name for handler in route_handlers],
    )
    route.route_handlers = route_handlers
    route.route_handler_map = {}


def _copy_of_router(original: Router) -> Router:
    """A router that can be registered beside the original one: its routers, routes and handlers are copies."""
    copies: dict[int, Any] = {}

    def copied(layer: Any) -> Any:
        """The copy of a router or handler, below the copies of those that it is registered on."""
        if layer is None:
            return None
        if id(layer) not in copies:
            copies[id(layer)] = layer_copy = copy(layer)
            layer_copy.owner = copied(layer.owner)
            if isinstance(layer, HTTPRouteHandler):
                layer_copy._response_handler_mapping = {**layer._response_handler_mapping}  # noqa: SLF001
        return copies[id(layer)]

    result: Router = copied(original)
    routes: list[Any] = original.routes  # all of HTTP
    result.routes = [
        HTTPRoute(path=route.path, route_handlers=[copied(handler) for handler in route.route_handlers])
        for route in routes
    ]
    return result
