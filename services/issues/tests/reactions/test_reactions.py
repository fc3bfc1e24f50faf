"""Reactions to issues and comments."""

import pytest


@pytest.mark.parametrize("path", ["/issues/1/reactions", "/issues/comments/1/reactions"])
async def test_people_react_once_with_each_content(world, path):
    await world.open_issue()
    await world.call("POST", "/issues/1/comments", {"body": "x"})
    for who, content, status in ((3, "+1", 201), (3, "+1", 200), (3, "heart", 201), (1, "+1", 201)):
        answer = await world.call("POST", path, {"content": content}, as_=who)
        assert (answer.status_code, answer.json()["content"]) == (status, content)
    listed = await world.call("GET", path, as_=0)
    assert [(one["user"]["login"], one["content"]) for one in listed.json()] == [
        ("cat", "+1"),
        ("cat", "heart"),
        ("ann", "+1"),
    ]
    assert listed.headers["x-total-count"] == "3"
    assert len((await world.call("GET", f"{path}?limit=2&page=2")).json()) == 1
    for _ in range(2):
        assert (await world.call("DELETE", path, {"content": "+1"}, as_=3)).status_code == 204
    assert len((await world.call("GET", path)).json()) == 2


async def test_reactions_of_an_issue_and_of_its_comments_are_apart(world):
    await world.open_issue()
    await world.call("POST", "/issues/1/comments", {"body": "x"})
    await world.call("POST", "/issues/comments/1/reactions", {"content": "eyes"})
    assert (await world.call("GET", "/issues/1/reactions")).json() == []
    await world.call("DELETE", "/issues/comments/1")
    assert (await world.call("GET", "/issues/comments/1/reactions")).status_code == 404


@pytest.mark.parametrize("content", ["", "lol", "+1 ", "x" * 1000, None])
async def test_other_contents_are_refused(world, content):
    await world.open_issue()
    answer = await world.call("POST", "/issues/1/reactions", {"content": content})
    assert answer.status_code == 422
    assert "content" in answer.text


async def test_on_a_locked_issue_only_writers_react(world):
    await world.open_issue()
    await world.call("PUT", "/issues/1/lock", {})
    for who, status in ((3, 403), (2, 201)):
        answer = await world.call("POST", "/issues/1/reactions", {"content": "+1"}, as_=who)
        assert answer.status_code == status


async def test_what_is_no_comment_gets_no_reactions(world):
    await world.open_issue()
    await world.call("PATCH", "/issues/1", {"title": "other"})
    [row] = await world.timeline()
    path = f"/issues/comments/{row['id']}/reactions"
    assert (await world.call("POST", path, {"content": "+1"})).status_code == 404
    assert (await world.call("GET", path)).status_code == 404


async def test_reactions_to_several_objects_are_listed_at_once(world):
    for _ in range(2):
        await world.open_issue()
        await world.call("POST", "/issues/1/comments", {"body": "x"})
    for who, path in (
        (3, "/issues/1"),
        (1, "/issues/2"),
        (3, "/issues/comments/1"),
        (1, "/issues/comments/2"),
    ):
        await world.call("POST", f"{path}/reactions", {"content": "eyes"}, as_=who)

    async def listed(query):
        answer = await world.call("GET", f"/issues/reactions?{query}", as_=0)
        return [(one["user"]["login"], one["number"], one["comment_id"]) for one in answer.json()]

    assert await listed("issues=1,2&comments=2") == [("cat", 1, None), ("ann", 2, None), ("ann", 1, 2)]
    assert await listed("issues=1&issues=9&limit=1") == [("cat", 1, None)]
    assert await listed("comments=1,2&page=2&limit=1") == [("ann", 1, 2)]
    assert await listed("comments=x") == []
    counted = await world.call("GET", "/issues/reactions?issues=1,2")
    assert counted.headers["x-total-count"] == "2"


async def test_a_list_of_reactions_names_at_most_fifty_objects(world):
    numbers = ",".join(str(number) for number in range(1, 52))
    answer = await world.call("GET", f"/issues/reactions?comments={numbers}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "comments"
