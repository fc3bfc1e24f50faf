"""The limit of repositories per account, for all ways to get one."""

import asyncio

import pytest


@pytest.fixture
def settings():
    return {"max_repositories": 2}


async def test_an_account_owns_no_more_than_it_may(world, ann, bob):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    await bob.create("theirs")
    for name in ("one", "two"):
        await ann.create(name)
    for path, body in (
        ("/user/repos", {"name": "three"}),
        ("/repos/bob/theirs/forks", {}),
        ("/repos/migrate", {"clone_addr": "https://example.org/a.git", "repo_name": "three"}),
    ):
        answer = await ann.post(path, body)
        assert (answer.status_code, "2 repositories" in answer.text) == (403, True), answer.text
    for name in ("three", "four"):
        assert (await ann.post("/org/acme/repos", {"name": name})).status_code == 201
    assert (await ann.post("/repos/acme/three/transfer", {"new_owner": "ann"})).status_code == 403
    assert (await ann.post("/repos/ann/one/transfer", {"new_owner": "acme"})).status_code == 403
    assert {one["name"] for one in (await ann.get("/users/ann/repos")).json()} == {"one", "two"}
    await ann.call("DELETE", "/api/v1/repos/ann/one")
    await ann.create("three")


async def test_who_has_as_many_as_they_may_accepts_no_transfer(world, ann, bob):
    await ann.create("app")
    assert (await ann.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 202
    for name in ("one", "two"):
        await bob.create(name)
    answer = await bob.post("/repos/ann/app/transfer/accept")
    assert (answer.status_code, "2 repositories" in answer.text) == (403, True)
    assert len(await world.rows("transfer")) == 1


async def test_administrators_let_an_account_have_more(world, ann, bob):
    root = bob.but(admin=True)
    for name in ("one", "two", "three"):
        assert (await root.post("/admin/users/ann/repos", {"name": name})).status_code == 201


async def test_the_limit_holds_for_requests_at_the_same_time(world, ann):
    answers = await asyncio.gather(*(ann.post("/user/repos", {"name": f"r{n}"}) for n in range(6)))
    assert sorted(answer.status_code for answer in answers) == [201, 201, 403, 403, 403, 403]
