"""Changing a repository: its name, units, default branch and visibility; where former names lead."""

import pytest

from ..world import commit, git, work_tree


async def edit(person, path, **changes):
    return await person.call("PATCH", f"/api/v1/repos/{path}", changes)


async def rename(person, path, name):
    answer = await edit(person, path, name=name)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_former_name_leads_to_the_present_one(ann, bob):
    original = await ann.create("old", auto_init=True)
    await rename(ann, "ann/old", "New")
    for path, target in (
        ("/repos/ann/old", "/api/v1/repos/ann/New"),
        ("/repos/ANN/Old/branches/master", "/api/v1/repos/ann/New/branches/master"),
        (
            "/repos/ann/old/raw/master/READ%20ME?x=1&y=%26",
            "/api/v1/repos/ann/New/raw/master/READ%20ME?x=1&y=%26",
        ),
    ):
        answer = await bob.get(path)
        assert (answer.status_code, answer.headers["location"]) == (302, target)
    assert (await bob.get("/repos/ann/NEW")).json()["id"] == original["id"]


async def test_what_changes_something_is_to_be_sent_again_as_it_is(ann, bob):
    await ann.create("old", auto_init=True)
    await rename(ann, "ann/old", "new")
    answer = await ann.post("/repos/ann/old/statuses/master", {"state": "success"})
    assert (answer.status_code, answer.headers["location"]) == (307, "/api/v1/repos/ann/new/statuses/master")
    assert (await edit(bob, "ann/old", description="mine")).status_code == 403
    assert (await bob.call("PUT", "/api/v1/user/starred/ann/old")).status_code == 204


async def test_a_former_name_does_not_disclose_a_private_one(ann, bob):
    await ann.create("old")
    await rename(ann, "ann/old", "secret")
    await edit(ann, "ann/secret", private=True)
    nobody = bob.but(id=0, name="", via="")
    for caller in (bob, nobody):
        former, unknown = [await caller.get(f"/repos/ann/{name}") for name in ("old", "never")]
        assert former.status_code == unknown.status_code == 404
        assert former.json() == unknown.json()
        assert "location" not in former.headers
    advertisement = await nobody.call("GET", "/ann/old/info/refs?service=git-upload-pack")
    assert (advertisement.status_code, "location" in advertisement.headers) == (401, False)


async def test_git_follows_a_former_name(world, ann, git_url, tmp_path):
    await ann.create("old", private=True)
    await rename(ann, "ann/old", "new")
    work = await work_tree(tmp_path)
    tip = await commit(work)
    await git("push", "-q", f"{git_url}/ann/old.git", "master", cwd=work, person=ann)
    await git("clone", "-q", f"{git_url}/ann/old", "copy", cwd=tmp_path, person=ann)
    assert (await git("rev-parse", "HEAD", cwd=tmp_path / "copy")).strip() == tip


async def test_a_new_repository_takes_the_former_name_over(ann, bob):
    await ann.create("one")
    await rename(ann, "ann/one", "two")
    taken = await ann.create("ONE")
    assert (await bob.get("/repos/ann/one")).json()["id"] == taken["id"]
    await ann.call("DELETE", "/api/v1/repos/ann/one")
    assert (await bob.get("/repos/ann/one")).status_code == 404


async def test_a_fork_and_a_rename_take_the_former_name_over_too(ann, bob):
    await ann.create("app")
    for name in ("one", "two"):
        await bob.create(name)
        await rename(bob, f"bob/{name}", f"not-{name}")
    fork = (await bob.post("/repos/ann/app/forks", {"name": "one"})).json()
    assert (await bob.get("/repos/bob/one")).json()["id"] == fork["id"]
    renamed = await rename(bob, "bob/not-one", "two")
    assert (await bob.get("/repos/bob/two")).json()["id"] == renamed["id"]
    assert (await bob.get("/repos/bob/not-one")).headers["location"] == "/api/v1/repos/bob/two"


async def test_names_can_be_exchanged_and_come_back(ann):
    await ann.create("one")
    for before, after in (("one", "two"), ("two", "three"), ("three", "one")):
        await rename(ann, f"ann/{before}", after)
    assert (await ann.get("/repos/ann/one")).status_code == 200
    for former in ("two", "three"):
        assert (await ann.get(f"/repos/ann/{former}")).headers["location"] == "/api/v1/repos/ann/one"


async def test_only_the_letter_case_of_a_name_may_change(ann):
    original = await ann.create("app")
    assert (await rename(ann, "ann/app", "App"))["name"] == "App"
    assert (await ann.get("/repos/ann/app")).json()["id"] == original["id"]


async def test_a_taken_name_is_refused_and_nothing_else_changes(world, ann):
    await ann.create("one")
    await ann.create("two", auto_init=True)
    answer = await edit(ann, "ann/two", name="ONE", description="changed")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "taken")
    shown = (await ann.get("/repos/ann/two")).json()
    assert (shown["name"], shown["description"]) == ("two", "")
    assert await world.events("edited") == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"name": ".."}, 422, "name"),
        ({"name": "a.git"}, 422, "name"),
        ({"name": "n" * 101}, 422, "name"),
        ({"name": ""}, 422, "name"),
        ({"description": "d" * 256}, 422, "description"),
        ({"default_branch": "--x"}, 422, "default_branch"),
        ({"private": "yes"}, 422, "private"),
        ({"has_issues": "maybe"}, 422, "has_issues"),
    ],
)
async def test_wrong_changes_are_refused_by_field(ann, changes, status, field):
    await ann.create("app", auto_init=True)
    answer = await edit(ann, "ann/app", **changes)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)


async def test_a_default_branch_is_what_git_shows_too(world, ann, git_url, tmp_path):
    original = await ann.create("app", auto_init=True)
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await git("push", "-q", f"{git_url}/ann/app.git", "HEAD:refs/heads/next/one", cwd=work, person=ann)
    assert (await edit(ann, "ann/app", default_branch="next/one")).json()["default_branch"] == "next/one"
    head = world.components.storage.path(original["id"]) / "HEAD"
    assert head.read_text().strip() == "ref: refs/heads/next/one"


async def test_units_are_switched_for_everybody(world, ann, bob):
    original = await ann.create("app", auto_init=True)
    units = {"has_issues": False, "has_pull_requests": False, "has_releases": False}
    answer = await edit(ann, "ann/app", **units, has_wiki=True, has_projects=True)
    shown = answer.json()
    assert {key: shown[key] for key in units} == units
    assert (shown["has_code"], shown["has_wiki"], shown["has_projects"]) == (True, True, True)
    access = (await ann.internal("GET", f"{original['id']}/access")).json()
    assert (access["issues_enabled"], access["pulls_enabled"]) == (False, False)
    (event,) = await world.events("edited")
    assert {key: event["repository"][key] for key in units} == units
    assert (await bob.get("/repos/ann/app/releases")).status_code == 404
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})).status_code == 404
    await edit(ann, "ann/app", has_releases=True)
    assert (await bob.get("/repos/ann/app/releases")).status_code == 200


async def test_a_repository_can_be_hidden_and_shown(ann, bob):
    await ann.create("app")
    assert (await edit(ann, "ann/app", private=True)).json()["private"] is True
    assert (await bob.get("/repos/ann/app")).status_code == 404
    await edit(ann, "ann/app", private=False)
    assert (await bob.get("/repos/ann/app")).status_code == 200


async def test_peers_follow_a_former_name(ann):
    original = await ann.create("old")
    await rename(ann, "ann/old", "new")
    access = (await ann.internal("GET", "by-name/ann/old/access")).json()
    assert (access["repository"]["id"], access["repository"]["full_name"]) == (original["id"], "ann/new")
