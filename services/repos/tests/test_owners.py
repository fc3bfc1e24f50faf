"""Identity knows whose a repository is before anybody else hears of it, so that its owner is not deleted."""

import pytest

ABANDONED = "repos.repository.abandoned.v1"
WAYS = {
    "created": ("/user/repos", {"name": "new"}),
    "forked": ("/repos/ann/app/forks", {"name": "new"}),
    "migrated": ("/repos/migrate", {"clone_addr": "https://remote.invalid/x.git", "repo_name": "new"}),
}


@pytest.fixture
def settings():
    return {"allowed_remotes": ["remote.invalid"]}


async def told(world, kind):
    return [event for event in await world.events() if event["type"] == kind]


@pytest.mark.parametrize("way", WAYS)
async def test_identity_is_told_whose_a_new_repository_is(world, ann, bob, way):
    await ann.create("app")
    path, body = WAYS[way]
    made = await bob.post(path, body)
    assert made.status_code in (201, 202), made.text
    owned = world.identity.owned[made.json()["id"]]
    assert (owned.owner_id, owned.name, owned.private, owned.before) == (2, "new", False, 0)
    assert await told(world, ABANDONED) == []


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_of_a_new_repository_whose_owner_is_gone(world, ann, bob, way):
    await ann.create("app")
    await bob.create("known")
    del world.identity.accounts[2]
    path, body = WAYS[way]
    assert (await bob.post(path, body)).status_code == 404
    (id_,) = [id_ for id_, owned in world.identity.owned.items() if owned.name == "new"]
    assert {row.name for row in await world.rows("repository")} == {"app", "known"}
    assert [event["repository_id"] for event in await told(world, ABANDONED)] == [id_]
    world.user(2, "bob")
    assert (await bob.post(path, body)).status_code in (201, 202)


async def test_a_repository_that_is_deleted_before_it_was_ready_is_abandoned(world, ann, bob):
    await ann.create("app")
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    assert [event["repository_id"] for event in await told(world, ABANDONED)] == [fork["id"]]


async def test_a_new_owner_is_told_with_the_former_one(world, ann, bob):
    made = await ann.create("app")
    root = world.user(3, "root").but(admin=True)
    assert (await root.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 202
    owned = world.identity.owned[made["id"]]
    assert (owned.owner_id, owned.before) == (2, 1)


async def test_a_new_owner_who_is_gone_is_left_to_the_event(world, ann, bob):
    await ann.create("app")
    await bob.create("known")
    root = world.user(3, "root").but(admin=True)
    del world.identity.accounts[2]
    assert (await root.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 202
    (edited,) = await world.events("repository.edited")
    assert edited["repository"]["owner"]["id"] == 2
