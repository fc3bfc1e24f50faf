"""Asking people for reviews."""

import pytest

from .builders import repository

REQUESTS = "/pulls/1/requested_reviewers"


async def reviewers(world):
    pull = (await world.call("GET", "/pulls/1")).json()
    return [person["login"] for person in pull["requested_reviewers"]]


async def test_people_are_asked_once_and_are_shown(world):
    await world.propose()
    for _ in range(2):
        answer = await world.call("POST", REQUESTS, {"reviewers": ["Cat", "ann", "cat"]}, as_=2)
        assert [(one["user"]["login"], one["state"]) for one in answer.json()] == [
            ("cat", "REQUEST_REVIEW"),
            ("ann", "REQUEST_REVIEW"),
        ]
    assert await reviewers(world) == ["cat", "ann"]
    listed = (await world.call("GET", "/pulls")).json()[0]
    assert [person["login"] for person in listed["requested_reviewers"]] == ["cat", "ann"]
    events = await world.payloads("issues.review.requested.v1")
    assert [(event["reviewer"]["login"], event["removed"]) for event in events] == [
        ("cat", False),
        ("ann", False),
    ]
    assert [
        row["assignee"]["login"] for row in await world.timeline() if row["type"] == "review_request"
    ] == [
        "cat",
        "ann",
    ]


async def test_who_has_reviewed_is_not_asked_any_more(world):
    await world.propose()
    await world.call("POST", REQUESTS, {"reviewers": ["cat", "ann"]})
    await world.call("POST", "/pulls/1/reviews", {"event": "APPROVED"}, as_=3)
    assert await reviewers(world) == ["ann"]
    assert (await world.call("DELETE", REQUESTS, {"reviewers": ["ann", "bob"]})).status_code == 204
    assert await reviewers(world) == []
    events = await world.payloads("issues.review.requested.v1")
    assert (events[-1]["reviewer"]["login"], events[-1]["removed"]) == ("ann", True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reviewers": ["nobody"]}, "reviewers"),
        ({"reviewers": ["bob"]}, "reviewers"),
        ({"team_reviewers": ["team"]}, "team_reviewers"),
        ({"reviewers": [f"u{number}" for number in range(11)]}, "reviewers"),
        ({"reviewers": ["x" * 256]}, "reviewers"),
    ],
)
async def test_who_cannot_review_is_not_asked(world, body, field):
    await world.propose()
    answer = await world.call("POST", REQUESTS, body)
    assert answer.status_code == 422
    assert field in answer.text
    assert await reviewers(world) == []


async def test_somebody_who_may_not_read_the_repository_is_not_asked(world):
    await world.propose()
    world.repos.repositories[7] = repository(private=True)
    assert (await world.call("POST", REQUESTS, {"reviewers": ["dan"]})).status_code == 422


async def test_somebody_who_was_asked_may_say_no_but_for_nobody_else(world):
    await world.propose()
    await world.call("POST", REQUESTS, {"reviewers": ["cat", "ann"]})
    for names, status in ((["cat", "ann"], 403), (["ann"], 403), ([], 403), (["Cat"], 204)):
        answer = await world.call("DELETE", REQUESTS, {"reviewers": names}, as_=3)
        assert answer.status_code == status, names
    assert await reviewers(world) == ["ann"]
