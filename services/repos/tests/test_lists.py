"""Lists of repositories: pages, totals, order, and what they cost."""

import pytest

from ingot_chassis.clock import now
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.events import UserDeleted

pytestmark = pytest.mark.both_databases

LISTS = {
    "/user/repos": 2,
    "/users/ann/repos": 3,
    "/orgs/acme/repos": 3,
    "/user/starred": 2,
    "/users/ann/starred": 3,
    "/user/subscriptions": 2,
    "/users/ann/subscriptions": 3,
    "/repos/ann/origin/forks": 3,
    "/teams/50/repos": 2,
    "/repos/search": 3,
}
"""Statements by path: the rows, their number, their parents; one more for a name in the path.

On PostgreSQL all bypass SQLAlchemy (ADR 12), whose statements are counted.
"""


async def fill(world, count):
    """Add ``count`` repositories of ann and of acme: forks of ann/origin that ann has starred and watches."""
    tables = world.database.metadata.tables
    at = now()
    async with world.database.transaction() as tx:
        for owner_id in (1, 9):
            repositories = [
                {
                    "owner_id": owner_id,
                    "name": f"r{number:04d}",
                    "lower_name": f"r{number:04d}",
                    "default_branch": "master",
                    "shard": "shard-0",
                    "state": "ready",
                    "fork_of": 1,
                    "created_at": at,
                    "updated_at": at,
                }
                for number in range(count)
            ]
            await tx.execute(tables["repository"].insert(), repositories)
        ids = [row.id for row in await tx.execute(tables["repository"].select())]
        for relation in ("star", "watch"):
            await tx.execute(tables[relation].delete())
            await tx.execute(
                tables[relation].insert(),
                [{"repository_id": id_, "user_id": 1, "created_at": at} for id_ in ids],
            )


@pytest.fixture
async def owner(world, ann):
    """Ann, who owns acme and has ann/origin, the first repository."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner")
    member = ann.but(organizations={9: Membership(owner=True, teams={50: "owner"})})
    assert (await member.create("origin"))["id"] == 1
    assert (await member.get("/orgs/acme/repos")).json() == []  # acme is copied now
    return member


@pytest.mark.parametrize("count", [10, 1000])
async def test_a_list_costs_the_same_however_long_it_is(world, owner, count):
    await fill(world, count)
    cost = {}
    for path in LISTS:
        with world.count_statements() as statements:
            answer = await owner.get(f"{path}?limit=10")
        assert len(answer.json()["data"] if path.endswith("search") else answer.json()) == 10, path
        assert int(answer.headers["x-total-count"]) >= count
        cost[path] = len(statements)
    assert cost == LISTS


@pytest.mark.parametrize(
    "path", ["/user/repos", "/users/ann/repos", "/user/starred", "/users/ann/subscriptions"]
)
async def test_pages_are_complete_and_disjoint(world, owner, path):
    await fill(world, 60)
    first = await owner.get(path)
    total = int(first.headers["x-total-count"])
    assert len(first.json()) == 30
    entries, target = [], f"{path}?limit=50"
    while target:
        answer = await owner.get(target)
        entries += [one["id"] for one in answer.json()]
        links = dict(reversed(part[1:].split(">; rel=")) for part in answer.headers["link"].split(","))
        target = links.get('"next"', "").removeprefix("http://ingot.test/api/v1")
    assert len(entries) == len(set(entries)) == total
    beyond = await owner.get(f"{path}?page=999&limit=50")
    assert (beyond.json(), beyond.headers["x-total-count"]) == ([], str(total))


async def test_lists_of_others_hold_what_is_public(world, owner, bob):
    await owner.create("open")
    await owner.create("secret", private=True)
    for relation in ("user/starred/ann/open", "user/starred/ann/secret"):
        assert (await owner.call("PUT", f"/api/v1/{relation}")).status_code == 204
    for path in ("/users/ann/repos", "/users/ann/starred", "/users/ann/subscriptions"):
        listed = await bob.get(path)
        names = {one["name"] for one in listed.json()}
        assert "secret" not in names
        assert "open" in names
        assert listed.headers["x-total-count"] == str(len(names))
    await owner.call("PUT", "/api/v1/repos/ann/secret/collaborators/bob", {})
    assert "secret" in {one["name"] for one in (await bob.get("/users/ann/repos")).json()}
    assert "secret" not in {one["name"] for one in (await bob.get("/users/ann/starred")).json()}


async def test_what_one_starred_is_no_longer_listed_when_it_is_closed_to_one(owner, bob):
    await owner.create("app")
    await bob.call("PUT", "/api/v1/user/starred/ann/app")
    await bob.call("PUT", "/api/v1/repos/ann/app/subscription")
    assert len((await bob.get("/user/starred")).json()) == 1
    await owner.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    for path in ("/user/starred", "/user/subscriptions"):
        listed = await bob.get(path)
        assert (listed.json(), listed.headers["x-total-count"]) == ([], "0")


@pytest.mark.parametrize("path", ["/users/{}/repos", "/users/{}/starred", "/users/{}/subscriptions"])
@pytest.mark.parametrize(("visibility", "stranger"), [("limited", 200), ("private", 404)])
async def test_a_hidden_account_has_no_lists_for_others(world, owner, bob, path, visibility, stranger):
    hidden = world.user(5, "hidden", visibility=visibility)
    nobody = bob.but(id=0, name="", via="")
    assert (await bob.get(path.format("hidden"))).status_code == stranger
    assert (await nobody.get(path.format("hidden"))).status_code == (404 if "repos" in path else 401)
    assert (await hidden.get(path.format("hidden"))).status_code == 200
    assert (await bob.but(admin=True).get(path.format("hidden"))).status_code == 200
    unknown = await bob.get(path.format("unknown"))
    if stranger == 404:
        assert unknown.json() == (await bob.get(path.format("hidden"))).json()


async def test_counters_follow_stars_watches_and_forks(world, owner, bob):
    await owner.create("app", auto_init=True)
    await bob.call("PUT", "/api/v1/user/starred/ann/app")
    await bob.call("PUT", "/api/v1/repos/ann/app/subscription")
    await bob.post("/repos/ann/app/forks")
    await world.components.workers.step()
    shown = (await bob.get("/repos/ann/app")).json()
    assert (shown["stars_count"], shown["watchers_count"], shown["forks_count"]) == (1, 2, 1)
    carl = world.user(3, "carl")
    await carl.call("PUT", "/api/v1/user/starred/ann/app")
    await carl.call("PUT", "/api/v1/repos/ann/app/subscription")
    await world.deliver(UserDeleted(user_id=3, login="carl"))
    shown = (await bob.get("/repos/ann/app")).json()
    assert (shown["stars_count"], shown["watchers_count"]) == (1, 2)
    await bob.call("DELETE", "/api/v1/user/starred/ann/app")
    await bob.call("DELETE", "/api/v1/repos/ann/app/subscription")
    await bob.call("DELETE", "/api/v1/repos/bob/app")
    shown = (await bob.get("/repos/ann/app")).json()
    assert (shown["stars_count"], shown["watchers_count"], shown["forks_count"]) == (0, 1, 0)
