"""Comments of reviews on lines: Bob (2) proposes, Ann (1) and Cat (3) talk about a line."""

import pytest

from ingot_contracts.repos.comparisons import DiffCounts

from ..builders import BASE, HEAD, NEXT, comparison, push

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


async def test_a_comment_on_a_line_is_changed_and_deleted_and_both_are_announced(world):
    await world.propose()
    line = await world.comment_on_line()
    reply = await world.create(f"/pulls/1/comments/{line}/replies", {"body": "why?"}, as_=3)
    path = f"/pulls/comments/{line}"
    edited = await world.call("PATCH", path, {"body": "well"})
    shown = (await world.call("GET", path, as_=3)).json()
    assert (edited.status_code, edited.json()["body"], edited.json()) == (200, "well", shown)
    assert (await world.call("PATCH", path, {"body": "well"})).status_code == 200
    deleted = await world.call("DELETE", path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await world.call("GET", path)).status_code == 404
    assert await comments(world) == [reply]

    events = await world.payloads("issues.comment.changed.v1")
    assert [event["action"] for event in events] == ["edited", "deleted"], "what stays the same is no change"
    assert events[0]["changes"] == {"body": {"from": "hm"}}
    for event in events:
        comment, sender = event["comment"], event["sender"]["login"]
        assert (comment["id"], comment["body"], comment["user"]["login"]) == (line, "well", "ann")
        assert comment["html_url"].endswith(f"/ann/app/pulls/1#pullrequestreviewcomment-{line}")
        assert (event["is_pull"], event["on_line"], sender) == (True, True, "ann")
        assert event["issue"]["number"] == 1
        assert event["pull_request"]["base"]["ref"] == "main"


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(("as_", "status"), [(0, 401), (1, 200), (2, 403), (3, 200), (4, 403)])
async def test_a_comment_on_a_line_is_changed_by_its_author_and_administrators(world, method, as_, status):
    """Ann administers the repository, Cat has written the comment."""
    await world.propose()
    line = await world.comment_on_line(as_=3)
    answer = await world.call(method, f"/pulls/comments/{line}", {"body": "x"}, as_=as_)
    assert answer.status_code == (204 if (method, status) == ("DELETE", 200) else status), answer.text
    changed = [] if method == "DELETE" else ["x"]
    assert [one["body"] for one in await comments(world)] == (changed if status == 200 else ["hm"])


async def test_a_pending_comment_is_changed_by_its_author_alone_and_nobody_hears_of_it(world):
    await world.propose()
    line = await world.comment_on_line(as_=3, event="PENDING")
    path = f"/pulls/comments/{line}"
    for method in ("GET", "PATCH", "DELETE"):
        assert (await world.call(method, path, {"body": "x"})).status_code == 404
    assert (await world.call("PATCH", path, {"body": "@bob"}, as_=3)).json()["body"] == "@bob"
    assert (await world.call("DELETE", path, as_=3)).status_code == 204
    await world.work()
    assert await world.payloads("issues.comment.changed.v1") == []
    assert (await world.call("GET", "//notifications", as_=2)).json() == []


async def test_whom_a_change_mentions_for_the_first_time_hears_of_it(world):
    await world.propose(as_=1)
    await world.open_issue(as_=3)  # issues has a copy of her account
    line = await world.comment_on_line()
    await world.work()
    for body in ("so", "so, @cat"):
        await world.call("PATCH", f"/pulls/comments/{line}", {"body": body})
        await world.work()
        shown = (await world.call("GET", "//notifications", as_=3)).json()
        assert len(shown) == ("@" in body)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/pulls/comments/{line}", {"body": " "}, 422),
        ("/pulls/comments/{line}", {"body": "x" * 200_000}, 422),
        ("/pulls/comments/999", {"body": "x"}, 404),
        ("//repos/dan/app/pulls/comments/{line}", {"body": "x"}, 404),
    ],
)
async def test_what_cannot_be_changed_stays(world, path, body, status):
    await world.propose()
    line = await world.comment_on_line()
    answer = await world.call("PATCH", path.format(line=line), body, as_=1)
    assert answer.status_code == status, answer.text
    assert [one["body"] for one in await comments(world)] == ["hm"]


async def test_ids_of_comments_on_lines_and_of_others_do_not_mix(world):
    await world.propose()
    line = await world.comment_on_line()
    await world.create("/issues/1/comments", {"body": "talk"})
    comment_id = (await world.call("GET", "/issues/1/comments")).json()[0]["id"]
    await world.call("DELETE", f"/pulls/comments/{line}")
    assert (await world.call("GET", f"/issues/comments/{comment_id}")).json()["body"] == "talk"
    assert (await world.call("GET", f"/pulls/comments/{line}")).status_code == 404


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
