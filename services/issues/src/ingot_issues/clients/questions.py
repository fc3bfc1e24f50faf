"""Parallel requests to a peer, one per item."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ingot_chassis.errors import NotFound

AT_ONCE = 10
"""Parallel calls for one request or job. The limit leaves capacity for others."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


async def ask_each(
    question: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]
) -> list[Answer | None]:
    """Ask one question per item. Return the answers in the order of the items.

    An answer is None if the call raises NotFound. Other errors of a call are raised.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(item: Item) -> Answer | None:
        async with slots:
            try:
                return await question(item)
            except NotFound:
                return None

    return await asyncio.gather(*map(ask, items))
