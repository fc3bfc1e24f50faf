"""Request bodies whose first bytes were read already."""

from collections.abc import AsyncIterator


async def replayed(head: bytes, rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    """Yield `head`, which was read already, then the rest of the body."""
    if head:
        yield head
    if rest is not None:
        async for chunk in rest:
            yield chunk
