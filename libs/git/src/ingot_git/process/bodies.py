"""Request bodies whose first bytes have already been read."""

from collections.abc import AsyncIterator


async def replayed(head: bytes, rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    """Yield `head`, which has already been read, then the rest of the body."""
    if head:
        yield head
    if rest is not None:
        async for chunk in rest:
            yield chunk
