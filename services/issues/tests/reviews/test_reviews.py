"""Reviews of pull requests: Bob (2) proposes, others review."""

import pytest

from ingot_testing.service import count_statements

from ..builders import HEAD, NEXT, comparison

REVIEWS = "/pulls/1/reviews"


async def review(world, event, *, as_=1, status=200, **fields):
    answer = await world.call("POST", REVIEWS, {"event": event, **fields}, as_=as_)
    assert answer.status_code == status, answer.text
    return answer.json()


async def states(world, *, as_=1):
    answer = await world.call("GET", REVIEWS, as_=as_)
    assert int(answer.headers["x-total-count"]) == len(answer.json())
    return [(one["user"]["login"], one["state"]) for one in answer.json()]


async def test_an_approval_is_shown_announced_and_in_the_timeline(world):
    await world.propose()
    approved = await review(world, "APPROVED", body="good")
    page = "http://127.0.0.1:3000/ann/app/pulls/1"
    assert approved == approved | {
        "state": "APPROVED", "body": "good", "commit_id": HEAD, "stale": False, "official": True,
        "dismissed": False, "comments_count": 0, "html_url": f"{page}#pullrequestreview-1",
        "pull_request_url": page,
    }  # fmt: skip
    assert approved["user"]["login"] == "ann"
    assert (await world.call("GET", f"{REVIEWS}/{approved['id']}", as_=3)).json() == approved | {
        "user": approved["user"]
    }
    [event] = await world.payloads("issues.review.changed.v1")
    assert (event["action"], event["review"]["id"], event["sender"]["login"]) == (
        "submitted",
        approved["id"],
        "ann",
    )
    assert (await world.timeline())[-1] | {"review_id": approved["id"], "body": "good", "type": "review"} == (
        await world.timeline()
    )[-1]


async def test_a_review_is_official_only_from_writers(world):
    await world.propose()
    assert (await review(world, "APPROVE", as_=3))["official"] is False
    assert (await review(world, "COMMENT", body="x"))["official"] is False


async def test_a_pending_review_is_seen_by_its_author_only(world):
    await world.propose()
    pending = await review(world, "PENDING", as_=3, comments=[{"path": "a", "body": "hm", "new_position": 1}])
    assert (await states(world, as_=3), await states(world), await states(world, as_=0)) == (
        [("cat", "PENDING")],
        [],
        [],
    )
    for method, path in (("GET", ""), ("GET", "/comments"), ("DELETE", ""), ("POST", "")):
        answer = await world.call(method, f"{REVIEWS}/{pending['id']}{path}", {"event": "COMMENT"})
        assert answer.status_code == 404, method
    assert (await review(world, "", as_=3, body="more"))["id"] == pending["id"]
    assert await world.payloads("issues.review.changed.v1") == []
    submitted = await world.call("POST", f"{REVIEWS}/{pending['id']}", {"event": "REQUEST_CHANGES"}, as_=3)
    assert submitted.json() | {"state": "REQUEST_CHANGES", "body": "more", "comments_count": 1} == (
        submitted.json()
    )
    assert await states(world, as_=0) == [("cat", "REQUEST_CHANGES")]
    assert (await world.call("POST", f"{REVIEWS}/{pending['id']}", {}, as_=3)).status_code == 404


async def test_a_review_that_was_begun_is_submitted_with_the_next(world):
    await world.propose()
    pending = await review(world, "PENDING", comments=[{"path": "a", "body": "one", "old_position": 2}])
    whole = await review(world, "COMMENT", comments=[{"path": "b", "body": "two", "new_position": 3}])
    assert (whole["id"], whole["comments_count"]) == (pending["id"], 2)
    comments = (await world.call("GET", f"{REVIEWS}/{whole['id']}/comments", as_=0)).json()
    assert [(one["path"], one["original_position"], one["position"]) for one in comments] == [
        ("a", 2, 0),
        ("b", 0, 3),
    ]
    assert comments[0]["commit_id"] == HEAD
    assert comments[0]["user"]["email"] == ""


async def test_a_request_for_a_review_leaves_a_review_pending(world):
    await world.propose()
    answer = await world.call("POST", REVIEWS, {"event": "REQUEST_REVIEW", "body": "Look"}, as_=1)
    assert (answer.status_code, answer.json()["state"]) == (200, "PENDING"), answer.text


@pytest.mark.parametrize(
    ("who", "body", "field"),
    [
        (2, {"event": "APPROVED"}, "event"),
        (2, {"event": "REQUEST_CHANGES", "body": "x"}, "event"),
        (1, {"event": "COMMENT"}, "body"),
        (1, {"event": "REQUEST_CHANGES", "body": " "}, "body"),
        (1, {"event": "LGTM"}, "event"),
        (1, {"event": "COMMENT", "body": "x", "commit_id": "main"}, "commit_id"),
        (
            1,
            {"event": "COMMENT", "comments": [{"path": "a", "body": "x", "new_position": -1}]},
            "new_position",
        ),
        (1, {"event": "COMMENT", "comments": [{"path": "a" * 2001, "body": "x"}]}, "path"),
        (1, {"event": "COMMENT", "comments": [{"path": "a", "body": "x"}] * 101}, "comments"),
        (1, {"event": "COMMENT", "comments": [{"body": "x"}]}, "path"),
    ],
)
async def test_a_review_that_cannot_be_is_refused(world, who, body, field):
    await world.propose()
    answer = await world.call("POST", REVIEWS, body, as_=who)
    assert answer.status_code == 422
    assert field in answer.text
    assert await states(world) == []


async def test_a_closed_pull_request_is_commented_but_not_decided(world):
    await world.propose()
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    await review(world, "APPROVED", status=422)
    await review(world, "COMMENT", body="late")
    assert await states(world) == [("ann", "COMMENT")]


async def test_on_a_locked_pull_request_only_writers_review(world):
    await world.propose()
    await world.call("PUT", "/issues/1/lock", {})
    await review(world, "COMMENT", body="x", as_=3, status=403)
    await review(world, "COMMENT", body="x")


async def test_a_review_is_stale_when_the_head_has_moved(world):
    await world.propose_many("fix")
    approved = await review(world, "APPROVED")
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.call("POST", "/pulls/1/merge")
    shown = (await world.call("GET", f"{REVIEWS}/{approved['id']}")).json()
    assert (shown["stale"], shown["commit_id"]) == (True, HEAD)


async def test_a_dismissed_review_counts_no_more_until_it_is_restored(world):
    await world.propose()
    first, second = await review(world, "APPROVED"), await review(world, "REQUEST_CHANGES", body="no")
    path = f"{REVIEWS}/{second['id']}"
    for who, status in ((2, 403), (3, 403), (0, 401)):
        assert (await world.call("POST", f"{path}/dismissals", {}, as_=who)).status_code == status
    dismissed = await world.call("POST", f"{path}/dismissals", {"message": "old", "priors": True})
    assert dismissed.json()["dismissed"] is True
    assert (await world.call("GET", f"{REVIEWS}/{first['id']}")).json()["dismissed"] is True
    assert (await world.timeline())[-1]["type"] == "dismiss_review"
    assert (await world.call("POST", f"{path}/undismissals")).json()["dismissed"] is False
    comment = await review(world, "COMMENT", body="x")
    assert (await world.call("POST", f"{REVIEWS}/{comment['id']}/dismissals", {})).status_code == 422
    actions = [event["action"] for event in await world.payloads("issues.review.changed.v1")]
    assert actions == ["submitted", "submitted", "dismissed", "undismissed", "submitted"]


async def test_a_review_of_another_pull_request_is_not_found(world):
    await world.propose()
    await world.propose(head="two")
    approved = await review(world, "APPROVED")
    for path in ("", "/comments"):
        assert (await world.call("GET", f"/pulls/2/reviews/{approved['id']}{path}")).status_code == 404
    assert (await world.call("DELETE", f"/pulls/2/reviews/{approved['id']}")).status_code == 404
    assert (await world.call("DELETE", f"{REVIEWS}/{approved['id']}")).status_code == 204
    assert await states(world) == []


async def test_a_list_of_reviews_takes_as_many_statements_for_many(world):
    await world.propose()
    counts = []
    for _ in range(2):
        for who in (1, 3, 4):
            await review(world, "COMMENT", body="x", as_=who)
        with count_statements(world.db) as statements:
            await states(world)
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1] <= 4


@pytest.mark.parametrize(
    ("as_", "admin", "status"), [(1, False, 403), (2, False, 403), (3, False, 204), (4, True, 204)]
)
async def test_a_review_is_deleted_by_its_author_and_site_administrators(world, as_, admin, status):
    await world.propose()
    approved = await review(world, "APPROVED", as_=3)
    answer = await world.http.delete(
        f"/api/v1/repos/ann/app{REVIEWS}/{approved['id']}", headers=world.headers(as_, admin=admin)
    )
    assert answer.status_code == status, answer.text
