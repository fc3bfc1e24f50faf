"""Events become rows; none without an SMTP server, and none for what happened before mail was installed."""

from datetime import timedelta

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_contracts.hooks.events import HookDeactivated
from ingot_contracts.identity.events import UserDeleted
from ingot_contracts.issues.events import PeopleNotified
from ingot_contracts.issues.notices import NoticeSource, NotifiedPerson
from ingot_contracts.repos.events import ImportFinished
from ingot_mail.mails.jobs.contents import OUTDATED
from ingot_testing.service import count_statements, envelope_of

from ..builders import release, repository
from ..world import World


@pytest.fixture
async def silent(settings):
    world = World(msgspec.structs.replace(settings, smtp_host=""))
    yield world
    await world.close()


async def test_without_a_server_nothing_is_queued(silent):
    await silent.notify((2, "mentioned"))
    await silent.deliver(release())
    await silent.deliver(ImportFinished(repository=repository(), requested_by=1))
    assert await silent.rows() == []


async def test_events_before_the_installation_are_ignored(world):
    event = PeopleNotified(
        repository_id=7,
        issue_id=100,
        source=NoticeSource(),
        people=[NotifiedPerson(account_id=2, reason="mentioned")],
    )
    old = msgspec.structs.replace(envelope_of(event), occurred_at=now() - timedelta(days=1))
    await world.app.state.parts.consumers.apply(old)
    assert await world.rows() == []


async def test_only_a_published_release_is_mailed(world):
    await world.deliver(release("updated"))
    await world.deliver(release("deleted"))
    assert await world.rows() == []


async def test_the_responsible_user_hears_of_a_hook_that_was_switched_off(world, mailbox):
    await world.deliver(
        HookDeactivated(
            hook_id=4, creator_id=1, reason="the endpoint answered 410 Gone", repository_id=7, host="ci.test"
        )
    )
    await world.worker.step()
    ((recipient, content),) = mailbox.taken
    assert recipient == "ann@example.org"
    assert b"ci.test" in content
    assert b"410 Gone" in content


@pytest.mark.parametrize(("reason", "subject"), [("", "finished"), ("unreachable", "failed")])
async def test_the_importer_hears_of_the_end_of_an_import(world, mailbox, reason, subject):
    await world.deliver(ImportFinished(repository=repository(), requested_by=1, reason=reason))
    await world.worker.step()
    (message,) = mailbox.messages
    assert subject in message["Subject"]


async def test_the_mails_of_a_deleted_account_are_cancelled(world, mailbox):
    world.add_issue()
    await world.notify((2, "mentioned"))
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert await world.worker.step() == 0
    (row,) = await world.rows()
    assert (row.state, mailbox.taken) == ("cancelled", [])


async def test_many_people_cost_as_many_statements_as_one(world):
    counts = []
    for people in (1, 50):
        with count_statements(world.db) as statements:
            await world.notify(*((number + 1, "watching") for number in range(people)))
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_all_failed_checks_of_a_head_are_one_mail(world, mailbox):
    world.add_issue(is_pull=True)
    for head in ("a" * 40, "a" * 40, "b" * 40):
        await world.fail(head)
    await world.worker.step()
    texts = sorted(message.get_body(("plain",)).get_content() for message in mailbox.messages)
    assert [text.partition(".")[0] for text in texts] == [
        "A check of pull request #12 failed at aaaaaaaaaa",
        "A check of pull request #12 failed at bbbbbbbbbb",
    ]
    await world.fail("a" * 40, issue_id=101)
    assert len(await world.rows()) == 3


@pytest.mark.parametrize("change", [{"state": "closed"}, {"state": "merged"}, {"head_sha": "b" * 40}])
async def test_a_failed_check_that_matters_no_more_is_no_mail(world, mailbox, change):
    world.add_issue(is_pull=True, head_sha="a" * 40)
    await world.fail("a" * 40)
    world.add_issue(is_pull=True, **{"head_sha": "a" * 40} | change)
    await world.worker.step()
    (row,) = await world.rows()
    assert (row.state, row.error, mailbox.taken) == ("cancelled", OUTDATED, [])
