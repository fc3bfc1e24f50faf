"""Issues of all repositories that the caller may read."""

import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.access import ReadableRepositories
from ingot_contracts.repos.events import RepositoryEdited
from ingot_issues.accounts import store as accounts
from ingot_testing.service import count_statements

from ..builders import account, repository

pytestmark = pytest.mark.both_databases

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
    """Two issues and a pull request of ann/app, and one issue of ann/lib, which is private.

    Bob may read both.
    """
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


FILTERS = {
    "?state=all": ["lib#1", "app#3", "app#2", "app#1"],
    "?state=": ["lib#1", "app#3", "app#1"],
    "?state=closed": ["app#2"],
    "?type=pulls": ["app#3"],
    "?type=issues": ["lib#1", "app#1"],
    "?q=BURN": ["app#1"],
    "?labels=Bug": ["app#1"],
    "?labels=none": [],
    "?milestones=V1": ["app#1"],
    "?owner=ann": ["lib#1", "app#3", "app#1"],
    "?owner=bob": [],
    "?owner=nobody": [],
    "?created_by=bob": ["app#3"],
    "?created=true": ["lib#1", "app#1"],
    "?assigned=true": [],
    "?created=true&assigned=1": ["lib#1", "app#1"],
    "?since=2100-01-01T00:00:00Z": [],
    "?before=2100-01-01T00:00:00Z": ["lib#1", "app#3", "app#1"],
    "?page=2&limit=2": ["app#1"],
}


async def test_a_search_filters(issues):
    assert {query: await numbers(issues, query) for query in FILTERS} == FILTERS


async def test_what_the_caller_is_assigned_to(issues):
    assert await numbers(issues, "?assigned=true", as_=2) == ["lib#1"]
    assert await numbers(issues, "?assigned=true", as_=0) == []


@pytest.mark.parametrize(
    "query",
    ["team=x", "team=ops&owner=ann", "team=ops&owner=nobody", "labels=" + ",".join(map(str, range(51)))],
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
    assert 0 < counts[0] == counts[1] <= 8


async def test_a_search_without_a_repository_asks_no_further(issues):
    with count_statements(issues.db) as statements:
        assert await numbers(issues, "?review_requested=true", as_=4) == []
    assert len(statements) <= 2


@pytest.mark.parametrize(
    ("query", "person", "searched"),
    [("", 2, [7, 9]), ("?created=true", 1, [7, 9]), ("?created=true", 2, [7]), ("?assigned=true", 2, [9])],
)
async def test_own_issues_are_looked_for_where_the_caller_has_some(issues, query, person, searched):
    await issues.open_issue("It rattles", as_=2)
    await numbers(issues, query, as_=person)
    (*_, question) = issues.repos.bodies("readable-repositories", ReadableRepositories)
    assert sorted(question.ids) == searched


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


async def test_who_is_mentioned_finds_it(world):
    for person in (2, 3):
        async with world.db.transaction() as tx:
            await accounts.save(tx, account(person))
    await world.open_issue("@cat look")
    await world.open_issue("nothing")
    await world.create("/issues/2/comments", {"body": "hm @bob"})
    await world.work()
    assert await numbers(world, "?mentioned=true", as_=3) == ["app#1"]
    assert await numbers(world, "?mentioned=true", as_=2) == ["app#2"]
    assert await numbers(world, "?mentioned=true") == []
    await world.call("PATCH", "/issues/2", {"body": "for @cat, too"})
    await world.work()
    assert await numbers(world, "?mentioned=1", as_=3) == ["app#2", "app#1"]
    listed = await world.call("GET", "/issues?mentioned_by=Cat")
    assert [issue["number"] for issue in listed.json()] == [2, 1]
    threads = (await world.call("GET", "//notifications", as_=3)).json()
    assert len(threads) == 2


async def test_a_member_searches_what_a_team_was_given(issues):
    world = issues
    await world.create("//repos/ann/lib/issues", {"title": "again"})
    world.identity.add_team(31, 1, name="ops")
    world.identity.add_team(32, 1, "owner", name="Owners")
    world.identity.join(2, 1, teams={31: "write"})
    world.repos.teams[9] = [31]
    assert await numbers(world, "?owner=ann&team=OPS", as_=2) == ["lib#2", "lib#1"]
    assert await numbers(world, "?owner=ann&team=owners", as_=2) == ["lib#2", "lib#1", "app#3", "app#1"]
    world.identity.add_team(33, 1, "read", name="whole", includes_all_repositories=True)
    assert await numbers(world, "?owner=ann&team=whole", as_=2) == ["lib#2", "lib#1", "app#3", "app#1"]
    refused = await world.call("GET", f"{SEARCH}?owner=ann&team=ops", as_=3)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "team")
    assert await numbers(world, "?priority_repo_id=7") == ["app#3", "app#1", "lib#2", "lib#1"]


@pytest.mark.parametrize(
    ("query", "who", "organizations", "expected"),
    [
        ("owner=bob", 2, [1], []),
        ("owner=bob&memberships=false", 2, [1], []),
        ("owner=bob&memberships=true", 2, [1], ["lib#1", "app#3", "app#1"]),
        ("owner=bob&memberships=true&type=pulls", 2, [5, 1], ["app#3"]),
        ("owner=bob&memberships=true", 2, [5], []),
        ("owner=ann&memberships=true", 2, [5], ["lib#1", "app#3", "app#1"]),
        ("owner=cat&memberships=true", 3, [1], ["app#3", "app#1"]),
        ("owner=nobody&memberships=true", 2, [], []),
        ("memberships=true", 2, [1], ["lib#1", "app#3", "app#1"]),
        ("memberships=true", 2, [], []),
        ("memberships=true", 0, [], []),
    ],
)
async def test_a_member_searches_what_their_organizations_own_beside_what_is_their_own(
    issues, query, who, organizations, expected
):
    """Ann stands for an organization of the id 1: cat may not read all that it owns."""
    headers = issues.headers(who, organizations=dict.fromkeys(organizations, Membership()))
    answer = await issues.http.get(f"/api/v1/repos/issues/search?{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    assert [f"{issue['repository']['name']}#{issue['number']}" for issue in answer.json()] == expected


async def test_a_search_takes_as_many_statements_for_many_organizations(issues):
    await numbers(issues, "?owner=ann")  # from now on all repositories have copies
    counts = []
    for organizations in ([1], [1, *range(50, 90)]):
        headers = issues.headers(2, organizations=dict.fromkeys(organizations, Membership()))
        with count_statements(issues.db) as statements:
            await issues.http.get("/api/v1/repos/issues/search?owner=bob&memberships=true", headers=headers)
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_a_member_of_a_team_that_is_to_review_finds_it(world):
    world.repos.organizations.add(1)
    world.identity.add_team(31, 1, name="ops")
    await world.propose(as_=1, team_reviewers=["ops"])
    member = world.headers(3, organizations={1: Membership(teams={31: "write"})})
    for query, expected in (("review_requested=true", 1), ("reviewed=true", 0)):
        answer = await world.http.get(f"/api/v1/repos/issues/search?{query}", headers=member)
        assert len(answer.json()) == expected
    for who in (3, 0):
        assert await numbers(world, "?review_requested=true", as_=who) == [], who
