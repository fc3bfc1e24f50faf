"""Tokens with the scope public-only: their owner in public repositories, an anonymous caller elsewhere."""

import pytest


@pytest.fixture
async def token(world):
    """A token of ann, who owns `open` and `secret` and is a collaborator of the private `bob/shared`."""
    ann, bob = world.user(1, "ann"), world.user(2, "bob")
    for name, private in (("open", False), ("secret", True)):
        await ann.create(name, private=private, auto_init=True)
    for name, private in (("foreign", False), ("shared", True)):
        await bob.create(name, private=private, auto_init=True)
    await bob.call("PUT", "/api/v1/repos/bob/shared/collaborators/ann", {"permission": "admin"})
    return ann.but(restricted_to=[], public_only=True)


async def statuses(token, repository):
    edit = await token.call("PATCH", f"/api/v1/repos/{repository}", {"website": "https://x.test"})
    push = await token.call("GET", f"/{repository}.git/info/refs?service=git-receive-pack")
    return (await token.get(f"/repos/{repository}")).status_code, edit.status_code, push.status_code


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("ann/open", (200, 200, 200)),
        ("ann/secret", (404, 404, 404)),
        ("bob/shared", (404, 404, 404)),
        ("bob/foreign", (200, 403, 200)),  # a reader may propose commits by a push
    ],
)
async def test_a_token_for_what_is_public_writes_only_there(token, repository, expected):
    assert await statuses(token, repository) == expected


async def test_a_repository_that_becomes_private_is_closed_to_the_token(token):
    answer = await token.call("PATCH", "/api/v1/repos/ann/open", {"private": True})
    assert answer.status_code == 200
    assert await statuses(token, "ann/open") == (404, 404, 404)


async def test_the_token_lists_no_private_repository(token):
    names = {one["full_name"] for one in (await token.get("/user/repos")).json()}
    names |= {one["full_name"] for one in (await token.get("/repos/search?q=")).json()["data"]}
    assert names == {"ann/open", "bob/foreign"}


async def test_the_token_creates_no_repository(token):
    assert (await token.post("/user/repos", {"name": "new"})).status_code == 403
