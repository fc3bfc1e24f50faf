"""Mails are sent once, whatever fails; and only to people who may read them when they are sent."""

import asyncio
import os
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import delete

from ingot_chassis.clock import now
from ingot_contracts.identity.messages import Message, MessageRequested
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.releases import PublishedRelease
from ingot_mail.mails import store
from ingot_mail.mails.rules import PAUSES
from ingot_mail.mails.store import UNCONFIRMED

from ..builders import release

COUNT = int(os.environ.get("INGOT_MAIL_EVENTS", "100"))
"""Events of the test with a failing server; 10000 in `make soak`."""


async def test_a_notice_is_sent(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    assert await world.worker.step() == 1
    ((recipient, _),) = mailbox.taken
    assert recipient == "bob@example.org"
    assert [row.state for row in await world.rows()] == ["sent"]


async def test_an_event_that_arrives_again_sends_nothing(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"), event_id="e1")
    await world.worker.step()
    async with world.db.transaction() as tx:
        await tx.execute(delete(world.db.metadata.tables["inbox"]))
    await world.notify((2, "participating"), event_id="e1")
    assert await world.worker.step() == 0
    assert len(mailbox.taken) == 1


async def test_each_mail_arrives_once_while_the_server_fails_half_of_the_time(world, mailbox):
    mailbox.failing = 0.5
    world.add_issue()
    for number in range(COUNT):
        await world.notify((2, "participating"), event_id=f"e{number}")
    for _ in range(len(PAUSES) + 1):
        await world.make_due()
        while await world.worker.step():
            pass
    rows = await world.rows()
    taken = Counter(str(message["Message-ID"]).strip("<>").partition("@")[0] for message in mailbox.messages)
    assert mailbox.failed > COUNT / 4
    assert max(taken.values()) == 1
    dropped = {one.strip("<>").partition("@")[0] for one in mailbox.dropped}
    assert dropped
    assert {row.id for row in rows if row.state == "failed" and row.error.startswith(UNCONFIRMED)} == dropped
    # One in 3,000 fails in all eleven attempts. Such a mail never arrived.
    exhausted = {row.id for row in rows if row.state == "failed"} - dropped
    assert not exhausted & taken.keys()
    assert {row.id for row in rows if row.state == "sent"} == taken.keys() - dropped
    assert len(taken) + len(exhausted) == COUNT


async def test_access_is_asked_at_sending(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    world.issues.hidden.add((100, 2))
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, mailbox.taken) == ("cancelled", [])


async def test_a_person_without_a_confirmed_address_gets_nothing(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    del world.identity.recipients[2]
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, mailbox.taken) == ("cancelled", [])


@pytest.mark.parametrize("owner", ["identity", "issues"])
async def test_a_mail_waits_while_an_owner_does_not_answer(world, mailbox, owner):
    world.add_issue()
    await world.notify((2, "participating"))
    getattr(world, owner).unavailable = True
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, row.attempts) == ("pending", 0)
    getattr(world, owner).unavailable = False
    await world.make_due()
    await world.worker.step()
    assert len(mailbox.taken) == 1


async def test_a_refused_address_fails_at_once(world, mailbox):
    mailbox.refused.add("bob@example.org")
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    (row,) = await world.rows()
    assert row.state == "failed"
    assert "550 no such mailbox" in row.error


async def test_a_server_that_is_down_is_tried_again_for_days(world, mailbox):
    mailbox.failing, mailbox.stages = 1.0, ("sender",)
    world.add_issue()
    await world.notify((2, "participating"))
    waits = timedelta(0)
    for _ in PAUSES:
        await world.worker.step()
        (row,) = await world.rows()
        assert row.state == "pending"
        waits += row.next_attempt_at - now()
        await world.make_due()
    assert waits > timedelta(days=2)
    await world.worker.step()
    (row,) = await world.rows()
    assert row.state == "failed"
    assert "451" in row.error


async def test_a_mail_of_a_worker_that_died_before_its_content_was_sent_is_sent_by_another(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    async with world.db.transaction() as tx:
        await store.claim(tx, 10, lease=timedelta(seconds=-1))
    await world.worker.step()
    assert len(mailbox.taken) == 1


async def test_a_mail_of_a_worker_that_died_while_its_content_was_sent_is_not_sent_again(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    async with world.db.transaction() as tx:
        rows = await store.claim(tx, 10, lease=timedelta(hours=1))
        assert await store.mark_submitted(tx, rows, "bob@example.org")
    await world.update_all(lease_until=now() - timedelta(seconds=1))
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, row.error, mailbox.taken) == ("failed", UNCONFIRMED, [])


@pytest.mark.parametrize(
    ("stage", "state", "taken"),
    [("RCPT", "sent", 1), ("DATA", "failed", 0), ("content", "failed", 1)],
    ids=["before the row is marked", "after the row is marked", "after the server took it"],
)
async def test_a_killed_worker_never_makes_a_mail_arrive_twice(world, mailbox, stage, state, taken):
    world.add_issue()
    await world.notify((2, "participating"))
    mailbox.silent_at = stage
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.mail.tests.child_worker",
        cwd=Path(__file__).parents[4],
        stdin=asyncio.subprocess.PIPE,
    )
    assert worker.stdin is not None
    worker.stdin.write(msgspec.json.encode(world.settings))
    worker.stdin.close()
    async with asyncio.timeout(120):
        await mailbox.is_silent.wait()
    worker.kill()
    await worker.wait()
    assert await world.worker.step() == 0

    await world.update_all(lease_until=now() - timedelta(seconds=1))
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, row.error) == (state, "" if state == "sent" else UNCONFIRMED)
    assert len(mailbox.taken) == taken


async def test_a_worker_whose_lease_has_ended_sends_nothing(world):
    world.add_issue()
    await world.notify((2, "participating"))
    async with world.db.transaction() as tx:
        first = await store.claim(tx, 10, lease=timedelta(seconds=-1))
    async with world.db.transaction() as tx:
        await store.claim(tx, 10, lease=timedelta(hours=1))
        assert not await store.mark_submitted(tx, first, "bob@example.org")


async def test_a_digest_is_one_mail(world, mailbox):
    await world.call("PATCH", "/user/mail-preferences", {"participating": "daily"}, user=2, scopes=["all"])
    for issue_id in (100, 101, 102):
        world.add_issue(issue_id, title=f"Title {issue_id}")
        await world.notify((2, "participating"), issue_id=issue_id)
    assert await world.worker.step() == 0
    world.issues.hidden.add((101, 2))
    await world.make_due()
    await world.worker.step()
    (message,) = mailbox.messages
    text = message.get_body(("plain",)).get_content()
    assert "Title 100" in text
    assert "Title 102" in text
    assert "Title 101" not in text
    assert [row.state for row in await world.rows()] == ["sent", "cancelled", "sent"]


async def test_watchers_get_releases_that_they_may_read(world, mailbox):
    world.add_person(3, "eve")
    world.repos.watchers[8] = [2, 3]
    world.repos.levels[8, 2] = AccessLevel(level="read")
    await world.deliver(release(repository_id=8))
    await world.worker.step()
    await world.worker.step()
    assert [recipient for recipient, _ in mailbox.taken] == ["bob@example.org"]


async def test_a_release_is_mailed_as_it_is_now(world, mailbox):
    world.repos.watchers[7] = [2]
    world.repos.releases[7, 3] = PublishedRelease(tag_name="v1", name="Second", body="Better notes")
    await world.deliver(release())
    await world.worker.step()
    await world.worker.step()
    (message,) = mailbox.messages
    assert message["Subject"] == "[ann/app] Release Second"
    assert "Better notes" in message.get_body(("plain",)).get_content()


async def test_a_release_that_was_deleted_is_not_mailed(world, mailbox):
    world.repos.watchers[7] = [2]
    await world.deliver(release())
    await world.worker.step()
    del world.repos.releases[7, 3]
    await world.worker.step()
    assert mailbox.taken == []
    assert "cancelled" in [row.state for row in await world.rows()]


async def test_a_message_of_identity_is_sent_to_its_address(world, mailbox):
    fields = {"url": "http://forge.test/reset/x", "expires": "tomorrow"}
    world.identity.messages[5] = Message(kind="password_reset", address="eve@example.org", fields=fields)
    await world.deliver(MessageRequested(message_id=5, kind="password_reset"))
    await world.worker.step()
    (message,) = mailbox.messages
    assert message["To"] == "eve@example.org"
    assert "http://forge.test/reset/x" in message.get_body(("plain",)).get_content()
    assert message["List-Unsubscribe"] is None


async def test_a_message_that_is_not_due_any_more_is_not_sent(world, mailbox):
    await world.deliver(MessageRequested(message_id=5, kind="password_reset"))
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, mailbox.taken) == ("cancelled", [])


async def test_a_secret_of_a_message_is_not_kept(world):
    fields = {"url": "http://forge.test/reset/secret", "expires": "tomorrow"}
    world.identity.messages[5] = Message(kind="password_reset", address="eve@example.org", fields=fields)
    await world.deliver(MessageRequested(message_id=5, kind="password_reset"))
    await world.worker.step()
    assert "secret" not in repr(await world.rows())
