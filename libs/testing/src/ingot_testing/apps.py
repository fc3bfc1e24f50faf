"""Caches for tests, which start hundreds of apps.

Litestar takes some 100 ms to register the routes of a service, longer than most of its tests take. With these
caches a process registers each set of routes once. State and event emitter are still separate for each app.
SQLAlchemy compiles a statement once per engine, and each test has its own engines. That took a seventh of the
CPU time of tests. With these caches a process compiles a statement once.
"""

from copy import copy
from functools import partial
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.db import database as chassis_database
from ingot_chassis.http import app as chassis_app

_routers: dict[tuple[Any, ...], tuple[Router, Any]] = {}
_laid_out: dict[tuple[Any, ...], tuple[Litestar, Any]] = {}


def keep_routes() -> None:
    """Make `service_app` register equal routes only once from now on."""
    chassis_app.Router = _same_router  # type: ignore[assignment,attr-defined]
    chassis_app.Litestar = _copy_of_app  # type: ignore[assignment,attr-defined]


def _same_router(path: str, *, route_handlers: list[Any]) -> Router:
    """Return one router for equal handlers, because cache keys contain its id."""
    key = (path, *map(id, route_handlers))
    if key not in _routers:
        # Kept as well: an id is valid only while its object exists.
        _routers[key] = Router(path, route_handlers=route_handlers), route_handlers
    return _routers[key][0]


def _copy_of_app(*, route_handlers: list[Any], state: State, **options: Any) -> Litestar:
    # The routes depend on the page in errors, the limit of bodies, and the translations.
    key = (
        *map(id, route_handlers),
        options["openapi_config"].title,
        options["request_max_body_size"],
        state.settings.public_url,
        *options["exception_handlers"],
        *map(id, options["before_send"]),
    )
    if key not in _laid_out:
        _laid_out[key] = Litestar(route_handlers=route_handlers, **options), options["before_send"]
    original, _ = _laid_out[key]
    app = copy(original)
    app.state = state
    app.event_emitter = type(original.event_emitter)([])
    app.asgi_router = copy(original.asgi_router)
    app.asgi_router.app = app
    return app


class SharedStatements(dict[tuple[Any, ...], Any]):
    """The ``compiled_cache`` of all engines.

    SQLAlchemy's keys begin with the dialect, which is an object per engine. This cache uses the name of the
    dialect instead, so engines share entries.
    """

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], statement: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), statement)


def keep_statements() -> None:
    """Make all `Database` objects share compiled statements from now on."""
    options = {"compiled_cache": SharedStatements()}
    create = partial(create_async_engine, execution_options=options)
    chassis_database.create_async_engine = create  # type: ignore[attr-defined]
