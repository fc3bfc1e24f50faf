"""Settings of a service with an empty database, an SMTP server, and the service under test."""

import asyncio

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.security.keys import SigningKey
from ingot_mail.migrations import SCRIPTS
from ingot_mail.settings import Settings

from .smtp_servers import Mailbox, serve
from .world import REPLY_KEY, World


@pytest_asyncio.fixture
async def mailbox():
    """An SMTP server on loopback."""
    mailbox = Mailbox()
    async with serve(mailbox) as port:
        mailbox.port = port
        yield mailbox


@pytest.fixture
def settings(make_database, mailbox):
    return Settings(
        database_url=make_database("mail", lambda url: asyncio.run(upgrade(url, SCRIPTS))),
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        background=False,
        public_url="http://forge.test/",
        smtp_host="127.0.0.1",
        smtp_port=mailbox.port,
        smtp_security="none",
        smtp_seconds=10,
        reply_address="reply+{token}@in.example.org",
        reply_key=REPLY_KEY,
    )


@pytest_asyncio.fixture
async def world(settings):
    world = World(settings)
    yield world
    await world.close()
