"""Identity knows the owner of a new repository before anybody else does, so the owner is not deleted."""

import pytest

pytestmark = pytest.mark.both_databases

ABANDONED = "repos.repository.abandoned.v1"
WAYS = {
    "created": ("/user/repos", {"name": "new"}),
    "forked": ("/repos/ann/app/forks", {"name": "new"}),
    "migrated": ("/repos/migrate", {"clone_addr": "https://remote.invalid/x.git", "repo_name": "new"}),
}


@pytest.fixture
def settings():
    return {"allowed_remotes": ["remote.invalid"]}


async def payloads(world, kind):
    return [event for event in await world.events() if event["type"] == kind]


@pytest.mark.parametrize("way", WAYS)
async def test_identity_gets_the_owner_of_a_new_repository(world, ann, bob, way):
    await ann.create("app")
    path, body = WAYS[way]
    creation = await bob.post(path, body)
    assert creation.status_code in (201, 202), creation.text
    owned = world.identity.ownerships[creation.json()["id"]]
    assert (owned.owner_id, owned.name, owned.private, owned.before) == (2, "new", False, 0)
    assert await payloads(world, ABANDONED) == []


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_of_a_new_repository_whose_owner_was_deleted(world, ann, bob, way):
    await ann.create("app")
    await bob.create("known")
    del world.identity.accounts[2]
    path, body = WAYS[way]
    assert (await bob.post(path, body)).status_code == 404
    (id_,) = [id_ for id_, owned in world.identity.ownerships.items() if owned.name == "new"]
    assert {row.name for row in await world.rows("repository")} == {"app", "known"}
    assert [event["repository_id"] for event in await payloads(world, ABANDONED)] == [id_]
    world.user(2, "bob")
    assert (await bob.post(path, body)).status_code in (201, 202)


async def test_a_repository_that_is_deleted_before_it_was_ready_is_abandoned(world, ann, bob):
    await ann.create("app")
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    assert [event["repository_id"] for event in await payloads(world, ABANDONED)] == [fork["id"]]


async def test_identity_gets_the_new_owner_with_the_former_one(world, ann, bob):
    creation = await ann.create("app")
    root = world.user(3, "root").but(admin=True)
    assert (await root.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 202
    owned = world.identity.ownerships[creation["id"]]
    assert (owned.owner_id, owned.before) == (2, 1)


async def test_a_new_owner_who_was_deleted_is_left_to_the_event(world, ann, bob):
    await ann.create("app")
    await bob.create("known")
    root = world.user(3, "root").but(admin=True)
    del world.identity.accounts[2]
    assert (await root.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 202
    (edited,) = await world.events("repository.edited")
    assert edited["repository"]["owner"]["id"] == 2
