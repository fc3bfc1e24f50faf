"""A wire between git and the server that something can be done to in the middle of an upload."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from ingot_testing.wires import wire


@asynccontextmanager
async def cut_after(url: str, uploaded: int, happens: Callable[[], Awaitable[None]]) -> AsyncIterator[str]:
    """Yield a URL that leads to ``url``. After ``uploaded`` bytes it awaits ``happens`` and passes nothing
    on."""
    parts = urlsplit(url)
    passed, is_cut = 0, False

    async def up(part: bytes) -> bytes | None:
        nonlocal passed, is_cut
        if is_cut:
            return None
        if passed > uploaded:
            is_cut = True
            await happens()
            return None
        passed += len(part)
        return part

    async with wire(parts.hostname or "", parts.port or 0, up=up) as port:
        yield f"http://127.0.0.1:{port}/"
        assert is_cut, f"only {passed} bytes were uploaded"
