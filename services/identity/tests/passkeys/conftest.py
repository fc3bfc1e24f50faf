"""A site that browsers make passkeys for."""

import pytest


@pytest.fixture
async def site(make_world):
    async with make_world(public_url="http://localhost:3000/") as world:
        for name in ("ann", "bob"):
            await world.add_user(name)
        yield world
