"""Transfers to another owner: who may, what changes, where the former path leads."""

import pytest

pytestmark = pytest.mark.both_databases


async def give(person, path, new_owner, **more):
    return await person.post(f"/repos/{path}/transfer", {"new_owner": new_owner, **more})


@pytest.fixture
async def acme(world):
    """An organization that ann owns, with two teams."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(51, 9, "write")
    world.identity.add_team(59, 8, "write")
    return world


async def test_a_repository_is_given_to_an_organization(acme, ann, bob):
    world = acme
    repository = await ann.create("app", private=True, auto_init=True)
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    answer = await give(ann, "ann/app", "ACME", team_ids=[51])
    assert answer.status_code == 202, answer.text
    assert (answer.json()["id"], answer.json()["full_name"]) == (repository["id"], "acme/app")
    assert answer.json()["permissions"]["admin"] is True
    assert (await ann.get("/repos/ann/app")).headers["location"] == "/api/v1/repos/acme/app"
    assert (await bob.get("/repos/acme/app/raw/README.md")).status_code == 200
    (event,) = await world.events("edited")
    assert (event["previous_full_name"], event["repository"]["owner"]["login"]) == ("ann/app", "acme")
    assert (await world.events("access"))[-1] == {
        "type": "repos.access.changed.v1",
        "repository_id": repository["id"],
        "collaborators": [2],
        "teams": [51],
    }
    cid = world.user(3, "cid")
    assert (await cid.get("/repos/acme/app")).status_code == 404
    world.identity.join(3, 9, teams={51: "write"})
    assert (await cid.get("/repos/acme/app")).json()["permissions"]["push"] is True


async def test_teams_of_the_former_owner_lose_what_is_given_away(acme, ann, bob):
    world = acme
    await ann.create("app", private=True)
    await give(ann, "ann/app", "acme", team_ids=[51])
    world.identity.join(2, 9, teams={51: "write"})
    assert (await bob.get("/repos/acme/app")).status_code == 200
    assert (await give(ann, "acme/app", "ann")).status_code == 202
    assert (await bob.get("/repos/ann/app")).status_code == 404
    assert (await world.events("access"))[-1]["teams"] == []
    assert await world.rows("team_grant") == []


async def test_the_new_owner_is_no_collaborator_any_more(acme, ann, bob):
    root = bob.but(admin=True)
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {})
    assert (await give(root, "ann/app", "bob")).status_code == 202
    assert await acme.rows("collaboration") == []
    assert (await bob.get("/repos/bob/app")).json()["permissions"]["admin"] is True
    assert (await ann.get("/repos/bob/app")).json()["permissions"]["push"] is False


@pytest.mark.parametrize(
    ("new_owner", "more", "status"),
    [
        ("bob", {"team_ids": [51]}, 422),
        ("other", {"team_ids": [59]}, 422),
        ("hidden", {}, 404),
        ("nobody", {}, 404),
        ("ann", {}, 422),
        ("", {}, 404),
        ("acme", {"team_ids": [59]}, 422),
        ("acme", {"team_ids": [77]}, 422),
        ("acme", {"team_ids": [0]}, 422),
        ("acme", {"team_ids": "51"}, 422),
    ],
)
async def test_what_cannot_be_given_stays(acme, ann, bob, new_owner, more, status):
    acme.organization(8, "other")
    acme.organization(7, "hidden", visibility="private")
    await ann.create("app")
    assert (await give(ann, "ann/app", new_owner, **more)).status_code == status
    assert (await ann.get("/repos/ann/app")).status_code == 200
    assert await acme.events("edited") == []


async def test_a_name_that_the_new_owner_has_is_refused(acme, ann):
    await ann.create("app")
    await ann.post("/org/acme/repos", {"name": "APP"})
    answer = await give(ann, "ann/app", "acme")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "taken")
    assert (await ann.get("/repos/ann/app")).status_code == 200


async def test_administrators_of_a_repository_do_not_give_it_away(acme, ann, bob):
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    assert (await give(bob, "ann/app", "bob")).status_code == 403
