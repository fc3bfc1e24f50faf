"""Asking people for reviews."""

import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.events import OrganizationDeleted, TeamDeleted, TeamEdited
from ingot_contracts.identity.teams import Team
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.reviewers.store import teams

from ..builders import APP, repository

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
        ({"team_reviewers": ["x" * 256]}, "team_reviewers"),
        ({"team_reviewers": [f"t{number}" for number in range(11)]}, "team_reviewers"),
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


OPS, DOCS = 31, 32


@pytest.fixture
def organized(world):
    """The world, with an organization as owner of ann/app. Its teams are ops (Cat) and docs (no members)."""
    world.repos.organizations.add(1)
    world.identity.add_team(OPS, 1, name="ops", description="runs it")
    world.identity.add_team(DOCS, 1, "read", name="docs")
    world.repos.teams[APP] = [OPS, DOCS]
    world.repos.writing_teams = {OPS}
    world.identity.join(3, 1, teams={OPS: "write"})
    return world


async def requested_teams(world):
    return [
        team["name"] for team in (await world.call("GET", "/pulls/1")).json()["requested_reviewers_teams"]
    ]


async def test_a_team_is_asked_is_shown_and_hears_of_it_and_a_member_answers(organized):
    world = organized
    created = await world.propose(reviewers=["ann"])
    assert [one["login"] for one in created["requested_reviewers"]] == ["ann"]
    for _ in range(2):
        answer = await world.call("POST", REQUESTS, {"team_reviewers": ["Ops", "docs"]})
        shown = [(one["user"], one["team"]["name"], one["official"]) for one in answer.json()]
        assert shown == [(None, "ops", True), (None, "docs", False)]
    pull = (await world.call("GET", "/pulls/1")).json()
    assert pull["requested_reviewers_teams"][0] == {
        "id": OPS, "name": "ops", "description": "", "permission": "", "organization": None, "units": [],
        "units_map": {}, "includes_all_repositories": False, "can_create_org_repo": False,
        "visibility": "limited",
    }  # fmt: skip
    assert [one["login"] for one in pull["requested_reviewers"]] == ["ann"]
    listed = (await world.call("GET", "/pulls/1/reviews")).json()
    assert [(one["user"] or one["team"]).get("name") for one in listed] == [None, "ops", "docs"]
    events = await world.payloads("issues.review.requested.v1")
    assert [event["team"] and event["team"]["name"] for event in events] == [None, "ops", "docs"]
    rows = [row for row in await world.timeline() if row["type"] == "review_request"]
    assert "runs it" not in repr([pull, listed, events, rows])
    assert [(row["assignee"] or row["assignee_team"]).get("name") for row in rows] == [None, "ops", "docs"]
    await world.work()
    threads = await world.call("GET", "//notifications", as_=3)
    assert [thread["subject"]["title"] for thread in threads.json()] == ["Fix"]
    member = world.headers(3, organizations={1: Membership(teams={OPS: "write"})})
    path = "/api/v1/repos/ann/app/pulls/1/reviews"
    await world.http.post(path, json={"event": "COMMENT", "body": "hm"}, headers=member)
    assert await requested_teams(world) == ["ops", "docs"]
    await world.http.post(path, json={"event": "APPROVED"}, headers=member)
    assert await requested_teams(world) == ["docs"]


async def test_a_team_is_asked_no_longer(organized):
    world = organized
    created = await world.propose(as_=1, team_reviewers=["ops", "docs"])
    assert [one["name"] for one in created["requested_reviewers_teams"]] == ["ops", "docs"]
    answer = await world.call("DELETE", REQUESTS, {"team_reviewers": ["ops"]}, as_=2)
    assert (answer.status_code, await requested_teams(world)) == (422, ["ops", "docs"])  # Bob knows no team
    answer = await world.call("DELETE", REQUESTS, {"team_reviewers": ["ops"]})
    assert (answer.status_code, await requested_teams(world)) == (204, ["docs"])
    event = (await world.payloads("issues.review.requested.v1"))[-1]
    assert (event["team"]["name"], event["removed"]) == ("ops", True)
    row = (await world.timeline())[-1]
    assert (row["assignee_team"]["name"], row["removed_assignee"]) == ("ops", True)
    for team_id, name in ((DOCS, "Writers"), (99, "unknown")):
        await world.deliver(
            TeamEdited(team=Team(id=team_id, organization_id=1, name=name, permission="read"))
        )
    assert await requested_teams(world) == ["Writers"]
    await world.deliver(TeamDeleted(organization_id=1, team_id=DOCS))
    assert await requested_teams(world) == []
    await world.call("POST", REQUESTS, {"team_reviewers": ["ops"]})
    assert await requested_teams(world) == ["ops"]
    await world.deliver(OrganizationDeleted(organization_id=1, login="ann"))
    assert await requested_teams(world) == []


async def test_only_a_team_that_has_a_private_repository_is_asked_and_only_approvers_are_official(organized):
    world = organized
    await world.propose()
    world.repos.repositories[APP] = repository(private=True)
    world.repos.teams[APP] = [DOCS]
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", approvers=[], approving_teams=[DOCS])
    refused = await world.call("POST", REQUESTS, {"team_reviewers": ["ops"]})
    assert (refused.status_code, await requested_teams(world)) == (422, [])
    answer = await world.call("POST", REQUESTS, {"team_reviewers": ["docs"]})
    assert [one["official"] for one in answer.json()] == [True]


async def test_a_team_with_all_repositories_is_asked_of_a_private_one(organized):
    world = organized
    await world.propose()
    world.repos.repositories[APP] = repository(private=True)
    world.repos.teams[APP] = []
    for flag, status in ((False, 422), (True, 201)):
        world.identity.add_team(OPS, 1, name="ops", includes_all_repositories=flag)
        answer = await world.call("POST", REQUESTS, {"team_reviewers": ["ops"]})
        assert answer.status_code == status, answer.text
    assert [one["official"] for one in answer.json()] == [True]


async def test_a_team_without_the_repository_is_not_official_and_one_that_is_gone_is_not_asked(
    organized, monkeypatch
):
    world = organized
    world.repos.teams[APP] = [DOCS]
    world.repos.writing_teams.clear()
    await world.propose()
    answer = await world.call("POST", REQUESTS, {"team_reviewers": ["ops"]})
    assert [one["official"] for one in answer.json()] == [False]
    lock_existing = teams.lock_existing

    async def lock_after_deletion(tx, ids):
        await teams.remove(tx, DOCS)  # as by an event that came between the copy and the request
        return await lock_existing(tx, ids)

    monkeypatch.setattr(teams, "lock_existing", lock_after_deletion)
    answer = await world.call("POST", REQUESTS, {"team_reviewers": ["docs"]})
    assert (answer.status_code, answer.json(), await requested_teams(world)) == (201, [], ["ops"])
    assert len(await world.payloads("issues.review.requested.v1")) == 1
