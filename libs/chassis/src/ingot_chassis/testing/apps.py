"""Apps that are started by the hundred.

To lay out the routes of a service takes Litestar some 100 ms, longer than most tests of it take. Here it happens once in
a process for the same routes; what differs from app to app (its state, its event emitter) is each app's own.

SQLAlchemy compiles a statement once for an engine, and each test has engines of its own: that was a seventh of the
processor time of tests. Here it happens once in a process.
"""

from copy import copy
from functools import partial
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.db import database as chassis_database
from ingot_chassis.http import app as chassis_app

_laid_out: dict[tuple[Any, ...], tuple[Litestar, Any]] = {}


def keep_routes() -> None:
    """From here on `service_app` lays out the same routes once."""
    chassis_app.Litestar = _copy_of_app  # type: ignore[assignment,attr-defined]


def _copy_of_app(*, route_handlers: list[Any], state: State, **options: Any) -> Litestar:
    # The routes keep what they were laid out with: the page that errors name, the limit, the translations.
    key = (
        *map(id, route_handlers),
        options["openapi_config"].title,
        options["request_max_body_size"],
        state.settings.public_url,
        *options["exception_handlers"],
    )
    if key not in _laid_out:
        # Kept along: an id is good for as long as its object lives.
        _laid_out[key] = Litestar(route_handlers=route_handlers, **options), route_handlers
    original, _ = _laid_out[key]
    app = copy(original)
    app.state = state
    app.event_emitter = type(original.event_emitter)([])
    app.asgi_router = copy(original.asgi_router)
    app.asgi_router.app = app
    return app


class SharedStatements(dict[tuple[Any, ...], Any]):
    """The ``compiled_cache`` of all engines. SQLAlchemy's keys begin with the dialect, an object that each engine has."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], statement: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), statement)


def keep_statements() -> None:
    """From here on every `Database` finds the statements that others have compiled."""
    options = {"compiled_cache": SharedStatements()}
    chassis_database.create_async_engine = partial(create_async_engine, execution_options=options)  # type: ignore[attr-defined]
