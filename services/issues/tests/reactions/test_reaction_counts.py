"""Reactions to an issue and its comments, counted."""

import pytest

pytestmark = pytest.mark.both_databases


async def test_reactions_of_an_issue_and_its_comments_are_counted_at_once(world):
    await world.open_issue()
    await world.call("POST", "/issues/1/comments", {"body": "x"})
    for who, path, content in (
        (3, "/issues/1", "+1"),
        (1, "/issues/1", "+1"),
        (3, "/issues/1", "heart"),
        (3, "/issues/comments/1", "eyes"),
    ):
        await world.call("POST", f"{path}/reactions", {"content": content}, as_=who)
    counted = (await world.call("GET", "/issues/1/reactions/counts")).json()
    assert [(one["comment_id"], one["content"], one["count"], one["own"]) for one in counted] == [
        (None, "+1", 2, True),
        (None, "heart", 1, False),
        (1, "eyes", 1, False),
    ]
    page = await world.call("GET", "/issues/1/reactions/counts?limit=1&page=2")
    assert ([one["content"] for one in page.json()], page.headers["x-total-count"]) == (["heart"], "3")
    assert not any(
        one["own"] for one in (await world.call("GET", "/issues/1/reactions/counts", as_=0)).json()
    )
    assert (await world.call("GET", "/issues/9/reactions/counts")).status_code == 404
