"""Several apps behind one ASGI door: the lifespans of all, the requests for one."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from litestar import Litestar
from litestar.types import (
    LifeSpanReceive,
    LifeSpanSend,
    Receive,
    Scope,
    Send,
)


class Composed:
    """Enters the lifespans of ``apps`` in order and leaves them in reverse; the last app gets the requests."""

    def __init__(self, apps: Sequence[Litestar]) -> None:
        self._apps = apps
        self.failure: Exception | None = None
        """What kept an app from starting; the server only knows that one did."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # type: ignore[comparison-overlap]
            await self._live(receive, send)  # type: ignore[arg-type]
        else:
            await self._apps[-1](scope, receive, send)

    async def _live(self, receive: LifeSpanReceive, send: LifeSpanSend) -> None:
        # One task enters and leaves: cancel scopes inside a lifespan may not change hands.
        await receive()
        async with AsyncExitStack() as lifespans:
            try:
                for app in self._apps:
                    await lifespans.enter_async_context(app.lifespan())
            except Exception as error:  # noqa: BLE001 - raised again where the server has ended
                self.failure = error
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
