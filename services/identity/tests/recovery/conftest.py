"""A server that sends mail."""

import pytest

from ..mailbox import Mailbox


@pytest.fixture
async def mailing(make_world):
    async with make_world(sends_mail=True) as world:
        yield world


@pytest.fixture
def mailbox(mailing):
    return Mailbox(mailing)
