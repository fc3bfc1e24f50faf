"""Making, reading, changing and deleting repositories over the API."""

import pytest

from ingot_chassis.principal import ANONYMOUS


async def test_a_created_repository_carries_real_values(ann):
    created = await ann.create("app", description="An app", website="https://app.test")
    assert created["full_name"] == "ann/app"
    assert created["owner"]["login"] == "ann"
    assert created["empty"] is True
    assert created["default_branch"] == "master"
    assert created["created_at"] > "2020"
    assert created["permissions"] == {"admin": True, "push": True, "pull": True}
    assert created["clone_url"] == "http://ingot.test/ann/app.git"
    assert created["ssh_url"] == "git@localhost:ann/app.git"
    assert (await ann.get("/repos/ann/app")).json() == created


async def test_names_are_found_in_any_case_and_answered_in_the_stored_one(ann):
    created = await ann.create("App")
    assert (await ann.get("/repos/ANN/aPP")).json() == created
    assert (await ann.get(f"/repositories/{created['id']}")).json() == created


async def test_auto_init_commits_a_readme(ann):
    created = await ann.create("app", auto_init=True, description="An app")
    assert created["empty"] is False
    raw = await ann.get("/repos/ann/app/raw/README.md")
    assert raw.text == "# app\n\nAn app\n"
    branch = (await ann.get("/repos/ann/app/branches/master")).json()
    assert branch["commit"]["message"] == "Initial commit"
    assert branch["commit"]["author"]["username"] == "ann"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": ".."}, "name"),
        ({"name": "x.git"}, "name"),
        ({"name": "x.WIKI"}, "name"),
        ({"name": "a/../b"}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": "a", "description": "d" * 256}, "description"),
        ({"name": "a", "license": "GPL-9"}, "license"),
        ({"name": "a", "license": "../license/MIT", "auto_init": True}, "license"),
        ({"name": "a", "gitignores": "Python,Cobol", "auto_init": True}, "gitignores"),
        ({"name": "a", "readme": "Fancy", "auto_init": True}, "readme"),
        ({"name": "a", "website": "w" * 256}, "website"),
        ({"name": "a", "default_branch": "a..b"}, "default_branch"),
        ({"name": "a\u0000"}, "name"),
    ],
)
async def test_what_a_repository_cannot_be_called_is_refused_by_field(ann, body, field):
    answer = await ann.post("/user/repos", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


async def test_a_taken_name_is_refused_in_any_case(ann):
    await ann.create("app")
    answer = await ann.post("/user/repos", {"name": "APP"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "taken"


async def test_creating_announces_the_repository(world, ann):
    created = await ann.create("app")
    (event,) = await world.events("created")
    assert event["repository"]["id"] == created["id"]
    assert event["sender"]["login"] == "ann"


async def test_what_is_absent_from_a_patch_stays(world, ann):
    await ann.create("app", description="old", website="https://app.test")
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"description": "new", "name": "App2"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["name"], answer.json()["description"]) == ("App2", "new")
    assert answer.json()["website"] == "https://app.test"
    (event,) = await world.events("edited")
    assert event["previous_full_name"] == "ann/app"


async def test_a_default_branch_must_exist(ann):
    await ann.create("app", auto_init=True)
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": "nowhere"})
    assert answer.status_code == 422


async def test_an_id_is_never_used_twice(ann):
    first = await ann.create("app")
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    assert (await ann.create("app"))["id"] > first["id"]


async def test_an_owner_of_an_organization_creates_there_even_with_a_stale_principal(world, ann, bob):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    answer = await ann.post("/org/acme/repos", {"name": "app", "private": True})
    assert answer.status_code == 201, answer.text
    assert answer.json()["owner"]["login"] == "acme"
    assert (await ann.get("/repos/acme/app")).status_code == 200
    assert (await bob.post("/orgs/acme/repos", {"name": "other"})).status_code == 403
    assert (await bob.post("/org/nobody/repos", {"name": "other"})).status_code == 404


async def test_an_administrator_creates_for_others(world, ann, bob):
    root = bob.but(admin=True)
    assert (await root.post("/admin/users/ann/repos", {"name": "app"})).json()["full_name"] == "ann/app"
    assert (await bob.post("/admin/users/ann/repos", {"name": "app2"})).status_code == 403


async def test_the_search_shows_what_the_caller_may_see(ann, bob):
    await ann.create("alpha")
    await ann.create("alphabet", private=True)
    await bob.create("beta")
    found = await bob.get("/repos/search?q=ALPHA")
    assert [repo["name"] for repo in found.json()["data"]] == ["alpha"]
    assert found.headers["x-total-count"] == "1"
    mine = await ann.get("/repos/search?q=alpha&uid=1&limit=1")
    assert mine.headers["x-total-count"] == "2"
    assert 'rel="next"' in mine.headers["link"]
    assert (await ann.get("/repos/search?mode=odd")).status_code == 422


async def test_own_repositories_come_before_those_of_others(ann, bob):
    await ann.create("shared")
    await ann.call("PUT", "/api/v1/repos/ann/shared/collaborators/bob", {})
    await bob.create("own")
    assert [repo["full_name"] for repo in (await bob.get("/user/repos")).json()] == ["bob/own", "ann/shared"]


async def test_a_list_of_a_user_leaves_out_private_ones_for_others(ann, bob):
    await ann.create("open")
    await ann.create("secret", private=True)
    assert [r["name"] for r in (await bob.get("/users/ann/repos")).json()] == ["open"]
    assert (await ann.get("/users/ann/repos")).headers["x-total-count"] == "2"
    assert (await ann.get("/users/nobody/repos")).status_code == 404


async def test_statuses_combine_to_the_worst_of_the_newest(ann, bob):
    await ann.create("app", auto_init=True)
    sha = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    for context, state in (("ci", "failure"), ("ci", "success"), ("lint", "pending")):
        answer = await ann.post(f"/repos/ann/app/statuses/{sha}", {"context": context, "state": state})
        assert answer.status_code == 201, answer.text
    combined = (await bob.get("/repos/ann/app/commits/master/status")).json()
    assert (combined["state"], combined["total_count"]) == ("success", 2)
    assert len((await bob.get(f"/repos/ann/app/statuses/{sha}")).json()) == 3
    assert (await bob.post(f"/repos/ann/app/statuses/{sha}", {"state": "error"})).status_code == 403
    assert (await ann.post(f"/repos/ann/app/statuses/{sha}", {"state": "odd"})).status_code == 422


async def test_stars_and_watches_are_counted(ann, bob):
    await ann.create("app")
    assert (await bob.call("PUT", "/api/v1/user/starred/ann/app")).status_code == 204
    assert (await bob.call("PUT", "/api/v1/user/starred/ann/app")).status_code == 204
    shown = (await bob.get("/repos/ann/app")).json()
    assert (shown["stars_count"], shown["watchers_count"]) == (1, 1)
    assert [r["name"] for r in (await bob.get("/user/starred")).json()] == ["app"]
    assert (await bob.call("DELETE", "/api/v1/user/starred/ann/app")).status_code == 204
    assert (await bob.get("/user/starred/ann/app")).status_code == 404


async def test_addresses_of_people_are_for_those_who_are_signed_in(world, ann, bob):
    anonymous = world.person(ANONYMOUS)
    await ann.create("app", auto_init=True)
    tip = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    assert (await ann.post(f"/repos/ann/app/statuses/{tip}", {"state": "success"})).status_code == 201
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})).status_code == 201
    assert (await ann.call("PUT", "/api/v1/user/starred/ann/app")).status_code == 204
    for path in (
        "/repos/ann/app",
        "/repos/search?q=app",
        "/users/ann/repos",
        "/repos/ann/app/stargazers",
        "/repos/ann/app/subscribers",
        "/repos/ann/app/releases",
        f"/repos/ann/app/statuses/{tip}",
        "/repos/ann/app/commits/master/status",
    ):
        answers = [await person.get(path) for person in (bob, anonymous)]
        assert [answer.status_code for answer in answers] == [200, 200], path
        assert ["ann@example.org" in answer.text for answer in answers] == [True, False], path
