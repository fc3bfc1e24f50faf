"""Collaborators, and what people may do to a repository."""

import pytest

pytestmark = pytest.mark.both_databases

R = "/repos/ann/app"


@pytest.fixture
async def app(world, ann, bob):
    """ann/app with bob as writer and cat as reader."""
    world.user(3, "cat")
    created = await ann.create("app", auto_init=True)
    for login, mode in (("bob", "write"), ("cat", "read")):
        await ann.call("PUT", f"/api/v1{R}/collaborators/{login}", {"permission": mode})
    return created


async def test_an_empty_permission_takes_no_rights_away(ann, app):
    await ann.call("PUT", f"/api/v1{R}/collaborators/bob", {"permission": ""})
    assert (await ann.get(f"{R}/collaborators/bob/permission")).json()["permission"] == "write"


async def test_whether_somebody_is_a_collaborator_is_answered_without_a_body(ann, app):
    for login, status in (("bob", 204), ("ann", 404)):
        answer = await ann.get(f"{R}/collaborators/{login}")
        assert (answer.status_code, answer.content) == (status, b"")


async def test_the_permission_is_shown_to_administrators_and_to_the_user(world, ann, bob, app):
    world.user(4, "dan")
    for login, level in (("ann", "owner"), ("BOB", "write"), ("cat", "read"), ("dan", "read")):
        shown = (await ann.get(f"{R}/collaborators/{login}/permission")).json()
        assert (shown["permission"], shown["role_name"]) == (level, level)
        assert shown["user"]["login"] == login.lower()
    assert (await bob.get(f"{R}/collaborators/bob/permission")).json()["permission"] == "write"
    assert (await bob.get(f"{R}/collaborators/cat/permission")).status_code == 403
    assert (await ann.get(f"{R}/collaborators/nobody/permission")).status_code == 404
    await ann.call("PATCH", f"/api/v1{R}", {"private": True})
    assert (await ann.get(f"{R}/collaborators/dan/permission")).json()["permission"] == "none"


async def test_issues_are_assigned_to_writers_and_reviews_asked_of_readers(world, ann, bob, app):
    assert [user["login"] for user in (await bob.get(f"{R}/assignees")).json()] == ["ann", "bob"]
    assert [user["login"] for user in (await bob.get(f"{R}/reviewers")).json()] == [
        "ann",
        "bob",
        "cat",
    ]
    for login, status in (("bob", 204), ("cat", 404), ("nobody", 404)):
        answer = await ann.get(f"{R}/assignees/{login}")
        assert (answer.status_code, answer.content) == (status, b"")
    with world.count_statements() as statements:
        await ann.get(f"{R}/assignees")
    assert len(statements) <= 2


async def test_members_of_teams_are_assigned_and_asked_by_those_who_may_know_of_them(world, ann, bob):
    cat, dan, eve = (world.user(id_, name) for id_, name in ((3, "cat"), (4, "dan"), (5, "eve")))
    for person in (cat, dan, eve):
        await person.create("own")  # now there is a copy of the account
    world.organization(9, "acme")
    for user_id, team_id, permission in ((3, 60, "write"), (4, 61, "read"), (5, 62, "write")):
        world.identity.add_team(team_id, 9, permission)
        world.identity.join(user_id, 9, teams={team_id: permission})
    world.identity.join(2, 9, owner=True)
    await bob.create("own")
    await bob.post("/orgs/acme/repos", {"name": "app"})
    for team in ("team60", "team61"):
        assert (await bob.call("PUT", f"/api/v1/repos/acme/app/teams/{team}")).status_code == 204

    async def logins(person, kind):
        return [user["login"] for user in (await person.get(f"/repos/acme/app/{kind}")).json()]

    for person in (bob, cat, eve):
        assert await logins(person, "assignees") == ["bob", "cat"]
        assert await logins(person, "reviewers") == ["bob", "cat", "dan"]
    assert await logins(ann, "reviewers") == []
    assert (await ann.get("/repos/acme/app/assignees/cat")).status_code == 404
    assert (await cat.get("/repos/acme/app/assignees/cat")).status_code == 204


async def test_who_is_blocked_cannot_fork_star_or_watch(world, ann, bob, app):
    operations = (
        ("POST", "/api/v1/repos/ann/app/forks"),
        ("PUT", "/api/v1/user/starred/ann/app"),
        ("PUT", "/api/v1/repos/ann/app/subscription"),
    )
    world.identity.blocks.add((1, 2))
    for method, path in operations:
        answer = await bob.call(method, path, {})
        assert (answer.status_code, answer.json()["message"]) == (
            403,
            "the owner of the repository has blocked you",
        )
    assert (await bob.get("/repos/ann/app/subscription")).status_code == 404
    for method, path in operations:
        assert (await bob.but(id=3, name="cat").call(method, path, {})).is_success
