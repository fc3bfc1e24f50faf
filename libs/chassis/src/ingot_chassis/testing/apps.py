"""Apps that are started by the hundred.

To lay out the routes of a service takes Litestar some 100 ms, longer than most tests of it take. Here it happens once in
a process for the same routes; what differs from app to app (its state, its event emitter) is each app's own.
"""

from copy import copy
from typing import Any

from litestar import Litestar
from litestar.datastructures import State

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
