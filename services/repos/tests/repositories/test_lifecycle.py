"""Creating, reading, changing and deleting repositories over the API."""

import pytest

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.issues.events import OpenIssuesCounted
from ingot_contracts.repos.merges import MERGE_STYLES
from ingot_testing.service import unprepared_statements


async def test_a_created_repository_carries_real_values(ann):
    created = await ann.create("app", description="An app", website="https://app.test")
    assert created["full_name"] == "ann/app"
    assert created["owner"]["login"] == "ann"
    assert created["empty"] is True
    assert created["default_branch"] == "master"
    assert created["created_at"] > "2020"
    assert created["permissions"] == {"admin": True, "push": True, "pull": True}
    assert created["clone_url"] == "http://ingot.test/ann/app.git"
    assert created["ssh_url"] == ""
    assert (await ann.get("/repos/ann/app")).json() == created


async def test_names_are_found_in_any_case_and_answered_in_the_stored_one(ann):
    created = await ann.create("App")
    assert (await ann.get("/repos/ANN/aPP")).json() == created
    assert (await ann.get(f"/repositories/{created['id']}")).json() == created


async def test_auto_init_commits_a_readme(ann):
    created = await ann.create("app", auto_init=True, description="An app")
    assert created["empty"] is False
    raw = await ann.get("/repos/ann/app/raw/README.md")
    assert raw.text == "# app\n\nAn app"
    branch = (await ann.get("/repos/ann/app/branches/master")).json()
    assert branch["commit"]["message"] == "Initial commit\n"
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


@pytest.mark.parametrize("name", ["nowhere", ""])
async def test_a_default_branch_that_does_not_exist_changes_nothing(ann, name):
    before = (await ann.create("app", auto_init=True))["default_branch"]
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": name, "description": "new"})
    assert (answer.status_code, answer.json()["description"]) == (200, "new"), answer.text
    assert answer.json()["default_branch"] == before
    assert (await ann.get("/repos/ann/app/raw/README.md")).status_code == 200


async def test_an_empty_repository_keeps_the_name_of_its_default_branch(ann):
    await ann.create("app")
    for name, shown in (("trunk", "trunk"), ("", "trunk")):
        answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": name})
        assert (answer.status_code, answer.json()["default_branch"]) == (200, shown), answer.text


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "body",
    [
        {"enable_prune": False},
        {"enable_prune": True},
        {"mirror_interval": "8h0m0s"},
        {"mirror_username": "ann", "mirror_password": "x", "mirror_token": "y"},
    ],
)
async def test_fields_of_mirrors_change_nothing_in_other_repositories(ann, body):
    before = await ann.create("app")
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", body)
    assert answer.status_code == 200, answer.text
    assert answer.json() | {"updated_at": ""} == before | {"updated_at": ""}


async def test_a_default_merge_style_that_is_off_is_not_taken(ann):
    await ann.create("app")
    body = {"allow_squash_merge": False, "default_merge_style": "squash"}
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", body)
    assert (answer.status_code, answer.json()["default_merge_style"]) == (200, "merge"), answer.text
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", body | {"allow_merge_commits": False})
    assert (answer.status_code, answer.json()["default_merge_style"]) == (200, "rebase"), answer.text


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
    matches = await bob.get("/repos/search?q=ALPHA")
    assert [repo["name"] for repo in matches.json()["data"]] == ["alpha"]
    assert matches.headers["x-total-count"] == "1"
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


async def test_the_newest_statuses_of_each_context_combine(ann, bob):
    await ann.create("app", auto_init=True)
    sha = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    for context, state in (("ci", "failure"), ("ci", "success"), ("lint", "pending")):
        answer = await ann.post(f"/repos/ann/app/statuses/{sha}", {"context": context, "state": state})
        assert answer.status_code == 201, answer.text
    combined = (await bob.get("/repos/ann/app/commits/master/status")).json()
    assert (combined["state"], combined["total_count"]) == ("pending", 2)
    assert (await bob.get("/repos/ann/app/commits/master/statuses")).json()["state"] == "success"
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
    assert (await bob.get("/user/starred/ann/app")).status_code == 204
    assert (await bob.call("DELETE", "/api/v1/user/starred/ann/app")).status_code == 204
    absent = await bob.get("/user/starred/ann/app")
    assert (absent.status_code, absent.content) == (404, b"")


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


STYLES = (
    "allow_merge_commits",
    "allow_rebase",
    "allow_rebase_explicit",
    "allow_squash_merge",
    "allow_fast_forward_only_merge",
    "allow_merge_update",
    "allow_rebase_update",
)


async def test_every_style_of_merging_is_allowed_until_an_administrator_says_otherwise(world, ann):
    created = await ann.create("app", template=True)
    assert [created[style] for style in STYLES] == [True] * 7
    assert (created["default_merge_style"], created["template"]) == ("merge", True)
    changes = dict.fromkeys(STYLES[:3], False) | {"default_merge_style": "squash", "template": False}
    changes |= {"default_delete_branch_after_merge": True, "allow_manual_merge": True}
    edited = (await ann.call("PATCH", "/api/v1/repos/ann/app", changes)).json()
    assert {name: edited[name] for name in changes} == changes
    assert (await ann.get("/repos/ann/app")).json() == edited
    event = (await world.events("repository.edited"))[-1]["repository"]
    assert {name: event[name] for name in changes if name in event} == changes


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_default_style_is_one_that_is_allowed(ann):
    await ann.create("app")
    for changes, style in (
        ({"allow_rebase": False}, "merge"),
        ({"allow_merge_commits": False}, "rebase-merge"),
        ({"allow_merge_commits": True}, "rebase-merge"),
    ):
        edited = await ann.call("PATCH", "/api/v1/repos/ann/app", changes)
        assert (edited.status_code, edited.json()["default_merge_style"]) == (200, style), edited.text


INERT = {
    "has_wiki": True,
    "has_projects": True,
    "has_packages": True,
    "has_actions": True,
    "projects_mode": "repo",
    "autodetect_manual_merge": False,
    "default_allow_maintainer_edit": True,
    "default_update_style": "rebase",
    "ignore_whitespace_conflicts": True,
    "internal_tracker": {
        "enable_time_tracker": False,
        "allow_only_contributors_to_track_time": False,
        "enable_issue_dependencies": True,
    },
    "external_tracker": {
        "external_tracker_url": "https://x.test",
        "external_tracker_format": "",
        "external_tracker_style": "numeric",
        "external_tracker_regexp_pattern": "",
    },
    "external_wiki": {"external_wiki_url": "https://x.test/wiki"},
}


async def test_settings_of_what_there_is_not_are_kept_and_shown(ann):
    created = await ann.create("app")
    assert {*created["internal_tracker"].values(), created["autodetect_manual_merge"]} == {True}
    for name, value in INERT.items():
        edited = await ann.call("PATCH", "/api/v1/repos/ann/app", {name: value})
        assert (edited.status_code, edited.json()[name]) == (200, value), name
    shown = (await ann.get("/repos/ann/app")).json()
    assert {name: shown[name] for name in INERT} == INERT


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"default_merge_style": "octopus"}, "default_merge_style"),
        (dict.fromkeys(MERGE_STYLES.values(), False), "default_merge_style"),
        ({"has_code": False}, "has_code"),
        ({"default_update_style": "squash"}, "default_update_style"),
        ({"projects_mode": "bogus"}, "projects_mode"),
        ({"external_wiki": {"external_wiki_url": "u" * 2001}}, "external_wiki"),
    ],
)
async def test_a_setting_that_cannot_be_is_refused_by_field(ann, body, field):
    before = await ann.create("app")
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].startswith(field), answer.text
    assert (await ann.get("/repos/ann/app")).json() == before


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("body", [{"object_format_name": "sha256"}, {"trust_model": "all"}])
async def test_another_object_format_or_trust_model_is_refused(ann, body):
    answer = await ann.post("/user/repos", {"name": "app", **body})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, *body)
    assert (await ann.post("/user/repos", {"name": "app", "object_format_name": "sha1"})).status_code == 201


async def test_the_default_branch_is_that_of_the_request_or_of_the_setting(world, ann):
    world.settings.default_branch = "main"
    assert (await ann.create("one"))["default_branch"] == "main"
    assert (await ann.create("two", default_branch=""))["default_branch"] == "main"
    created = await ann.create("three", default_branch="trunk", auto_init=True)
    assert created["default_branch"] == "trunk"
    assert (await ann.get("/repos/ann/three/branches/trunk")).status_code == 200


async def test_a_repository_counts_open_pull_requests_and_releases(world, ann):
    created = await ann.create("app", auto_init=True)
    await world.deliver(OpenIssuesCounted(repository_id=created["id"], open_issues=3, open_pulls=2))
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["open_issues_count"], shown["open_pr_counter"]) == (3, 2)


async def test_the_former_name_of_an_owner_leads_to_the_repository(world, ann, bob):
    """Identity keeps the name for a time. Callers without access still do not learn that the repository
    exists."""
    await ann.create("app")
    await ann.create("secret", private=True)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "tool"})
    world.identity.former_names["annie"] = 1
    for path, target in (("annie/tool", "ann/tool"), ("ANNIE/app", "ann/tool")):
        answer = await bob.get(f"/repos/{path}?x=1")
        assert (answer.status_code, answer.headers["location"]) == (
            302,
            f"/api/v1/repos/{target}?x=1",
        )
    answer = await bob.call("GET", "/annie/tool.git/info/refs?service=git-upload-pack")
    assert answer.headers["location"] == "/ann/tool.git/info/refs?service=git-upload-pack"
    hidden, missing = [await bob.get(f"/repos/annie/{name}") for name in ("secret", "none")]
    assert (hidden.status_code, hidden.json()) == (404, missing.json())
    assert (await ann.get("/repos/annie/secret")).status_code == 302


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_the_statements_of_a_creation_are_prepared(world, ann):
    await ann.create("one")
    with unprepared_statements(world.database) as statements:
        await ann.create("two")
    assert statements == []
