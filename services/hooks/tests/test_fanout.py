"""Events become deliveries: once, for the hooks that want them; and the end of owners."""

from typing import Any

import pytest
from sqlalchemy import select

from ingot_chassis.principal import Membership
from ingot_contracts.identity import OrganizationDeleted
from ingot_contracts.issues import CommentChanged, IssueChanged
from ingot_contracts.repos import NO_COMMIT, RepositoryDeleted

from .builders import ACME, ANN, comment, hook, issue, push, repository, status
from .conftest import World

ORGANIZED = repository(11, owner=ACME)


async def make(world: World, path: str = "/repos/ann/app", **more: Any) -> int:
    held = {50: Membership(owner=True)}
    made = await world.call("POST", f"{path}/hooks", hook(**more), held=held)
    assert made.status_code == 201
    return int(made.json()["id"])


async def deliveries(world: World) -> list[Any]:
    table = world.db.metadata.tables["delivery"]
    async with world.db.read() as db:
        return list((await db.execute(table.select().order_by(table.c.number))).all())


async def test_an_event_is_queued_once_however_often_it_arrives(world: World) -> None:
    await make(world)
    event = push()
    await world.hear(event, id_="e1")
    await world.hear(event, id_="e1")
    assert [(row.event_id, row.event, row.state) for row in await deliveries(world)] == [
        ("e1", "push", "pending")
    ]


async def test_a_new_branch_is_told_by_create_and_then_push(world: World) -> None:
    await make(world, events=["create", "push"])
    await world.hear(push(before=NO_COMMIT))
    assert [(row.event, row.sequence) for row in await deliveries(world)] == [("create", 1), ("push", 2)]


async def test_only_subscribed_active_hooks_of_the_repository_are_told(world: World) -> None:
    wanted = await make(world)
    await make(world, events=["issues"])
    await make(world, active=False)
    await make(world, branch_filter="release/*")
    await make(world, path="/repos/ann/other")
    await make(world, path="/orgs/acme")
    await world.hear(push())
    assert [row.hook_id for row in await deliveries(world)] == [wanted]


async def test_hooks_of_the_owning_organization_are_told_too(world: World) -> None:
    organization = await make(world, path="/orgs/acme", events=["issues"])
    await world.hear(IssueChanged(action="opened", issue=issue(), repository=ORGANIZED, sender=ANN))
    assert [(row.hook_id, row.action) for row in await deliveries(world)] == [(organization, "opened")]


async def test_the_sequence_rises_per_hook_and_repository(world: World) -> None:
    await make(world, path="/orgs/acme")
    for of in (ORGANIZED, ORGANIZED, repository(12, owner=ACME)):
        await world.hear(push(of=of))
    assert [row.sequence for row in await deliveries(world)] == [1, 2, 1]


async def test_a_deleted_repository_tells_the_organization_and_loses_its_hooks(world: World) -> None:
    own = await make(world)
    organization = await make(world, path="/orgs/acme", events=["repository"])
    of = repository(7, owner=ACME)
    await world.hear(push(of=of))
    await world.hear(RepositoryDeleted(repository=of, sender=ANN, owner_kind="organization"))
    assert [(row.hook_id, row.event, row.state) for row in await deliveries(world)] == [
        (own, "push", "cancelled"),
        (organization, "repository", "pending"),
    ]
    assert (await world.call("GET", f"/repos/ann/app/hooks/{own}")).status_code == 404
    outbox = world.db.metadata.tables["outbox"]
    async with world.db.read() as db:
        told = (await db.execute(select(outbox.c.type, outbox.c.key))).all()
    assert [tuple(one) for one in told] == [("hooks.repository.forgotten.v1", "7")]


async def test_a_deleted_organization_loses_its_hooks(world: World) -> None:
    await make(world, path="/orgs/acme")
    await world.hear(push(of=ORGANIZED))
    await world.hear(OrganizationDeleted(organization_id=50, login="acme"))
    assert [row.state for row in await deliveries(world)] == ["cancelled"]


@pytest.mark.parametrize("end", ["DELETE", "PATCH"])
async def test_the_end_of_a_hook_cancels_what_waits(world: World, end: str) -> None:
    id_ = await make(world)
    await world.hear(push())
    await world.call(end, f"/repos/ann/app/hooks/{id_}", {"active": False} if end == "PATCH" else None)
    (row,) = await deliveries(world)
    assert row.state == "cancelled"
    assert row.error


async def test_fan_out_takes_a_constant_number_of_statements(world: World) -> None:
    from sqlalchemy import event

    counts = []
    for hooks in (1, 5):
        for _ in range(hooks):
            await make(world)
        statements: list[str] = []
        count = lambda *args: statements.append(args[2])  # noqa: E731, B023
        event.listen(world.db.writing.sync_engine, "before_cursor_execute", count)
        await world.hear(push())
        event.remove(world.db.writing.sync_engine, "before_cursor_execute", count)
        counts.append(len(statements))
    assert counts[0] == counts[1]


async def test_a_status_is_told_to_those_who_asked_for_it(world: World) -> None:
    wanted = await make(world, events=["status"])
    await make(world)
    await world.hear(status())
    assert [(row.hook_id, row.event, row.kind) for row in await deliveries(world)] == [
        (wanted, "status", "status")
    ]


async def test_a_comment_on_a_pull_request_is_a_kind_of_its_own(world: World) -> None:
    both = await make(world, events=["issue_comment"])
    pulls = await make(world, events=["pull_request_comment"])
    for is_pull in (True, False):
        await world.hear(
            CommentChanged(
                action="created",
                issue=issue(),
                comment=comment(),
                repository=repository(),
                sender=ANN,
                is_pull=is_pull,
            )
        )
    assert [row.hook_id for row in await deliveries(world)] == [both, pulls, both]
