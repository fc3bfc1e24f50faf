"""Runs the lifespan of an app in a fixture, whose two halves pytest-asyncio runs in different tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar


@asynccontextmanager
async def started(app: Litestar) -> AsyncIterator[Litestar]:
    """Run the lifespan of `app` around the block, in its own task, as Litestar requires."""
    ready, end = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.lifespan():
            ready.set()
            await end.wait()

    task = asyncio.create_task(live())
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not ready.is_set():
        waiting.cancel()
        await task
    try:
        yield app
    finally:
        end.set()
        await task
