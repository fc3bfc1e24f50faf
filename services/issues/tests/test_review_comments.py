"""Comments of reviews on lines: Bob (2) proposes, Ann (1) and Cat (3) talk about a line."""

import pytest

from ingot_contracts.pulls import DiffCounts

from .builders import BASE, HEAD, NEXT, comparison, push

DIFF = """diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,2 +1,2 @@
-old
+{line}
 same
"""


async def comments(world, review=1, *, as_=1):
    answer = await world.call("GET", f"/pulls/1/reviews/{review}/comments", as_=as_)
    return answer.json()


async def test_a_reply_is_in_the_review_of_what_it_answers(world):
    await world.propose()
    line = await world.comment_on_line()
    answer = await world.call("POST", f"/pulls/1/comments/{line}/replies", {"body": "why?"}, as_=3)
    assert answer.status_code == 201, answer.text
    reply = answer.json()
    assert (reply["body"], reply["path"], reply["position"], reply["pull_request_review_id"]) == (
        "why?", "a", 1, 1,
    )  # fmt: skip
    assert [(one["user"]["login"], one["body"]) for one in await comments(world)] == [
        ("ann", "hm"),
        ("cat", "why?"),
    ]
    await world.comment_on_line(event="PENDING")
    for as_, bodies in ((1, ["hm", "why?", "hm"]), (3, ["hm", "why?"])):
        every = await world.call("GET", "/pulls/1/comments", as_=as_)
        assert [one["body"] for one in every.json()] == bodies
        assert every.headers["x-total-count"] == str(len(bodies))
    [listed] = (await world.call("GET", "/pulls")).json()
    assert (listed["review_comments"], listed["comments"]) == (2, 0)
    await world.work()
    assert (await world.call("GET", "//notifications")).json() != []


@pytest.mark.parametrize(
    ("path", "body", "as_", "status"),
    [
        ("/pulls/1/comments/{line}/replies", {"body": " "}, 3, 422),
        ("/pulls/1/comments/{line}/replies", {"body": "x" * 200_000}, 3, 422),
        ("/pulls/1/comments/999/replies", {"body": "x"}, 3, 404),
        ("/pulls/2/comments/{line}/replies", {"body": "x"}, 3, 404),
        ("/pulls/1/comments/{pending}/replies", {"body": "x"}, 3, 404),
        ("/pulls/comments/{pending}/resolve", None, 2, 404),
        ("/pulls/comments/999/resolve", None, 2, 404),
        ("/pulls/comments/{line}/resolve", None, 3, 403),
    ],
)
async def test_what_cannot_be_answered_or_resolved(world, path, body, as_, status):
    await world.propose()
    await world.propose(head="two")
    line = await world.comment_on_line()
    pending = await world.comment_on_line(event="PENDING")
    answer = await world.call("POST", path.format(line=line, pending=pending), body, as_=as_)
    assert answer.status_code == status, answer.text


async def test_a_conversation_is_resolved_as_a_whole_until_it_is_opened_again(world):
    await world.propose()
    line = await world.comment_on_line()
    await world.call("POST", f"/pulls/1/comments/{line}/replies", {"body": "why?"}, as_=3)
    for name, resolver in (("resolve", "bob"), ("resolve", "bob"), ("unresolve", None)):
        answer = await world.call("POST", f"/pulls/comments/{line}/{name}", as_=2)
        assert (answer.status_code, answer.content) == (204, b"")
        shown = [one["resolver"] and one["resolver"]["login"] for one in await comments(world)]
        assert shown == [resolver, resolver]


@pytest.mark.parametrize(("line", "outdated"), [("new", False), ("other", True)])
async def test_a_comment_is_outdated_when_its_line_has_changed(world, line, outdated):
    await world.propose_many("fix")
    world.repos.diff = DIFF.format(line="new")
    await world.comment_on_line()
    assert [one["outdated"] for one in await comments(world)] == [False]
    world.repos.diff = DIFF.format(line=line)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    assert [one["outdated"] for one in await comments(world)] == [outdated]


async def test_what_a_pull_request_changes_is_counted_once_for_each_head(world):
    world.repos.comparison = comparison(counts=DiffCounts(additions=3, deletions=2, changed_files=1))
    await world.propose_many("fix")
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["additions"], shown["deletions"], shown["changed_files"]) == (3, 2, 1)
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.deliver(push(after=NEXT))
    await world.work()
    assert (world.comparisons()[-1].counted_base, world.comparisons()[-1].counted_head) == (BASE, HEAD)
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["base"]["sha"], shown["changed_files"]) == (NEXT, 1)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["additions"] is None
