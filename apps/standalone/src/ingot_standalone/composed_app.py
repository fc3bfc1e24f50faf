"""Several apps as one ASGI app. It runs the lifespans of all apps, and one app gets the requests."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from litestar import Litestar
from litestar.types import (
    LifeSpanReceive,
    LifeSpanSend,
    Receive,
    Scope,
    Send,
)


class ComposedApp:
    """Enters the lifespans of ``apps`` in order, then ``beside``, and leaves all in reverse order.

    The last app gets the requests.
    """

    def __init__(
        self, apps: Sequence[Litestar], beside: Sequence[AbstractAsyncContextManager[None]] = ()
    ) -> None:
        self._apps, self._beside = apps, beside
        self.failure: Exception | None = None
        """Why an app did not start. The server knows only that one did not."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # type: ignore[comparison-overlap]
            await self._run_lifespans(receive, send)  # type: ignore[arg-type]
        else:
            await self._apps[-1](scope, receive, send)

    async def _run_lifespans(self, receive: LifeSpanReceive, send: LifeSpanSend) -> None:
        # One task enters and leaves: a cancel scope in a lifespan must be left by the task that entered it.
        await receive()
        async with AsyncExitStack() as lifespans:
            try:
                for app in self._apps:
                    await lifespans.enter_async_context(app.lifespan())
                for context in self._beside:
                    await lifespans.enter_async_context(context)
            except Exception as error:  # noqa: BLE001 - raised again after the server has ended
                self.failure = error
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
