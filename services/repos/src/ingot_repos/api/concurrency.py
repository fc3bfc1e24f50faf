"""The middleware that releases the slot of a request when its answer has ended, however it ended."""

from litestar.types import ASGIApp, Receive, Scope, Send

from ingot_repos.api.request import ACQUIRED_BY
from ingot_repos.components import Components


def release_slots(app: ASGIApp) -> ASGIApp:
    """A function, because the framework copies objects."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            if ACQUIRED_BY in scope:
                components: Components = scope["litestar_app"].state.components
                components.limiter.release(scope.pop(ACQUIRED_BY))  # type: ignore[misc]

    return handle
