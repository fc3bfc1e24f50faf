"""One question to a peer about each of many things."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ingot_chassis.errors import NotFound

AT_ONCE = 10
"""Questions for one request or job, so that a peer has room for others."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


async def ask_each(
    question: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]
) -> list[Answer | None]:
    """The answers in the order of the items; None for what is not there. Raises whatever else a question raises."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(item: Item) -> Answer | None:
        async with slots:
            try:
                return await question(item)
            except NotFound:
                return None

    return await asyncio.gather(*map(ask, items))
