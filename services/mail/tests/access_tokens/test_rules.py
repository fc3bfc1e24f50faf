"""Refresh tokens that an endpoint rotates: kept over restarts, shared by processes, and sealed."""

import asyncio

import msgspec
import pytest
from cryptography.fernet import Fernet
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.errors import DatabaseUnavailable
from ingot_mail.access_tokens import clients, rules, store
from ingot_mail.access_tokens.clients import TokenError
from ingot_mail.access_tokens.rules import imap_tokens, smtp_tokens

from ..token_endpoints import serve_tokens

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def server():
    async with serve_tokens() as server:
        server.answer = {"expires_in": 0}
        server.rotates = True
        yield server


def process(world, server, **changes):
    """The access tokens of a new process, for the mailbox."""
    fields = {"imap_oauth_url": server.url, "imap_oauth_client": "client", "imap_oauth_refresh": "first"}
    settings = msgspec.structs.replace(world.settings, **fields | changes)
    return imap_tokens(settings, world.db, seconds=10)


def sent(server):
    return [form["refresh_token"] for form in server.forms]


async def test_a_rotated_refresh_token_is_used_next_also_after_a_restart(world, server):
    tokens = process(world, server)
    for _ in range(2):
        await tokens.get()
    await process(world, server).get()
    assert sent(server) == ["first", "refresh-1", "refresh-2"]


async def test_an_endpoint_that_does_not_rotate_gets_the_same_token(world, server):
    server.rotates = False
    for _ in range(2):
        await process(world, server).get()
    assert sent(server) == ["first", "first"]


async def test_processes_send_each_refresh_token_once(world, server):
    await asyncio.gather(*(process(world, server).get() for _ in range(4)))
    assert sent(server) == ["first", "refresh-1", "refresh-2", "refresh-3"]


async def test_a_new_token_in_the_settings_replaces_the_stored_one(world, server):
    await process(world, server).get()
    await process(world, server, imap_oauth_refresh="other").get()
    assert sent(server) == ["first", "other"]


async def test_a_token_of_another_sealing_key_is_not_used(world, server):
    await process(world, server).get()
    await process(world, server, sealing_key=Fernet.generate_key().decode()).get()
    assert sent(server) == ["first", "first"]


async def test_servers_with_one_grant_send_each_refresh_token_once(world, server):
    await process(world, server).get()
    fields = {"smtp_oauth_url": server.url, "smtp_oauth_client": "client", "smtp_oauth_refresh": "first"}
    await smtp_tokens(msgspec.structs.replace(world.settings, **fields), world.db).get()
    await process(world, server).get()
    assert sent(server) == ["first", "refresh-1", "refresh-2"]


async def test_a_process_with_former_settings_leaves_the_new_grant_alone(world, server):
    former, new = process(world, server), process(world, server, imap_oauth_refresh="other")
    for tokens in (former, new, former, new):
        await tokens.get()
    assert sent(server) == ["first", "other", "refresh-1", "refresh-2"]


async def test_a_cancelled_request_keeps_the_new_token(world, server):
    server.may_answer.clear()
    asking = asyncio.create_task(process(world, server).get())
    await server.has_request.wait()
    asking.cancel()
    server.may_answer.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await process(world, server).get()
    assert sent(server) == ["first", "refresh-1"]


async def test_a_token_that_the_database_did_not_take_is_kept_until_it_does(world, server, monkeypatch):
    failures, release = [DatabaseUnavailable("away")] * 2, store.release

    async def fail_first(*args, **options):
        if failures:
            raise failures.pop()
        await release(*args, **options)

    monkeypatch.setattr(store, "release", fail_first)
    monkeypatch.setattr(rules, "POLL_SECONDS", 0.0)
    await process(world, server).get()
    await process(world, server).get()
    assert (failures, sent(server)) == ([], ["first", "refresh-1"])


async def test_a_token_that_was_never_stored_is_used_by_its_own_process(world, server, monkeypatch):
    async def fail(*_args, **_options):
        raise OSError("no room")

    tokens = process(world, server)
    with monkeypatch.context() as patch:
        patch.setattr(store, "release", fail)
        with pytest.raises(OSError, match="no room"):
            await tokens.get()
    monkeypatch.setattr(clients, "PAUSE_SECONDS", 0.0)
    await end_lease(world)
    await tokens.get()
    assert sent(server) == ["first", "refresh-1"]


async def test_a_process_whose_lease_ended_does_not_replace_a_newer_token(world, server):
    server.may_answer.clear()
    asking = asyncio.create_task(process(world, server).get())
    await server.has_request.wait()
    await end_lease(world)
    server.may_answer.set()
    await process(world, server).get()
    await asking
    await process(world, server).get()
    assert sent(server) == ["first", "first", "refresh-2"]


async def end_lease(world):
    async with world.db.transaction() as tx:
        await tx.execute(update(store.refresh_token).values(leased_until=now()))


async def test_a_refusal_ends_the_turn_and_keeps_the_token(world, server, monkeypatch):
    monkeypatch.setattr(clients, "PAUSE_SECONDS", 0.0)
    tokens = process(world, server)
    await tokens.get()
    server.status = 400
    with pytest.raises(TokenError, match="answered 400"):
        await tokens.get()
    server.status = 200
    await tokens.get()
    assert sent(server) == ["first", "refresh-1", "refresh-1"]


async def test_the_turn_of_a_dead_process_ends(world, server):
    await process(world, server).get()
    await end_lease(world)
    await process(world, server).get()
    assert sent(server) == ["first", "refresh-1"]


async def test_no_token_is_readable_in_the_database(world, server):
    await process(world, server).get()
    async with world.db.read() as db:
        (row,) = (await db.execute(select(store.refresh_token))).all()
    assert row.sealed_token
    assert not [text for text in ("first", "refresh-1") if text in repr(tuple(row))]
