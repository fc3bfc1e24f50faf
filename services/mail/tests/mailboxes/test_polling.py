"""Replies from a real mailbox: each becomes a comment once, and is marked."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.errors import ApiError, TooManyRequests, Unavailable
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.settings import SettingsError
from ingot_mail.app import create_app
from ingot_mail.mailboxes import jobs
from ingot_mail.mailboxes.clients import MailboxError
from ingot_mail.mailboxes.jobs import MailboxPoller
from ingot_mail.replies.jobs import receiving
from ingot_testing.processes import free_port

from ..replies.test_receiving import address_of, comments, mail
from .dovecot import running_dovecot


@pytest.fixture
async def dovecot():
    async with running_dovecot() as dovecot:
        yield dovecot


def poller_of(world, dovecot, **changes):
    settings = dovecot.settings_of(world.settings, **changes)
    return MailboxPoller(Jobs(world.db), settings, world.receive)


@pytest.mark.parametrize("security", ["tls", "starttls", "none"])
async def test_a_reply_in_the_mailbox_is_one_comment(world, dovecot, security):
    port = dovecot.tls_port if security == "tls" else dovecot.port
    poller = poller_of(world, dovecot, imap_security=security, imap_port=port)
    await dovecot.deliver(mail(address_of(world)))
    await poller.poll()
    assert comments(world) == [(100, 2, "I agree.")]
    assert (await dovecot.count(which="SEEN"), await dovecot.count()) == (1, 1)
    await poller.poll()
    assert len(comments(world)) == 1


async def test_received_mails_are_moved_to_the_folder_of_the_settings(world, dovecot):
    await dovecot.create_folder("Done")
    await dovecot.deliver(mail(address_of(world)), mail("team@example.org", message_id="<2@laptop>"))
    await poller_of(world, dovecot, imap_done_folder="Done").poll()
    assert (await dovecot.count(), await dovecot.count("Done")) == (0, 2)
    assert len(comments(world)) == 1


async def test_ignored_and_refused_mails_are_marked(world, dovecot):
    await dovecot.deliver(
        mail("team@example.org"),
        mail(address_of(world), sender="eve@example.org", message_id="<2@laptop>"),
        b"no mail",
    )
    await poller_of(world, dovecot).poll()
    assert (await dovecot.count(which="UNSEEN"), comments(world)) == (0, [])


async def test_a_mail_over_the_limit_is_ignored_and_marked(world, dovecot):
    received = []

    async def receive(content):
        received.append(len(content))
        return await world.receive(content)

    settings = dovecot.settings_of(world.settings, reply_max_bytes=2_000)
    await dovecot.deliver(mail(address_of(world), "x" * 10_000))
    await MailboxPoller(Jobs(world.db), settings, receive).poll()
    assert (received, await dovecot.count(which="UNSEEN")) == ([2_001], 0)


@pytest.mark.parametrize("owner", ["identity", "issues"])
async def test_a_reply_waits_while_a_service_does_not_answer(world, dovecot, owner):
    poller = poller_of(world, dovecot)
    await dovecot.deliver(mail(address_of(world)))
    getattr(world, owner).unavailable = True
    with pytest.raises(ApiError):
        await poller.poll()
    assert await dovecot.count(which="UNSEEN") == 1
    getattr(world, owner).unavailable = False
    await poller.poll()
    assert (len(comments(world)), await dovecot.count(which="UNSEEN")) == (1, 0)


async def test_a_sender_over_the_limit_delays_no_other_person(world, dovecot, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_PER_HOUR", 1)
    poller = poller_of(world, dovecot)
    bob, ann = address_of(world, 2), address_of(world, 1)
    second = mail(bob, "Second.\n", message_id="<2@laptop>")
    await dovecot.deliver(mail(bob, "First.\n"), second, mail(ann, "Mine.\n", sender="ann@example.org"))
    await poller.poll()
    assert [body for _, _, body in comments(world)] == ["First.", "Mine."]
    assert await dovecot.count(which="UNSEEN") == 1
    monkeypatch.setattr(receiving, "MOST_PER_HOUR", 2)
    await poller.poll()
    assert await dovecot.count(which="UNSEEN") == 1
    monkeypatch.setattr(jobs, "DEFERRAL", timedelta(0))
    await poller.poll()
    assert [body for _, _, body in comments(world)] == ["First.", "Mine.", "Second."]


async def test_a_mail_over_the_limit_of_its_sender_is_fetched_once_in_an_hour(world, dovecot, monkeypatch):
    fetched = []

    async def receive(content):
        fetched.append(content)
        raise TooManyRequests

    monkeypatch.setattr(jobs, "MOST_DEFERRED", 1)
    poller = MailboxPoller(Jobs(world.db), dovecot.settings_of(world.settings), receive)
    await dovecot.deliver(mail(address_of(world)))
    for _ in range(2):
        await poller.poll()
    assert len(fetched) == 1
    await dovecot.deliver(mail(address_of(world), message_id="<2@laptop>"))
    for _ in range(2):
        await poller.poll()
    assert len(fetched) == 3


def failing_receiver(world, parts, received):
    """A receiver that fails for mails with one of these parts, as a service does that refuses with 503."""

    async def receive(content):
        received.append(content)
        if any(part in content for part in parts):
            raise Unavailable
        return await world.receive(content)

    return receive


async def test_a_mail_that_fails_delays_no_other_one(world, dovecot):
    receive = failing_receiver(world, [b"Bad"], [])
    poller = MailboxPoller(Jobs(world.db), dovecot.settings_of(world.settings), receive)
    texts = ("Bad.\n", "Second.\n", "Third.\n")
    address = address_of(world)
    await dovecot.deliver(*(mail(address, text, message_id=f"<{n}@laptop>") for n, text in enumerate(texts)))
    with pytest.raises(Unavailable):
        await poller.poll()
    assert [body for _, _, body in comments(world)] == ["Second.", "Third."]
    assert await dovecot.count(which="UNSEEN") == 1


async def test_three_failures_in_a_row_end_a_poll_and_the_next_begins_with_other_mails(world, dovecot):
    received = []
    receive = failing_receiver(world, [b"Bad"], received)
    poller = MailboxPoller(Jobs(world.db), dovecot.settings_of(world.settings), receive)
    texts = ("Bad 1.\n", "Bad 2.\n", "Bad 3.\n", "Good.\n")
    address = address_of(world)
    await dovecot.deliver(*(mail(address, text, message_id=f"<{n}@laptop>") for n, text in enumerate(texts)))
    with pytest.raises(Unavailable):
        await poller.poll()
    assert (len(received), comments(world)) == (3, [])
    with pytest.raises(Unavailable):
        await poller.poll()
    assert [body for _, _, body in comments(world)] == ["Good."]


WRONG = {
    "password": ({"imap_password": "wrong"}, "check INGOT_MAIL_IMAP_USER and INGOT_MAIL_IMAP_PASSWORD"),
    "folder": ({"imap_folder": "Lost"}, "check INGOT_MAIL_IMAP_FOLDER"),
    "done folder": ({"imap_done_folder": "Lost"}, "check INGOT_MAIL_IMAP_DONE_FOLDER"),
    "authority": ({"imap_ca_file": ""}, "INGOT_MAIL_IMAP_CA_FILE"),
    "host": ({"imap_host": "127.0.0.2"}, "127.0.0.2"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_setting_is_named(world, dovecot, case):
    changes, reason = WRONG[case]
    await dovecot.deliver(mail(address_of(world)))
    with pytest.raises(MailboxError, match=reason):
        await poller_of(world, dovecot, **changes).poll()
    assert (comments(world), await dovecot.count(which="UNSEEN")) == ([], 1)


async def test_the_password_is_in_no_error(world, dovecot):
    with pytest.raises(MailboxError) as raised:
        await poller_of(world, dovecot, imap_password="hunter2 is wrong").poll()
    assert "hunter2" not in repr(raised.value) + repr(raised.value.__cause__)


async def test_one_process_polls_at_a_time_and_again_after_a_pause(world, dovecot):
    poller = poller_of(world, dovecot)
    await poller.schedule()
    await poller.schedule()
    await dovecot.deliver(mail(address_of(world)))
    workers = [Workers("mail", Jobs(world.db), poller.work()) for _ in range(2)]
    assert sorted(await asyncio.gather(*(each.step() for each in workers))) == [0, 1]
    job = world.db.metadata.tables["job"]
    async with world.db.read() as db:
        (row,) = (await db.execute(select(job.c.state, job.c.run_at))).all()
    assert row.state == "waiting"
    assert timedelta(seconds=30) < row.run_at - now() <= timedelta(seconds=60)


async def test_a_failed_poll_waits_longer_each_time(world, dovecot):
    poller = poller_of(world, dovecot, imap_port=free_port())
    await poller.schedule()
    workers = Workers("mail", Jobs(world.db), poller.work())
    job, pauses = world.db.metadata.tables["job"], []
    for _ in range(4):
        before = now()
        assert await workers.step() == 1
        async with world.db.transaction() as tx:
            (row,) = (await tx.execute(select(job.c.run_at, job.c.last_error))).all()
            await tx.execute(update(job).values(run_at=before))
        assert "localhost" in row.last_error
        pauses.append(row.run_at - before)
    assert pauses[0] >= timedelta(seconds=1)
    assert pauses[3] >= timedelta(seconds=8)


async def test_a_death_between_the_comment_and_the_mark_makes_one_comment(world, dovecot):
    settings = dovecot.settings_of(world.settings)
    await dovecot.deliver(mail(address_of(world)))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.mail.tests.child_poller",
        cwd=Path(__file__).parents[4],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(settings))
    process.stdin.close()
    async with asyncio.timeout(120):
        while (line := await process.stdout.readline()) not in (b"1\n", b""):
            pass
    process.kill()
    await process.wait()
    assert line == b"1\n"
    assert await dovecot.count(which="UNSEEN") == 1

    await poller_of(world, dovecot).poll()
    assert await dovecot.count(which="UNSEEN") == 0
    # The comment of the other process is known by its row here, so issues gets none again.
    assert comments(world) == []


async def test_tokens_of_a_mailbox_need_its_user(settings):
    changes = {"imap_host": "localhost", "imap_oauth_url": "https://login.example.org", "imap_user": ""}
    without = msgspec.structs.replace(settings, reply_address="reply+{token}@forge.test", **changes)
    with pytest.raises(SettingsError, match="INGOT_MAIL_IMAP_USER"):
        create_app(without)


async def test_a_mailbox_needs_an_address_for_replies(settings):
    without = msgspec.structs.replace(settings, imap_host="localhost", reply_address="")
    with pytest.raises(SettingsError, match="INGOT_MAIL_IMAP_HOST"):
        create_app(without)
