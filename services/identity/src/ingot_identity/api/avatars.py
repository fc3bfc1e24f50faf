"""Pictures for accounts: a pattern drawn from the digest in the address, so that nobody's e-mail is asked for abroad."""

import hashlib

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import anyone

CELLS = 5


@get("/avatars/{digest:str}", policy=anyone(), include_in_schema=False)
async def avatar(digest: str) -> Response[bytes]:
    """An SVG of 5 by 5 cells, the same for the same digest."""
    if len(digest) > 64 or not digest.isalnum():
        raise NotFound
    return Response(
        _drawn(hashlib.sha256(digest.encode()).digest()),
        media_type="image/svg+xml",
        headers={"Cache-Control": "public, max-age=86400", "Content-Security-Policy": "sandbox"},
    )


def _drawn(seed: bytes) -> bytes:
    hue = seed[0] * 360 // 256
    cells = []
    for row in range(CELLS):
        for column in range((CELLS + 1) // 2):
            if seed[1 + row * 3 + column] % 2:
                cells += [f"M{x} {row}h1v1h-1z" for x in {column, CELLS - 1 - column}]
    path = "".join(sorted(cells))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 7 7">'
        f'<rect x="-1" y="-1" width="7" height="7" fill="#f4f4f4"/>'
        f'<path d="{path}" fill="hsl({hue} 55% 45%)"/></svg>'
    ).encode()


routes = [avatar]
