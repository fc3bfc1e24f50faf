"""Restricted users: every public route at a public repository, which they reach only by a grant.

`tests/catalog/test_viewers.py` compares the SQL of lists with the function that decides.
"""

import msgspec
import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.events import UserEdited
from ingot_repos.catalog.store import accounts
from ingot_testing.non_empty import non_empty

from .test_roles import MATRIX, ROLES, Stage, body_of, in_parts
from .world import git

OF_THE_ORGANIZATION = {
    "DELETE /orgs/acme/exports/7",
    "DELETE /orgs/acme/repos",
    "GET /orgs/acme/exports",
    "GET /orgs/acme/exports/7",
    "GET /orgs/acme/exports/7/archive",
    "GET /orgs/acme/exports/7/repositories",
    "POST /orgs/acme/exports",
    "GET /orgs/acme/repos",
    "GET /orgs/acme/activities/feeds",
    "POST /org/acme/repos",
    "POST /orgs/acme/repos",
}
"""Routes of the public organization. For a restricted user outside it does not exist."""


class PublicStage(Stage):
    """The stage with a public repository in a public organization. Everybody is a restricted user."""

    def person(self, role, **more):
        granted = {} if role in ("site", "anonymous") else {"granted_only": True}
        return super().person(role, **granted | more)

    async def repository(self):
        is_new = not self.stock
        stock = await super().repository()
        if is_new:
            path = f"/api/v1/repos/{stock['repo']}"
            answer = await self.person("site").call("PATCH", path, {"private": False})
            assert answer.status_code == 200
            assert (await self.person("anonymous").call("GET", path)).status_code == 200
        return stock


@pytest.fixture
async def stage(world):
    stage = PublicStage(world)
    for role, number in ROLES.items():
        if role not in ("site", "anonymous"):
            world.identity.add_account(number, role, email=f"{role}@example.org", granted_only=True)
    return stage


@in_parts(MATRIX)
async def test_a_route_answers_restricted_users_as_if_the_repository_were_private(stage, keys):
    """The matrix is of a private repository. For restricted users a public one is no different."""
    answers, expected = {}, {}
    for key in non_empty(keys):
        by_role = dict(zip(ROLES, MATRIX[key], strict=True))
        reading = next((role for role in ("reader", "team", "owner") if by_role[role] < 300), "reader")
        for role in {"stranger", reading}:
            answers[key, role] = (await stage.call(stage.person(role), key, body=body_of(key))).status_code
            is_hidden = key in OF_THE_ORGANIZATION and role in ("stranger", "reader")
            expected[key, role] = 404 if is_hidden else by_role[role]
    assert answers == expected


@in_parts((key for key in MATRIX if "{repo}" in key), parts=5)
async def test_a_repository_without_a_grant_answers_as_one_that_does_not_exist(stage, keys):
    for key in non_empty(keys):
        await stage.repository()
        there = await stage.call(stage.person("stranger"), key, body=body_of(key))
        stock, stage.stock = stage.stock, stage.stock | {"repo": "acme/nothing"}
        absent = await stage.call(stage.person("stranger"), key, body=body_of(key))
        stage.stock = stock
        assert (key, there.status_code, there.content) == (key, absent.status_code, absent.content)
        assert there.headers.keys() == absent.headers.keys(), key


@pytest.fixture
async def shelf(world):
    """acme/app and ann/open are public, acme/closed is private. rex is a restricted user."""
    ann = world.user(1, "ann", hide_activity=False)
    world.organization(9, "acme")
    world.identity.add_team(50, 9, "owner", name="Owners")
    world.identity.add_team(51, 9, "read", name="ops")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    await ann.create("open", auto_init=True)
    for name, private in (("app", False), ("closed", True)):
        body = {"name": name, "private": private, "auto_init": True}
        assert (await ann.post("/orgs/acme/repos", body)).status_code == 201
    return ann, world.user(2, "rex", granted_only=True).but(granted_only=True)


LISTS = (
    "/repos/search?q=",
    "/repos/search?uid=1",
    "/repos/search?uid=9",
    "/user/repos",
    "/users/ann/repos",
    "/users/ann/starred",
    "/users/ann/subscriptions",
    "/user/starred",
    "/topics/search?q=t",
)


async def listed(person, path):
    answer = await person.get(path)
    assert answer.status_code == 200, (path, answer.text)
    body = answer.json()
    rows = body.get("data", body.get("topics")) if isinstance(body, dict) else body
    assert answer.headers["x-total-count"] == str(len(rows)), path
    return sorted(row.get("full_name", row.get("topic_name")) for row in rows)


@pytest.mark.both_databases
async def test_lists_and_their_numbers_have_only_what_was_given(shelf):
    ann, rex = shelf
    nothing = {path: [] for path in LISTS}
    for name in ("ann/open", "acme/app"):
        await ann.call("PUT", f"/api/v1/user/starred/{name}")
        await ann.call("PUT", f"/api/v1/repos/{name}/topics/t")
    with rex.world.count_statements() as before:
        assert {path: await listed(rex, path) for path in LISTS} == nothing
    assert (await rex.get("/repos/ann/open")).status_code == 404
    await ann.call("PUT", "/api/v1/repos/ann/open/collaborators/rex", {"permission": "read"})
    with rex.world.count_statements() as after:
        names = {path: await listed(rex, path) for path in LISTS}
    # Nothing is starred by rex, who is not in acme.
    assert names == {path: ["ann/open"] for path in LISTS} | {
        "/repos/search?uid=9": [], "/user/starred": [], "/topics/search?q=t": ["t"],
    }  # fmt: skip
    assert len(after) <= len(before) + len(LISTS)
    await ann.call("DELETE", "/api/v1/repos/ann/open/collaborators/rex")
    assert {path: await listed(rex, path) for path in LISTS} == nothing


async def test_a_restricted_member_reads_only_what_a_team_has(world, shelf):
    ann, rex = shelf
    world.identity.join(2, 9, teams={})
    member = rex.but(organizations={9: Membership()})
    assert (await member.get("/repos/acme/app")).status_code == 404
    assert await listed(member, "/orgs/acme/repos") == []
    world.identity.join(2, 9, teams={51: "read"})
    in_team = rex.but(organizations={9: Membership(teams={51: "read"})})
    assert (await in_team.get("/repos/acme/app")).status_code == 404
    assert (await ann.call("PUT", "/api/v1/teams/51/repos/acme/app")).status_code == 204
    assert (await in_team.get("/repos/acme/app")).status_code == 200
    assert await listed(in_team, "/orgs/acme/repos") == ["acme/app"]
    # Outside of the organization it does not exist.
    world.identity.memberships.pop(2)
    assert (await rex.get("/orgs/acme/repos")).status_code == 404


async def test_restricted_users_neither_fork_star_nor_watch_what_they_cannot_read(shelf):
    ann, rex = shelf
    for method, path in (
        ("POST", "/repos/ann/open/forks"),
        ("PUT", "/user/starred/ann/open"),
        ("PUT", "/repos/ann/open/subscription"),
        ("POST", "/repos/ann/open/generate"),
    ):
        answer = await rex.call(method, f"/api/v1{path}", {"owner": "rex", "name": "new"})
        assert answer.status_code == 404, path
    shown = (await ann.get("/repos/ann/open")).json()
    assert (shown["forks_count"], shown["stars_count"]) == (0, 0)


async def test_a_fork_shows_no_parent_without_a_grant(shelf):
    ann, rex = shelf
    await ann.call("PUT", "/api/v1/repos/ann/open/collaborators/rex", {"permission": "read"})
    assert (await rex.post("/repos/ann/open/forks", {"name": "mine"})).status_code == 202
    assert (await rex.get("/repos/rex/mine")).json()["parent"]["full_name"] == "ann/open"
    await ann.call("DELETE", "/api/v1/repos/ann/open/collaborators/rex")
    shown = (await rex.get("/repos/rex/mine")).json()
    assert (shown["fork"], shown.get("parent")) == (True, None)


async def test_services_are_told_the_right_of_a_restricted_user(world, shelf):
    """Mails, notifications and webhooks by the right of an account that is not the caller ask so."""
    ann, rex = shelf
    by_name = "by-name/ann/open/access?user=2"
    assert (await ann.internal("GET", by_name)).status_code == 404
    id_ = (await ann.get("/repos/ann/open")).json()["id"]
    assert (await ann.internal("GET", f"{id_}/level?user=2")).json()["level"] == "none"
    path, question = "/internal/readable-repositories", {"ids": [id_]}
    assert (await rex.call("POST", path, question, peer="issues")).json()["ids"] == []
    with_levels = question | {"with_levels": True, "by_unit": True}
    assert (await rex.call("POST", path, with_levels, peer="issues")).json()["ids"] == []
    await ann.call("PUT", "/api/v1/repos/ann/open/collaborators/rex", {"permission": "write"})
    assert (await ann.internal("GET", f"{id_}/level?user=2")).json()["level"] == "write"
    assert (await rex.call("POST", path, question, peer="issues")).json()["ids"] == [id_]
    permission = (await ann.get("/repos/ann/open/collaborators/rex/permission")).json()
    assert permission["permission"] == "write"
    # An administrator is never restricted: identity says so.
    root = world.identity.add_account(2, "rex", admin=True)
    await world.deliver(UserEdited(account=root, previous_login="rex"))
    assert (await ann.internal("GET", f"{id_}/level?user=2")).json()["level"] == "owner"


async def test_git_clones_only_with_a_grant(shelf, git_url, tmp_path):
    ann, rex = shelf
    clone = ("clone", f"{git_url}/ann/open.git")
    status, output = await git(*clone, "none", cwd=tmp_path, person=rex, check=False)
    assert (status != 0, "not found" in output) == (True, True)
    await ann.call("PUT", "/api/v1/repos/ann/open/collaborators/rex", {"permission": "read"})
    await git(*clone, "work", cwd=tmp_path, person=rex)
    assert (tmp_path / "work" / "README.md").exists()


async def test_a_restricted_token_of_a_restricted_user_reads_nothing_public(shelf):
    ann, rex = shelf
    own = (await rex.create("own", auto_init=True))["id"]
    for restriction in ({"restricted_to": [own]}, {"restricted_to": [], "public_only": True}):
        token = msgspec.structs.replace(rex.principal, **restriction)
        person = rex.world.person(token)
        assert (await person.get("/repos/ann/open")).status_code == 404
        assert (await person.get("/repos/rex/own")).status_code == 200
        assert await listed(person, "/repos/search?q=") == ["rex/own"]
        assert (await person.get("/orgs/acme/repos")).status_code == 404
    del ann


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_an_inactive_restricted_user_reads_nothing_for_services_either(world, shelf):
    ann, _ = shelf
    number = (await ann.get("/repos/ann/open")).json()["id"]

    async def level(path, **fields):
        world.identity.add_account(2, "rex", **fields)
        return (await ann.internal("GET", f"{path}/access?user=2")).json().get("level")

    for path in (str(number), "by-name/ann/open"):
        assert await level(path, active=False) == "read"
        assert await level(path, active=True, granted_only=True) in (None, "none")
        assert await level(path, active=False, granted_only=True) in (None, "none")


@pytest.mark.both_databases
async def test_an_older_answer_of_identity_ends_no_restriction_of_a_copy(world):
    restricted = world.identity.add_account(2, "rex", granted_only=True)
    await world.deliver(UserEdited(account=restricted, previous_login="rex"))
    world.identity.add_account(2, "rex")  # what identity answered before the event
    await world.components.accounts.get_by_former_login("rex")
    async with world.database.read() as db:
        assert await accounts.list_granted_only(db, [2]) == [2]
