"""A server that sends mail, with the organization acme."""

import pytest

from ..mailbox import Mailbox


@pytest.fixture
async def world(make_world):
    async with make_world(sends_mail=True) as world:
        yield world


@pytest.fixture
def mailbox(world):
    return Mailbox(world)
