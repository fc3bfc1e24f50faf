"""Events become deliveries, once, for the subscribed hooks; and owners that are deleted."""

from typing import Any

import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.hooks.events import HooksForgotten
from ingot_contracts.identity.events import OrganizationDeleted
from ingot_contracts.issues.events import CommentChanged, IssueChanged
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.events import RepositoryDeleted
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.deliveries.rules import fanout
from ingot_hooks.deliveries.rules.fanout import Announcement, EventNotices
from ingot_hooks.payloads.rules import notices
from ingot_testing.service import count_statements, emitted_events

from ..builders import ACME, ANN, comment, hook, issue, push, repository, status
from ..world import HOOKS, World

pytestmark = pytest.mark.both_databases

ORGANIZED = repository(11, owner=ACME)


async def create_hook(world: World, path: str = "/repos/ann/app", **fields: Any) -> int:
    organizations = {50: Membership(owner=True)}
    response = await world.call("POST", f"{path}/hooks", hook(**fields), organizations=organizations)
    assert response.status_code == 201
    return int(response.json()["id"])


async def test_an_event_that_arrives_again_queues_nothing(world):
    await create_hook(world)
    event = push()
    await world.deliver(event, event_id="e1")
    await world.deliver(event, event_id="e1")
    assert [(row.event_id, row.event, row.state) for row in await world.rows("delivery")] == [
        ("e1", "push", "pending")
    ]


async def test_a_new_branch_makes_create_and_then_push(world):
    await create_hook(world, events=["create", "push"])
    await world.deliver(push(before=NO_COMMIT))
    assert [(row.event, row.sequence) for row in await world.rows("delivery")] == [("create", 1), ("push", 2)]


async def test_only_subscribed_active_hooks_of_the_repository_get_an_event(world):
    subscribed = await create_hook(world)
    await create_hook(world, events=["issues"])
    await create_hook(world, active=False)
    await create_hook(world, branch_filter="release/*")
    await create_hook(world, path="/repos/ann/other")
    await create_hook(world, path="/orgs/acme")
    await world.deliver(push())
    assert [row.hook_id for row in await world.rows("delivery")] == [subscribed]


async def test_hooks_of_the_owning_organization_get_it_too(world):
    organization = await create_hook(world, path="/orgs/acme", events=["issues"])
    await world.deliver(IssueChanged(action="opened", issue=issue(), repository=ORGANIZED, sender=ANN))
    assert [(row.hook_id, row.action) for row in await world.rows("delivery")] == [(organization, "opened")]


async def test_the_sequence_rises_per_hook_and_repository(world):
    await create_hook(world, path="/orgs/acme")
    for target in (ORGANIZED, ORGANIZED, repository(12, owner=ACME)):
        await world.deliver(push(target=target))
    assert [row.sequence for row in await world.rows("delivery")] == [1, 2, 1]


async def test_a_deleted_repository_loses_its_hooks_and_those_of_the_organization_get_it(world):
    own = await create_hook(world)
    organization = await create_hook(world, path="/orgs/acme", events=["repository"])
    target = repository(7, owner=ACME)
    await world.deliver(push(target=target))
    await world.deliver(RepositoryDeleted(repository=target, sender=ANN, owner_kind="organization"))
    assert [(row.hook_id, row.event, row.state) for row in await world.rows("delivery")] == [
        (own, "push", "cancelled"),
        (organization, "repository", "pending"),
    ]
    assert (await world.call("GET", f"/repos/ann/app/hooks/{own}")).status_code == 404
    assert await emitted_events(world.db, HooksForgotten) == [HooksForgotten(repository_id=7)]


async def test_a_deleted_organization_loses_its_hooks(world):
    await create_hook(world, path="/orgs/acme")
    await world.deliver(push(target=ORGANIZED))
    await world.deliver(OrganizationDeleted(organization_id=50, login="acme"))
    assert [row.state for row in await world.rows("delivery")] == ["cancelled"]


@pytest.mark.parametrize("end", ["DELETE", "PATCH"])
async def test_the_end_of_a_hook_cancels_its_pending_deliveries(world, end):
    hook_id = await create_hook(world)
    await world.deliver(push())
    await world.call(end, f"/repos/ann/app/hooks/{hook_id}", {"active": False} if end == "PATCH" else None)
    (row,) = await world.rows("delivery")
    assert row.state == "cancelled"
    assert row.error


async def test_fan_out_takes_a_constant_number_of_statements(world):
    counts = []
    for hooks in (1, 5):
        for _ in range(hooks):
            await create_hook(world)
        with count_statements(world.db) as statements:
            await world.deliver(push())
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_many_events_take_as_many_statements_as_one(world):
    await create_hook(world)
    await create_hook(world, path="/orgs/acme")
    counts = []
    for number in (1, 10):
        events = [
            EventNotices(notices.notices_of_push(push(target=target)), f"{number}-{target.id}-{one}")
            for one in range(number)
            for target in (repository(), ORGANIZED)
        ]
        with count_statements(world.db) as statements:
            async with world.db.transaction() as tx:
                assert await fanout.queue_notices(tx, events) == 2 * number
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_events_that_come_together_keep_their_order_in_each_lane(world):
    own = await create_hook(world, events=["create", "push"])
    organization = await create_hook(world, path="/orgs/acme")
    other = repository(12, owner=ACME)
    pushes = [
        push(before=NO_COMMIT),
        push(target=ORGANIZED),
        push(target=other),
        push(),
        push(target=ORGANIZED),
    ]
    events = [EventNotices(notices.notices_of_push(one), f"e{number}") for number, one in enumerate(pushes)]
    for some in (events[:2], events[2:]):
        async with world.db.transaction() as tx:
            await fanout.queue_notices(tx, some)
    assert [
        (row.event_id, row.event, row.hook_id, row.repository_id, row.sequence)
        for row in await world.rows("delivery")
    ] == [
        ("e0", "create", own, 7, 1),
        ("e0", "push", own, 7, 2),
        ("e1", "push", organization, 11, 1),
        ("e2", "push", organization, 12, 1),
        ("e3", "push", own, 7, 3),
        ("e4", "push", organization, 11, 2),
    ]


async def test_a_status_is_for_the_hooks_that_subscribe_to_it(world):
    subscribed = await create_hook(world, events=["status"])
    await create_hook(world)
    await world.deliver(status())
    assert [(row.hook_id, row.event, row.kind) for row in await world.rows("delivery")] == [
        (subscribed, "status", "status")
    ]


async def test_a_comment_on_a_pull_request_is_a_kind_of_its_own(world):
    both = await create_hook(world, events=["issue_comment"])
    pulls = await create_hook(world, events=["pull_request_comment"])
    for is_pull in (True, False):
        await world.deliver(
            CommentChanged(
                action="created",
                issue=issue(),
                comment=comment(),
                repository=repository(),
                sender=ANN,
                is_pull=is_pull,
            )
        )
    assert [row.hook_id for row in await world.rows("delivery")] == [both, pulls, both]


async def test_a_hook_that_was_deleted_meanwhile_gets_nothing(world):
    remaining_id, deleted_id = await create_hook(world), await create_hook(world)
    async with world.db.read() as db:
        recipients = await store.list_active(db, {7}, {1})
    await world.call("DELETE", f"{HOOKS}/{deleted_id}")
    (notice,) = notices.notices_of_push(push())
    async with world.db.transaction() as tx:
        await fanout.queue_deliveries(tx, [Announcement(notice, "e1", recipients)])
    assert [row.hook_id for row in await world.rows("delivery")] == [remaining_id]
