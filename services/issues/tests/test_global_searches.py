"""Issues of all repositories that the caller may read."""

import pytest

from ingot_chassis.testing.service import count_statements
from ingot_contracts.identity import User
from ingot_contracts.repos import RepositoryEdited

from .builders import repository

SEARCH = "//repos/issues/search"
LIBRARY = "//repos/ann/lib"


async def numbers(world, query="", *, as_=1):
    answer = await world.call("GET", f"{SEARCH}{query}", as_=as_)
    assert answer.status_code == 200, answer.text
    rows = [f"{issue['repository']['name']}#{issue['number']}" for issue in answer.json()]
    assert "page=" in query or int(answer.headers["x-total-count"]) == len(rows), query
    return rows


@pytest.fixture
async def issues(world):
    """Two issues and a pull request of ann/app, one issue of ann/lib, which is private and which Bob may read."""
    world.add_library(private=True)
    await world.create_label("bug")
    await world.create_milestone("v1")
    await world.open_issue("It burns", labels=["bug"], milestone=1)
    await world.open_issue("It smokes", closed=True)
    await world.propose()
    await world.create(f"{LIBRARY}/issues", {"title": "It smells", "assignee": "bob"})
    return world


async def test_only_what_the_caller_may_read_is_listed_and_counted(issues):
    assert await numbers(issues) == ["lib#1", "app#3", "app#1"]
    assert await numbers(issues, as_=2) == ["lib#1", "app#3", "app#1"]
    assert await numbers(issues, as_=3) == ["app#3", "app#1"]
    assert await numbers(issues, as_=0) == ["app#3", "app#1"]


async def test_a_restricted_token_reads_nothing_private_elsewhere(issues):
    answer = await issues.call("GET", SEARCH, restricted_to=[7])
    assert [issue["repository"]["name"] for issue in answer.json()] == ["app", "app"]
    answer = await issues.call("GET", SEARCH, scopes=["read:repository"])
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?state=all", ["lib#1", "app#3", "app#2", "app#1"]),
        ("?state=", ["lib#1", "app#3", "app#1"]),
        ("?state=closed", ["app#2"]),
        ("?type=pulls", ["app#3"]),
        ("?type=issues", ["lib#1", "app#1"]),
        ("?q=BURN", ["app#1"]),
        ("?labels=Bug", ["app#1"]),
        ("?labels=none", []),
        ("?milestones=V1", ["app#1"]),
        ("?owner=ann", ["lib#1", "app#3", "app#1"]),
        ("?owner=bob", []),
        ("?created_by=bob", ["app#3"]),
        ("?created=true", ["lib#1", "app#1"]),
        ("?assigned=true", []),
        ("?created=true&assigned=1", ["lib#1", "app#1"]),
        ("?since=2100-01-01T00:00:00Z", []),
        ("?before=2100-01-01T00:00:00Z", ["lib#1", "app#3", "app#1"]),
        ("?page=2&limit=2", ["app#1"]),
    ],
)
async def test_a_search_filters(issues, query, expected):
    assert await numbers(issues, query) == expected


async def test_what_the_caller_is_assigned_to(issues):
    assert await numbers(issues, "?assigned=true", as_=2) == ["lib#1"]
    assert await numbers(issues, "?assigned=true", as_=0) == []


@pytest.mark.parametrize(
    "query", ["team=x", "mentioned=true", "owner=nobody", "labels=" + ",".join(map(str, range(51)))]
)
async def test_a_filter_that_means_nothing_is_refused(issues, query):
    answer = await issues.call("GET", f"{SEARCH}?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == query.split("=")[0]


async def test_issues_of_a_unit_that_is_switched_off_are_left_out(issues):
    await numbers(issues)
    for fields, expected in (
        ({"has_issues": False}, ["lib#1", "app#3"]),
        ({"has_pull_requests": False}, ["lib#1", "app#1"]),
    ):
        edited = RepositoryEdited(repository=repository(**fields), sender=User(id=1, login="ann"))
        await issues.deliver(edited)
        assert await numbers(issues) == expected


async def test_a_search_takes_as_many_statements_for_many_repositories(issues):
    counts = []
    for more in range(2):
        for repository_id in range(20 + 5 * more, 25 + 5 * more):
            issues.repos.add(repository(repository_id, name=f"r{repository_id}"))
            await issues.create(f"//repos/ann/r{repository_id}/issues", {"title": "x"})
        await numbers(issues)
        with count_statements(issues.db) as statements:
            await numbers(issues, "?q=x")
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 8


async def test_what_the_caller_has_reviewed_or_is_to_review(world):
    await world.propose()
    await world.propose(head="two")
    await world.call("POST", "/pulls/1/requested_reviewers", {"reviewers": ["cat"]})
    await world.call("POST", "/pulls/2/reviews", {"event": "COMMENT", "body": "x"}, as_=3)
    await world.call("POST", "/pulls/1/reviews", {"event": "PENDING"}, as_=1)
    for query, expected in {
        "?review_requested=true": ["app#1"],
        "?reviewed=true": ["app#2"],
        "?reviewed=true&review_requested=true": ["app#2", "app#1"],
    }.items():
        assert await numbers(world, query, as_=3) == expected
        assert await numbers(world, query) == []
