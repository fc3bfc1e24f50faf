"""Blocks of users, and the actions that they forbid."""

import asyncio

import pytest

pytestmark = pytest.mark.both_databases


async def logins(world, path, as_):
    return [user["login"] for user in (await world.call("GET", path, as_=as_)).json()]


@pytest.mark.parametrize(("path", "caller"), [("/user/blocks", "mia"), ("/orgs/acme/blocks", "ann")])
async def test_a_block_is_listed_until_it_ends(world, acme, path, caller):
    for note in ("rude", ""):
        answer = await world.call("PUT", f"{path}/sam?note={note}", as_=caller)
        assert (answer.status_code, answer.content) == (204, b"")
    assert await logins(world, path, caller) == ["sam"]
    assert (await world.call("GET", f"{path}/sam", as_=caller)).status_code == 204
    for _ in range(2):
        assert (await world.call("DELETE", f"{path}/sam", as_=caller)).status_code == 204
    answer = await world.call("GET", f"{path}/sam", as_=caller)
    assert (answer.status_code, answer.content) == (404, b"")
    assert await logins(world, path, caller) == []


REFUSED = [
    ("sam", "/user/blocks/sam", 422),
    ("sam", "/user/blocks/nobody", 404),
    ("sam", "/user/blocks/acme", 404),
    ("sam", "/user/blocks/mia?note=" + "x" * 256, 422),
    ("ann", "/orgs/acme/blocks/mia", 422),
    ("ann", "/orgs/acme/blocks/ann", 422),
    ("ann", "/orgs/acme/blocks/nobody", 404),
    ("ann", "/orgs/ann/blocks/sam", 404),
    ("mia", "/orgs/acme/blocks/sam", 403),
]


async def test_not_everybody_can_be_blocked(world, acme):
    for caller, path, status in REFUSED:
        assert (await world.call("PUT", path, as_=caller)).status_code == status, (caller, path)
    assert await logins(world, "/orgs/acme/blocks", "ann") == []


@pytest.mark.parametrize(("follower", "followed"), [("mia", "sam"), ("sam", "mia")])
async def test_a_block_ends_and_forbids_following_in_both_directions(world, acme, follower, followed):
    path = f"/user/following/{followed}"
    assert (await world.call("PUT", path, as_=follower)).status_code == 204
    await world.call("PUT", "/user/blocks/sam", as_="mia")
    assert await logins(world, "/user/following", follower) == []
    answer = await world.call("PUT", path, as_=follower)
    assert (answer.status_code, answer.json()["message"]) == (403, "one of you has blocked the other")
    await world.call("DELETE", "/user/blocks/sam", as_="mia")
    assert (await world.call("PUT", path, as_=follower)).status_code == 204


async def test_nobody_follows_while_they_are_blocked(world, acme):
    for name in ("sam", "mia"):
        await world.call("GET", "/user", as_=name)
    for _ in range(5):
        await asyncio.gather(
            world.call("PUT", "/user/blocks/sam", as_="mia"),
            world.call("PUT", "/user/following/mia", as_="sam"),
        )
        assert await logins(world, "/user/following", "sam") == []
        await world.call("DELETE", "/user/blocks/sam", as_="mia")
