"""Imports of organizations that are begun again, and people of them who get accounts later."""

import asyncio
from urllib.parse import urlsplit

import pytest

from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.events import UserDeleted
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.jobs.imports import AT_ONCE

from ..remote_world import status
from ..world import commit, git
from .test_organization_imports import (  # noqa: F401 - fixtures
    CREDENTIALS,
    NAMES,
    answer_of,
    begin,
    change_account,
    kill_step,
    listed,
    root,
    settings,
    source,
    work,
)


async def again(root, path, status=202, **body):  # noqa: F811
    answer = await root.post(f"{path}/again", CREDENTIALS | body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def push(source, name):  # noqa: F811
    """Add a commit to a repository of the source, and return its hash."""
    folder = source.folder / f"work of {name}"
    bare = source.folder / "there" / f"{name}.git"
    if not folder.exists():
        await git("clone", "-q", str(bare), str(folder), cwd=source.folder)
    new = await commit(folder, "more.txt")
    await git("push", "-q", "origin", "HEAD:refs/heads/trunk", cwd=folder)
    return new


async def tip(world, repository_id):
    path = world.components.storage.path(repository_id)
    return (await git("rev-parse", "refs/heads/trunk", cwd=path)).strip()


async def add_repository(source, name):  # noqa: F811
    bare = source.folder / "there" / "source.git"
    await git("clone", "-q", "--bare", str(bare), str(bare.with_name(f"{name}.git")), cwd=source.folder)
    source.repositories.append({"name": name, "description": "", "private": False})


async def imported(world, root, source, **more):  # noqa: F811
    path = await begin(root, source, **more)
    await work(world, 5)
    assert (await root.get(path)).json()["status"] == "done"
    return path


async def test_all_repositories_are_repeated_and_new_ones_come(world, root, source):  # noqa: F811
    path = await imported(world, root, source)
    before = await listed(root, path)
    new = {name: await push(source, name) for name in ("one", "six")}
    await add_repository(source, "seven")
    state = await again(root, path)
    assert (state["status"], state["repeat"], state["repositories"]) == ("waiting", 1, {"waiting": 6})
    await again(root, path, status=409)
    await work(world, 8)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"], state["repositories"]) == ("done", "", {"done": 7})
    after = await listed(root, path)
    assert [*after] == [*NAMES, "seven"]
    assert {name: after[name]["id"] for name in NAMES} == {name: before[name]["id"] for name in NAMES}
    assert [after[name]["repeat"] for name in (*NAMES, "seven")] == [1] * 6 + [0]
    for name, oid in new.items():
        assert await tip(world, after[name]["id"]) == oid
    assert {row.sealed for row in await world.rows("remote")} == {None}
    [row] = await world.rows("organization_import")
    assert (row.sealed, row.place) == (None, None)
    await again(root, path)
    await work(world, 8)
    assert {one["repeat"] for one in (await listed(root, path)).values()} == {2, 1}


async def end_imports(world):
    """End the imports of repositories, which wait for issues here."""
    table = world.database.metadata.tables["migration"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(state="done"))
    await work(world, 2)


async def test_a_few_repositories_are_repeated_at_once(world, root, source):  # noqa: F811
    path = await begin(root, source, issues=True)
    await work(world, 2)
    for _ in range(2):
        await end_imports(world)
    assert (await root.get(path)).json()["repositories"] == {"done": 6}
    await again(root, path)
    await work(world, 3)
    state = (await root.get(path)).json()
    assert (state["status"], state["repositories"]) == ("running", {"running": AT_ONCE, "waiting": 2})


@pytest.mark.parametrize("turns", range(0, 150, 10))
async def test_a_killed_repeat_goes_on_and_repeats_each_once(world, root, source, turns):  # noqa: F811
    path = await imported(world, root, source, repositories=["one", "two", "s*"])
    await add_repository(source, "seven")
    await again(root, path)
    for _ in range(3):
        await kill_step(world, turns)
    await work(world, 8)
    state = (await root.get(path)).json()
    assert (state["status"], state["repositories"]) == ("done", {"done": 4})
    assert {name: one["repeat"] for name, one in (await listed(root, path)).items()} == {
        "one": 1, "two": 1, "six": 1, "seven": 0,
    }  # fmt: skip
    assert len(world.identity.ownerships) == 4


async def test_what_left_the_organization_or_is_archived_stays(world, root, bob, source):  # noqa: F811
    await bob.create("mine")
    path = await imported(world, root, source, repositories=["one", "two", "three", "four"])
    ids = {name: one["id"] for name, one in (await listed(root, path)).items()}
    tips = {name: await tip(world, ids[name]) for name in ("one", "two")}
    assert (await root.post("/repos/acme/one/transfer", {"new_owner": "bob"})).status_code == 202
    await root.call("PATCH", "/api/v1/repos/acme/two", {"archived": True})
    assert (await root.call("DELETE", "/api/v1/repos/acme/three")).status_code == 204
    for name in ("one", "two", "three", "four"):
        await push(source, name)
    await again(root, path)
    await work(world, 6)
    state = (await root.get(path)).json()
    assert (state["status"], state["repositories"]) == ("done", {"done": 3, "deleted": 1})
    rows = await listed(root, path)
    assert {name: one["error"] for name, one in rows.items()} == {
        "one": "the repository has another owner now",
        "two": "the repository is archived",
        "three": "",
        "four": "",
    }
    assert {name: await tip(world, ids[name]) for name in ("one", "two")} == tips


async def test_failed_and_refused_repositories_are_tried_again(world, root, source):  # noqa: F811
    await root.post("/orgs/acme/repos", {"name": "two"})
    folder = source.folder / "there" / "one.git"
    folder.rename(folder.with_name("away"))
    path = await begin(root, source, repositories=["one", "two"])
    await work(world, 4)
    assert (await root.get(path)).json()["repositories"] == {"failed": 2}
    folder.with_name("away").rename(folder)
    assert (await root.call("DELETE", "/api/v1/repos/acme/two")).status_code == 204
    await again(root, path)
    await work(world, 6)
    assert (await root.get(path)).json()["repositories"] == {"done": 2}
    assert (await root.get("/repos/acme/one/raw/README.md")).text == "hello\n"


async def test_a_cancelled_repeat_is_begun_again(world, root, source):  # noqa: F811
    path = await imported(world, root, source, repositories=["one", "two"])
    await again(root, path)
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 204
    await work(world, 3)
    state = (await root.get(path)).json()
    assert (state["status"], state["repositories"]) == ("cancelled", {"done": 2})
    new = await push(source, "two")
    await again(root, path)
    await work(world, 6)
    state = (await root.get(path)).json()
    assert (state["status"], state["repeat"]) == ("done", 2)
    assert await tip(world, (await listed(root, path))["two"]["id"]) == new


@pytest.mark.parametrize(
    "late", [answer_of([]), status("401 Unauthorized"), None], ids=["empty", "credentials", "page"]
)
async def test_a_step_of_a_cancelled_run_changes_nothing_of_the_next_one(
    world, root, source, late  # noqa: F811
):  # fmt: skip
    path = await imported(world, root, source)
    before = await listed(root, path)
    await again(root, path)
    await add_repository(source, "seven")
    ends = []

    async def answer(_method, target, _headers, _writer):
        parts = urlsplit(target)
        if parts.path.endswith("/repos") and not ends:
            ends.append(await root.call("DELETE", f"/api/v1{path}"))
            await again(root, path)
            return late or source.page_of(parts)
        return source.page_of(parts)

    source.api = answer
    await work(world, 10)
    state = (await root.get(path)).json()
    assert (len(ends), state["repeat"]) == (1, 2)
    assert (state["status"], state["error"], state["repositories"]) == ("done", "", {"done": len(before) + 1})
    after = await listed(root, path)
    assert {one: after[one]["repeat"] for one in before} == dict.fromkeys(before, 1)


async def test_an_import_that_is_begun_again_while_its_job_ends_runs(
    world, root, source, monkeypatch  # noqa: F811
):  # fmt: skip
    path = await imported(world, root, source, repositories=["one"])
    await again(root, path)
    finish, calls = Jobs.finish, []

    async def late(jobs, tx, job, **more):
        if not calls and (row := await store.get(tx, 1)) is not None and row.state == "done":
            calls.append(asyncio.create_task(again(root, path)))
            await asyncio.sleep(1)
        return await finish(jobs, tx, job, **more)

    monkeypatch.setattr(Jobs, "finish", late)
    await work(world, 6)
    await calls[0]
    await work(world, 6)
    state = (await root.get(path)).json()
    assert (state["status"], state["repeat"]) == ("done", 2)


async def test_the_import_of_a_repository_that_left_is_not_cancelled(world, root, bob, source):  # noqa: F811
    await bob.create("mine")
    path = await imported(world, root, source, repositories=["one", "two"])
    await root.post("/repos/acme/two/transfer", {"new_owner": "bob"})
    await again(root, path)
    table = world.database.metadata.tables["migration"]
    ids = {name: one["id"] for name, one in (await listed(root, path)).items()}
    async with world.database.transaction() as tx:
        await tx.execute(
            table.update().where(table.c.repository_id.in_(ids.values())).values(state="running")
        )
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 204
    states = {row.repository_id: row.state for row in await world.rows("migration")}
    assert (states[ids["one"]], states[ids["two"]]) == ("cancelled", "running")


async def test_a_repeat_maps_the_people_of_its_own_table(world, root, bob, source):  # noqa: F811
    await bob.create("mine")
    path = await begin(root, source, issues=True, repositories=["one"], people={"Cat": "bob"})
    await work(world, 2)
    [listed_one] = (await listed(root, path)).values()
    cursor = ""
    while True:
        body = {"cursor": cursor}
        page = await root.call("POST", f"/internal/imports/{listed_one['id']}/pages", body, peer="issues")
        if page.json()["state"] != "page":
            break
        cursor = page.json()["cursor"]
    await work(world, 2)
    await again(root, path, people_csv="Dog,bob\n")
    await work(world, 2)
    [row] = await world.rows("import_source")
    assert (row.people, row.maps_people, row.map_logins) == ('{"dog":2}', True, False)
    refused = await root.post(f"{path}/again", {"people": {"a": "nobody"}})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "people")


async def test_people_get_what_is_theirs_in_all_repositories(world, root, bob, source):  # noqa: F811
    await bob.create("mine")
    path = await imported(world, root, source, repositories=["one", "two", "three"])
    ids = {name: one["id"] for name, one in (await listed(root, path)).items()}
    await root.post("/repos/acme/three/transfer", {"new_owner": "bob"})
    answer = await root.post(f"{path}/people", {"people": {"Cat": "bob"}})
    assert answer.status_code == 202
    await kill_step(world, 10)
    await work(world, 2)
    events = await world.events("import.reassigned")
    assert {event["repository_id"] for event in events} == {ids["one"], ids["two"]}
    assert [event["accounts"] for event in events][:1] == [{"cat": 2}]
    assert (await root.post(f"{path}/people", {})).status_code == 422


async def test_people_get_nothing_from_a_former_administrator(world, root, bob, source):  # noqa: F811
    await bob.create("mine")
    path = await imported(world, root, source, repositories=["one"])
    await root.post(f"{path}/people", {"people": {"cat": "bob"}})
    change_account(world, 1, admin=False)
    await work(world, 2)
    assert await world.events("import.reassigned") == []


async def test_accounts_that_were_deleted_since_get_nothing(world, root, bob, source):  # noqa: F811
    path = await imported(world, root, source, repositories=["one"])
    await root.post(f"{path}/people", {"people": {"cat": "bob", "dog": "ann"}})
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    await work(world, 2)
    assert [one["accounts"] for one in await world.events("import.reassigned")] == [{"dog": 1}]


async def test_only_administrators_repeat_and_reassign(world, root, bob, source):  # noqa: F811
    path = await imported(world, root, source, repositories=["one"])
    for person in (bob, world.user(0, "")):
        for target in ("again", "people"):
            body = {"people": {"cat": "bob"}}
            assert (await person.post(f"{path}/{target}", body)).status_code in (401, 403)
    for target in ("again", "people"):
        assert (await root.post(f"/admin/imports/99/{target}", {})).status_code == 404
    assert (await root.get(path)).json()["repeat"] == 0
