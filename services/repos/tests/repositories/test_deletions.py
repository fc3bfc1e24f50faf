"""Deleting a repository: at once for every caller, and from disk when every service has confirmed it."""

import asyncio
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import PurgeRequested
from ingot_repos.repositories.rules.deletions import CONFIRMATION_TIME
from ingot_repos.upkeep.jobs.maintenance import Maintenance

from ..world import CONFIRMATIONS

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def deleted(ann):
    """The id of a repository that its owner has deleted."""
    repository = await ann.create("app", auto_init=True)
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    return repository["id"]


async def test_a_deleted_repository_is_gone_at_once_and_its_name_is_free(world, ann, deleted):
    assert (await ann.get("/repos/ann/app")).status_code == 404
    assert [event["type"] for event in await world.events("deleted")] == ["repos.repository.deleted.v1"]
    assert (await ann.create("app"))["id"] > deleted


async def test_a_purge_deletes_every_repository_of_the_account_and_no_other(world, ann, bob):
    for name in ("first", "second"):
        await ann.create(name, auto_init=True)
    await bob.create("other")
    root = User(id=9, login="root")
    await world.deliver(PurgeRequested(account_id=1, requested_by=root))
    await world.deliver(PurgeRequested(account_id=1, requested_by=root))
    await world.components.workers.step()
    assert [(await ann.get(f"/repos/ann/{name}")).status_code for name in ("first", "second")] == [404, 404]
    assert (await bob.get("/repos/bob/other")).status_code == 200
    deleted = await world.events("repository.deleted")
    assert [event["repository"]["name"] for event in deleted] == ["first", "second"]
    assert {event["sender"]["login"] for event in deleted} == {"root"}


async def test_an_owner_deletes_the_repositories_that_an_organization_has(world, ann, bob):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    owner = world.user(1, "ann")
    for name in ("first", "second"):
        assert (await owner.post("/orgs/acme/repos", {"name": name})).status_code == 201
    await owner.create("own")
    for person, status in ((world.user(0, ""), 401), (bob, 403)):
        assert (await person.call("DELETE", "/api/v1/orgs/acme/repos")).status_code == status
    answer = await owner.call("DELETE", "/api/v1/orgs/acme/repos")
    assert (answer.status_code, answer.content) == (202, b"")
    assert (await owner.post("/orgs/acme/repos", {"name": "later"})).status_code == 201
    await world.components.workers.step()
    statuses = [
        (await owner.get(f"/repos/{name}")).status_code
        for name in ("acme/first", "acme/second", "acme/later", "ann/own")
    ]
    assert statuses == [404, 404, 200, 200]
    assert (await owner.call("DELETE", "/api/v1/repos/acme/later")).status_code == 204
    assert (await owner.call("DELETE", "/api/v1/orgs/acme/repos")).status_code == 204
    assert (await owner.call("DELETE", "/api/v1/orgs/nobody/repos")).status_code == 404


async def test_identity_learns_of_it_at_once_if_it_answers(world, ann):
    first, second = [(await ann.create(name))["id"] for name in ("first", "second")]
    assert {first, second} <= world.identity.ownerships.keys()
    assert (await ann.call("DELETE", "/api/v1/repos/ann/first")).status_code == 204
    assert first not in world.identity.ownerships
    world.identity.unavailable = True
    assert (await ann.call("DELETE", "/api/v1/repos/ann/second")).status_code == 204


@pytest.mark.parametrize("last", CONFIRMATIONS)
async def test_its_files_are_freed_when_the_last_service_has_forgotten_it(world, deleted, last):
    for confirmation in CONFIRMATIONS:
        if confirmation is not last:
            await world.deliver(confirmation(repository_id=deleted))
            await world.deliver(confirmation(repository_id=deleted))
    assert (await world.components.workers.step(), world.components.storage.exists(deleted)) == (0, True)
    await world.deliver(last(repository_id=deleted))
    assert (await world.components.workers.step(), world.components.storage.exists(deleted)) == (1, False)
    assert await world.rows("tombstone") == []


async def test_of_services_that_confirm_at_once_one_is_the_last(world, deleted):
    await asyncio.gather(
        *(world.deliver(confirmation(repository_id=deleted)) for confirmation in CONFIRMATIONS)
    )
    assert (await world.components.workers.step(), world.components.storage.exists(deleted)) == (1, False)


async def test_nothing_is_freed_that_was_not_deleted(world, ann):
    survivor = await ann.create("app", auto_init=True)
    for confirmation in CONFIRMATIONS:
        await world.deliver(confirmation(repository_id=survivor["id"]))
    assert (await world.components.workers.step(), world.components.storage.exists(survivor["id"])) == (
        0,
        True,
    )


async def test_a_service_that_never_confirms_is_not_waited_for_without_end(world, deleted):
    await world.deliver(CONFIRMATIONS[0](repository_id=deleted))
    upkeep = Maintenance(world.components.jobs, world.components.storage, "shard-0")
    await upkeep.release_unconfirmed()
    assert (await world.components.workers.step(), world.components.storage.exists(deleted)) == (0, True)
    table = world.database.metadata.tables["tombstone"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(deleted_at=now() - CONFIRMATION_TIME - timedelta(days=1)))
    await upkeep.release_unconfirmed()
    assert (await world.components.workers.step(), world.components.storage.exists(deleted)) == (1, False)
