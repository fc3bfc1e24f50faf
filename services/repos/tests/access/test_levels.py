"""Teams that have all repositories of their organization, and teams whose members create some."""

import pytest

from ingot_chassis.security.principal import Membership

pytestmark = pytest.mark.both_databases

APP = "/repos/acme/app"
ALL = {9: Membership(teams={53: "write"}, everywhere="write")}
"""The content of a member's principal."""


@pytest.fixture
async def acme(world, ann):
    """ann owns the private acme with acme/app. Team all (53) has every repository, team makers (54) may
    create some."""
    world.organization(9, "acme", visibility="private")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner", name="Owners")
    world.identity.add_team(51, 9, "write", name="ops")
    world.identity.add_team(53, 9, "write", name="all", includes_all_repositories=True)
    world.identity.add_team(54, 9, "read", name="makers", can_create_org_repo=True)
    answer = await ann.post("/orgs/acme/repos", {"name": "app", "private": True, "auto_init": True})
    return answer.json()["id"]


@pytest.fixture
async def mia(world, acme):
    """In the team that has everything."""
    world.identity.join(3, 9, teams={53: "write"}, everywhere="write")
    return world.user(3, "mia").but(organizations=ALL)


async def named(person, path):
    answer = await person.get(path)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return [one["name"] for one in (body["data"] if isinstance(body, dict) else body)]


async def test_a_team_has_every_repository_also_a_later_one_and_no_rows(world, ann, mia, acme):
    later = await ann.post("/orgs/acme/repos", {"name": "later", "private": True})
    for path in (
        "/user/repos",
        "/orgs/acme/repos?sort=name",
        "/repos/search?uid=9",
        "/repos/search?uid=3",
        "/repos/search?team_id=53",
        "/teams/53/repos",
    ):
        assert sorted(await named(mia, path)) == ["app", "later"], path
    shown = (await mia.get("/repos/acme/later")).json()
    assert shown["permissions"] == {"admin": False, "push": True, "pull": True}
    readable = await mia.call(
        "POST", "/internal/readable-repositories", {"ids": [acme, later.json()["id"]]}, peer="issues"
    )
    assert readable.json()["ids"] == [acme, later.json()["id"]]
    for user, level in ((3, "write"), (4, "none")):
        answer = await mia.internal("GET", f"{acme}/level?user={user}")
        assert (answer.status_code, answer.json().get("level")) in ((200, level), (404, None)), answer.text
    assert await world.rows("team_grant") == []


CALLERS = {
    "member": ({"everywhere": "write", "teams": {53: "write"}}, {}, 200),
    "member who was in no team": ({}, {}, 404),
    "member of a team": ({"teams": {51: "write"}}, {}, 404),
    "member with a token for it": ({"everywhere": "read"}, {"restricted_to": "app"}, 200),
    "member with a token for others": ({"everywhere": "read"}, {"restricted_to": "others"}, 404),
    "member who left": (None, {}, 404),
    "stranger": (None, {"organizations": {}}, 404),
    "member of another organization": (None, {"organizations": {8: Membership(everywhere="admin")}}, 404),
    "nobody": (None, {"id": 0, "name": "", "via": "", "organizations": {}}, 404),
}
"""The present role in acme, the content of the principal, and True if the private repository is visible."""


@pytest.mark.parametrize("caller", CALLERS)
async def test_only_members_of_the_team_reach_the_repositories_of_a_private_organization(world, acme, caller):
    now, fields, status = CALLERS[caller]
    if now is not None:
        world.identity.join(3, 9, **now)
        fields = {"organizations": {9: Membership(**now)}} | fields
    restriction = {"app": [acme], "others": [acme + 1]}.get(fields.get("restricted_to"))
    person = world.user(3, "mia").but(**fields | {"restricted_to": restriction})
    assert (await person.get(APP)).status_code == status
    assert (await person.get(f"{APP}/contents/README.md")).status_code == status
    assert (await person.get(f"/repositories/{acme}")).status_code == (status if person.principal.id else 401)
    fetch = await person.call("GET", "/acme/app.git/info/refs?service=git-upload-pack")
    assert fetch.status_code == (status if person.principal.id else 401)
    names = ["app"] if status == 200 else []
    assert await named(person, "/repos/search?q=app") == names
    readable = await person.call("POST", "/internal/readable-repositories", {"ids": [acme]}, peer="issues")
    assert readable.json()["ids"] == ([acme] if names else [])


async def test_a_team_that_has_everything_no_longer_has_nothing(world, mia, acme):
    assert (await mia.get(APP)).status_code == 200
    world.identity.join(3, 9, teams={53: "write"})
    without = mia.but(organizations={9: Membership(teams={53: "write"})})
    assert (await without.get(APP)).status_code == 404
    assert await named(without, "/user/repos") == []


async def test_a_new_member_is_asked_for_once_more_before_a_refusal(world, mia, acme):
    assert (await mia.but(organizations={}).get(APP)).status_code == 200
    assert (await mia.but(organizations={9: Membership()}).get(APP)).status_code == 200


async def test_a_repository_takes_no_statement_more_for_a_member(world, bob, mia, acme):
    await bob.create("own")
    with world.count_statements() as others:
        await bob.get("/repos/bob/own")
    with world.count_statements() as statements:
        await mia.get(APP)
    assert len(statements) == len(others)


async def test_the_team_is_one_of_each_repository_and_can_neither_be_added_nor_removed(world, ann, acme):
    await ann.call("PUT", "/api/v1/teams/51/repos/acme/app")
    assert await named(ann, f"{APP}/teams") == ["Owners", "all", "ops"]
    pages = [await named(ann, f"{APP}/teams?limit=1&page={page}") for page in (1, 2, 3, 4)]
    assert pages == [["Owners"], ["all"], ["ops"], []]
    shown = (await ann.get(f"{APP}/teams/all")).json()
    assert (shown["includes_all_repositories"], shown["can_create_org_repo"]) == (True, False)
    for method, code in (("PUT", "present"), ("DELETE", "owners")):
        answer = await ann.call(method, f"/api/v1{APP}/teams/all")
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    path = "/api/v1/teams/53/repos/acme/app"
    answers = [await ann.call(method, path) for method in ("GET", "PUT", "DELETE")]
    assert [answer.status_code for answer in answers] == [200, 204, 422]
    assert [row.team_id for row in await world.rows("team_grant")] == [51]


async def test_what_a_team_was_given_before_it_had_everything_is_listed_once(world, ann, acme):
    world.identity.add_team(53, 9, "write", name="all")
    await ann.call("PUT", "/api/v1/teams/53/repos/acme/app")
    world.identity.add_team(53, 9, "write", name="all", includes_all_repositories=True)
    answer = await ann.get(f"{APP}/teams")
    assert ([one["name"] for one in answer.json()], answer.headers["x-total-count"]) == (
        ["Owners", "all"],
        "2",
    )


@pytest.mark.parametrize(("permission", "writes"), [("read", False), ("write", True)])
async def test_members_are_asked_for_reviews_and_those_who_write_are_assigned(
    world, ann, mia, acme, permission, writes
):
    await mia.create("own")  # now there is a copy of the account
    world.identity.join(3, 9, teams={53: permission}, everywhere=permission)
    logins = [
        [user["login"] for user in (await ann.get(f"{APP}/{kind}")).json()]
        for kind in ("assignees", "reviewers")
    ]
    assert logins == [["ann", "mia"] if writes else ["ann"], ["ann", "mia"]]
    shown = (await ann.get(f"{APP}/collaborators/mia/permission")).json()
    assert shown["permission"] == permission


async def test_a_rule_of_a_branch_names_the_team(ann, acme):
    rule = {"rule_name": "main", "enable_push": True, "push_whitelist_teams": ["ALL"]}
    created = await ann.post(f"{APP}/branch_protections", rule)
    assert (created.status_code, created.json().get("push_whitelist_teams")) == (201, ["all"])


CREATORS = {
    "maker": ({"teams": {54: "read"}, "creates": True}, {}, 201, "admin"),
    "maker who reads all": ({"teams": {53: "read"}, "everywhere": "read", "creates": True}, {}, 201, "admin"),
    "maker who administers all": ({"everywhere": "admin", "creates": True}, {}, 201, ""),
    "owner": ({"owner": True}, {}, 201, ""),
    "administrator of the site": (None, {"admin": True}, 201, ""),
    "member": ({"everywhere": "admin"}, {}, 403, ""),
    "maker with a restricted token": ({"creates": True}, {"restricted_to": [1]}, 403, ""),
    "maker with a token that reads": ({"creates": True}, {"scopes": ["read:repository"]}, 403, ""),
    "maker who left": (None, {}, 404, ""),
    "nobody": (None, {"id": 0, "name": "", "via": ""}, 401, ""),
}
"""The present role in acme, the content of the principal, the status, and the mode of the collaborator."""


@pytest.mark.parametrize("creator", CREATORS)
async def test_who_may_create_repositories_administers_them_and_nothing_else(world, acme, creator):
    now, fields, status, mode = CREATORS[creator]
    if now is not None:
        world.identity.join(3, 9, **now)
    person = world.user(3, "mia").but(**fields)
    answer = await person.post("/orgs/acme/repos", {"name": "new", "private": True})
    assert answer.status_code == status, answer.text
    assert [(row.user_id, row.mode) for row in await world.rows("collaboration")] == (
        [(3, mode)] if mode else []
    )
    if status != 201:
        return
    assert answer.json()["permissions"] == {"admin": True, "push": True, "pull": True}
    shown = await person.get("/repos/acme/new")
    assert (shown.status_code, shown.json()["permissions"]["admin"]) == (200, True)
    types = [event["collaborators"] for event in await world.events("access")]
    assert types == ([[3]] if mode else [])
    if creator == "maker":
        assert (await person.get(APP)).status_code == 404


async def test_a_template_and_an_import_are_created_by_the_same_rule(world, ann, acme):
    await ann.create("seed", auto_init=True, template=True)
    maker = world.user(3, "mia")
    member = world.user(4, "max")
    world.identity.join(3, 9, teams={54: "read"}, creates=True)
    world.identity.join(4, 9, teams={51: "write"})
    new = {"owner": "acme", "name": "made", "git_content": True, "private": True}
    remote = {"clone_addr": "https://git.test/a.git", "repo_name": "copy", "repo_owner": "acme"}
    for path, body in (("/repos/ann/seed/generate", new), ("/repos/migrate", remote)):
        assert (await member.post(path, body)).status_code == 403
    new = await maker.post("/repos/ann/seed/generate", new)
    assert (new.status_code, new.json()["permissions"]["admin"]) == (201, True)
    assert (await maker.get("/repos/acme/made/contents/README.md")).status_code == 200
    assert [(row.user_id, row.mode) for row in await world.rows("collaboration")] == [(3, "admin")]
