"""Exports of organizations: who may, the archive, its limits and its end, whatever is killed."""

import asyncio
import hashlib
import io
import json
import zipfile
from datetime import timedelta

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_chassis.errors import TooLarge
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.events import OrganizationDeleted
from ingot_contracts.repos.exports import ExportedLabels, ExportPage, LeftOutFile
from ingot_contracts.repos.imports import ImportedLabel
from ingot_remotes.archives import organization_layout
from ingot_remotes.archives.archive import verify
from ingot_repos.archives.rules import exports as repository_exports
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.organization_exports import jobs, rules
from ingot_repos.organization_exports.jobs import AT_ONCE, PATIENCE, TRIES, ExportFiles
from ingot_repos.organization_exports.rules import LONGEST, REASONS, expire
from ingot_repos.remotes.rules.reasons import REASON_TEXTS
from ingot_testing.non_empty import non_empty

from ..archive_builders import OBJECTS
from ..organization_imports.test_organization_imports import change_account, kill_step, make_due
from ..shard_world import two_shards
from ..world import Person, migrate

CREW = 9
OWNERS, WRITERS = 90, 91
LABEL = ImportedLabel(source_id=4, name="for all", color="00aabb", description="everywhere")
PATH = "/orgs/crew/exports"


@pytest.fixture
async def owner(world, ann, bob):
    """ann owns crew. bob is in its team writers, which has only `lamps`."""
    return await crew_of(world, ann)


async def crew_of(world, ann, names=("lamps", "oil")):
    world.organization(CREW, "crew", full_name="The crew")
    world.identity.add_team(OWNERS, CREW, name="Owners", permission="owner")
    world.identity.add_team(WRITERS, CREW, name="writers", permission="write")
    memberships = {CREW: Membership(owner=True, teams={OWNERS: "owner"})}
    world.identity.memberships[1] = memberships
    world.identity.memberships[2] = {CREW: Membership(teams={WRITERS: "write"})}
    owner = ann.but(organizations=memberships)
    for name in names:
        new = {"name": name, "auto_init": True, "private": name == "oil"}
        assert (await owner.post("/orgs/crew/repos", new)).status_code == 201
    granted = await owner.call("PUT", f"/api/v1/teams/{WRITERS}/repos/crew/{names[0]}")
    assert granted.status_code == 204, granted.text
    return owner


async def begin(owner):
    """Begin an export, and return its path."""
    answer = await owner.post(PATH)
    assert answer.status_code == 202, answer.text
    return f"{PATH}/{answer.json()['id']}"


async def state_of(owner, path):
    state = (await owner.get(path)).json()
    return state["status"], state["error"]


async def call_of_issues(person, path, sent):
    answer = await person.call("POST", f"/internal/{path}", msgspec.to_builtins(sent), peer="issues")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def send_labels(person, **fields):
    """Send the labels of the last export as issues does."""
    [*_, event] = await person.world.events("labels.requested")
    fields = {"name": event["name"], "labels": [LABEL]} | fields
    return await call_of_issues(person, "organization-exports/labels", ExportedLabels(**fields))


async def send_pages(person, without=(), **fields):
    """Send the only page of each export of a repository, as issues does."""
    for event in await person.world.events("repos.export.requested"):
        names = {"name": event["name"], "cursor": "", "following": "", "labels": OBJECTS["labels"]}
        if event["repository_id"] not in without:
            page = ExportPage(**names | fields)
            await call_of_issues(person, f"exports/{event['repository_id']}/pages", page)


async def work(world, times=1):
    for _ in range(times):
        await make_due(world)
        await world.components.import_workers.step()


async def export(owner):
    """Export, and return the path."""
    path = await begin(owner)
    await send_labels(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("done", "")
    return path


async def finish(owner):
    """Do all steps of an export whose labels have arrived."""
    await work(owner.world)
    await send_pages(owner)
    for _ in range(4):
        await work(owner.world)


async def objects(world):
    """Return the keys of the stored archives, after the jobs that delete some."""
    await make_due(world)
    while await world.components.workers.step():
        pass
    return sorted([one.key async for page in world.components.objects.list("exports") for one in page])


def folders(world):
    return [*(world.components.storage.root / "staging").glob("archive-*")]


async def test_an_organization_comes_out_as_one_archive(world, owner, tmp_path):
    path = await export(owner)
    state = (await owner.get(path)).json()
    assert state["repositories"] == {"waiting": 0, "running": 0, "done": 2, "failed": 0}
    answer = await owner.get(f"{path}/archive")
    assert answer.headers["content-type"] == "application/zip"
    assert "crew.ingot.zip" in answer.headers["content-disposition"]
    assert (len(answer.content), answer.headers["etag"].strip('"')) == (
        state["size"],
        hashlib.sha256(answer.content).hexdigest(),
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "repositories/00001.zip", "repositories/00002.zip", "organization.json"
        ]  # fmt: skip
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_STORED}
        manifest = json.loads(archive.read("organization.json"))
        for one in manifest["repositories"]:
            content = archive.read(one["path"])
            assert hashlib.sha256(content).hexdigest() == one["sha256"]
            (tmp_path / "one.zip").write_bytes(content)
            one_manifest = verify(tmp_path / "one.zip", max_bytes=10**9)
            assert (one_manifest.name, one_manifest.private) == (one["name"], one["name"] == "oil")
    assert [one["name"] for one in manifest["repositories"]] == ["lamps", "oil"]
    assert (manifest["format"], manifest["version"]) == ("ingot-organization", 1)
    assert (manifest["name"], manifest["url"]) == ("crew", "http://ingot.test/crew")
    assert manifest["labels"] == [
        {"name": "for all", "color": "00aabb", "description": "everywhere", "exclusive": False,
         "is_archived": False}
    ]  # fmt: skip
    teams = {one["name"]: (one["members"], one["repositories"]) for one in manifest["teams"]}
    assert teams == {"Owners": ([{"login": "ann"}], []), "writers": ([{"login": "bob"}], ["lamps"])}
    assert manifest["left_out"] == []

    listed = (await owner.get(f"{path}/repositories")).json()
    assert [(one["name"], one["status"], one["error"]) for one in listed] == [
        ("lamps", "done", ""), ("oil", "done", "")
    ]  # fmt: skip
    assert await objects(world) == [f"exports/organization-{CREW}/{await uuid_of(world)}"]
    assert folders(world) == []
    for name in ("lamps", "oil"):
        assert (await owner.get(f"/repos/crew/{name}/export")).status_code == 404


async def uuid_of(world):
    [*_, row] = await world.rows("organization_export")
    return row.uuid


async def test_a_part_of_an_archive_can_be_downloaded(owner):
    path = await export(owner)
    whole = (await owner.get(f"{path}/archive")).content
    answer = await owner.get(f"{path}/archive", headers={"Range": "bytes=10-19"})
    assert (answer.status_code, answer.content) == (206, whole[10:20])


async def test_an_organization_without_repositories_has_an_archive(world, ann):
    owner = await crew_of(world, ann)
    for name in ("lamps", "oil"):
        assert (await owner.call("DELETE", f"/api/v1/repos/crew/{name}")).status_code == 204
    path = await export(owner)
    content = (await owner.get(f"{path}/archive")).content
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["organization.json"]


async def test_only_owners_export(world, owner, bob):
    path = await export(owner)
    stranger, nobody = world.user(3, "cat"), world.user(0, "")
    root = world.user(4, "root", admin=True).but(admin=True)
    routes = (
        ("POST", PATH, 409), ("GET", PATH, 200), ("GET", path, 200), ("GET", f"{path}/repositories", 200),
        ("GET", f"{path}/archive", 200), ("DELETE", path, 204),
    )  # fmt: skip
    await begin(owner)
    for visibility, status in (("public", 403), ("private", 404)):
        change_account(world, CREW, visibility=visibility)
        async with world.database.transaction() as tx:
            account = world.database.metadata.tables["account"]
            await tx.execute(account.update().where(account.c.id == CREW).values(visibility=visibility))
        for method, route, success in routes:
            url = f"/api/v1{route}"
            assert (await nobody.call(method, url)).status_code == 401
            assert (await stranger.call(method, url)).status_code == status
            assert (await bob.call(method, url)).status_code == 403
            if visibility == "private":
                assert (await root.call(method, url)).status_code == success, (method, url)


async def test_exports_of_users_and_of_other_organizations_are_not_found(world, owner):
    path = await begin(owner)
    world.organization(10, "others")
    world.identity.memberships[1] |= {10: Membership(owner=True)}
    for route in ("/orgs/ann/exports", "/orgs/none/exports", path.replace("crew", "others")):
        assert (await owner.get(route)).status_code == 404, route
    for wrong in ("0", "77", str(2**63), "9" * 30, "-1", "x", "%00", "1/x"):
        for method in ("GET", "DELETE"):
            answer = await owner.call(method, f"/api/v1{PATH}/{wrong}")
            assert answer.status_code in (404, 405), wrong


async def test_a_token_needs_the_scopes_of_what_an_archive_has(owner):
    path = await export(owner)
    every = {"write:organization", "read:repository", "read:issue"}
    for absent in every:
        token = owner.but(scopes=frozenset(every - {absent}))
        assert (await token.post(PATH)).status_code == 403, absent
        for part in ("archive", "repositories"):
            assert (await token.get(f"{path}/{part}")).status_code == 403, absent
    token = owner.but(scopes=frozenset({"read:organization", "read:repository", "read:issue"}))
    assert (await token.get(f"{path}/archive")).status_code == 200
    assert (await token.call("DELETE", f"/api/v1{path}")).status_code == 403
    assert (await owner.but(restricted_to=frozenset({1})).get(path)).status_code == 403


async def test_one_export_runs_and_the_last_one_stays(world, owner):
    first = await export(owner)
    second = await begin(owner)
    assert (await owner.post(PATH)).status_code == 409
    listed = await owner.get(PATH)
    assert [f"{PATH}/{one['id']}" for one in listed.json()] == [second, first]
    assert (await owner.get(f"{first}/archive")).status_code == 200
    assert (await owner.get(f"{second}/archive")).status_code == 404
    await send_labels(owner)
    await finish(owner)
    third = await begin(owner)
    assert [f"{PATH}/{one['id']}" for one in (await owner.get(PATH)).json()] == [third, second]
    assert (await owner.get(first)).status_code == 404
    assert len(await objects(world)) == 1


async def test_a_failed_export_leaves_the_last_archive(world, owner):
    first = await export(owner)
    failed = await begin(owner)
    await send_labels(owner, labels=[], is_too_large=True)
    assert await state_of(owner, failed) == ("failed", REASONS["too-large"])
    third = await begin(owner)
    assert [f"{PATH}/{one['id']}" for one in (await owner.get(PATH)).json()] == [third, first]
    assert (await owner.get(f"{first}/archive")).status_code == 200


async def test_exports_go_with_their_organization(world, owner):
    await export(owner)
    await begin(owner)
    await work(world)
    assert len(await objects(world)) == 1
    await world.deliver(OrganizationDeleted(organization_id=CREW, login="crew"))
    assert await objects(world) == []
    assert (await owner.get(PATH)).json() == []


async def test_a_repository_that_waits_for_a_day_is_left_out(world, owner):
    path = await begin(owner)
    await send_labels(owner)
    tables = world.database.metadata.tables
    async with world.database.transaction() as tx:
        oil = tables["repository"].c.name == "oil"
        await tx.execute(tables["repository"].update().where(oil).values(state="forking"))
    await finish(owner)
    assert await state_of(owner, path) == ("running", "")
    async with world.database.transaction() as tx:
        began = now() - PATIENCE - timedelta(minutes=1)
        await tx.execute(tables["organization_export"].update().values(created_at=began))
    await work(world, 2)
    assert await state_of(owner, path) == ("done", "")
    rows = (await owner.get(f"{path}/repositories")).json()
    assert [(one["name"], one["status"], one["error"]) for one in rows] == [
        ("lamps", "done", ""), ("oil", "failed", REASONS["waited"]),
    ]  # fmt: skip


async def test_an_export_waits_for_the_labels(world, owner):
    path = await begin(owner)
    await finish(owner)
    assert (await state_of(owner, path))[0] == "running"
    assert await send_labels(owner) is True
    await work(world)
    assert (await state_of(owner, path))[0] == "done"
    assert await send_labels(owner) is False
    assert await send_labels(owner, name="another") is False


async def test_too_many_labels_fail_an_export(world, owner):
    path = await begin(owner)
    assert await send_labels(owner, labels=[], is_too_large=True) is False
    assert await state_of(owner, path) == ("failed", REASONS["too-large"])
    assert (await owner.get(f"{path}/archive")).status_code == 404


async def test_only_issues_sends_labels(owner):
    await begin(owner)
    for peer in ("", "hooks", "web", "mail"):
        body = {"name": await uuid_of(owner.world), "labels": []}
        answer = await owner.call("POST", "/internal/organization-exports/labels", body, peer=peer)
        assert answer.status_code == 404, peer


async def test_few_repositories_are_exported_at_once(world, ann, bob):
    owner = await crew_of(world, ann, [f"app{number}" for number in range(AT_ONCE + 2)])
    path = await begin(owner)
    for _ in range(2):
        await work(world)
        state = (await owner.get(path)).json()["repositories"]
        assert state == {"waiting": 2, "running": AT_ONCE, "done": 0, "failed": 0}
    await send_labels(owner)
    await finish(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("done", "")


async def test_an_export_of_a_repository_that_runs_is_left_alone(world, owner):
    assert (await owner.post("/repos/crew/lamps/export")).status_code == 202
    path = await begin(owner)
    await work(world)
    [lamps, oil] = (await owner.get(f"{path}/repositories")).json()
    assert (lamps["status"], oil["status"]) == ("waiting", "running")
    await send_labels(owner)
    await finish(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("done", "")


async def test_an_export_of_a_repository_that_was_cancelled_begins_again(world, owner):
    path = await begin(owner)
    await send_labels(owner)
    await work(world)
    assert (await owner.call("DELETE", "/api/v1/repos/crew/lamps/export")).status_code == 204
    await work(world)
    await finish(owner)
    assert await state_of(owner, path) == ("done", "")
    assert (await owner.get(path)).json()["repositories"]["done"] == 2


async def test_what_cannot_be_exported_is_named(world, owner):
    """Of a page that no import takes, and of a repository that went to another owner."""
    path = await begin(owner)
    await send_labels(owner)
    [lamps, oil] = [row.id for row in await world.rows("repository")]
    await work(world)
    await send_pages(owner, [lamps], is_too_large=True, labels=[])
    moved = await owner.post("/repos/crew/lamps/transfer", {"new_owner": "ann"})
    assert moved.status_code == 202, moved.text
    await work(world, 3)
    assert await state_of(owner, path) == ("done", "")
    listed = (await owner.get(f"{path}/repositories")).json()
    assert [(one["id"], one["status"], one["error"]) for one in listed] == [
        (lamps, "failed", REASONS["gone"]),
        (oil, "failed", REASONS["too-large"]),
    ]
    content = (await owner.get(f"{path}/archive")).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        manifest = json.loads(archive.read("organization.json"))
    assert manifest["left_out"] == [
        {"name": "lamps", "error": REASONS["gone"]}, {"name": "oil", "error": REASONS["too-large"]}
    ]  # fmt: skip
    assert manifest["repositories"] == []
    assert (await owner.get("/repos/ann/lamps/export")).status_code == 404
    assert folders(world) == []


async def test_files_that_an_archive_lacks_are_named(world, owner, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_LEFT_OUT", 1)
    path = await begin(owner)
    await send_labels(owner)
    await work(world)
    files = [LeftOutFile(number=n, name="film.mp4", size=50_000_000, reason="too-large") for n in (1, 2)]
    await send_pages(owner, left_out=files)
    await work(world, 4)
    for one in non_empty((await owner.get(f"{path}/repositories")).json()):
        assert one["left_out_files"] == [msgspec.to_builtins(files[0])]


async def test_a_deleted_repository_is_no_obstacle(world, owner):
    path = await begin(owner)
    await send_labels(owner)
    await work(world)
    assert (await owner.call("DELETE", "/api/v1/repos/crew/lamps")).status_code == 204
    await finish(owner)
    assert (await owner.get(path)).json()["repositories"] == {
        "waiting": 0, "running": 0, "done": 1, "failed": 1
    }  # fmt: skip


@pytest.mark.parametrize("step", ["before", "between", "at the end"])
@pytest.mark.parametrize("loss", ["not an owner", "suspended", "deleted", "organization"])
async def test_an_export_ends_with_the_right_of_its_user(world, owner, monkeypatch, step, loss):
    path = await begin(owner)
    await send_labels(owner)
    watcher = world.user(4, "root", admin=True).but(admin=True)

    def lose():
        if loss == "not an owner":
            world.identity.memberships[1] = {CREW: Membership(teams={WRITERS: "write"})}
        elif loss == "organization":
            world.identity.memberships[1] = {}
        elif loss == "suspended":
            change_account(world, 1, active=False)
        else:
            del world.identity.accounts[1]

    if step == "at the end":
        put = world.components.objects.put

        async def put_late(key, *args, **options):
            if "organization" in key:
                lose()
            return await put(key, *args, **options)

        monkeypatch.setattr(world.components.objects, "put", put_late)
        await work(world)
        await send_pages(watcher)
        await work(world, 4)
    else:
        await work(world, 1 if step == "between" else 0)
        lose()
        await work(world)
    assert await state_of(watcher, path) == ("failed", REASONS["owner"])
    await send_pages(watcher)
    await work(world, 2)
    assert await objects(world) == []
    assert folders(world) == []
    assert (await watcher.get(f"{path}/archive")).status_code == 404
    for name in ("lamps", "oil"):
        assert (await watcher.get(f"/repos/crew/{name}/export")).status_code == 404


async def test_an_administrator_exports_any_organization(world, owner):
    root = world.user(4, "root", admin=True).but(admin=True)
    path = await begin(root)
    await send_labels(root)
    await finish(root)
    assert await state_of(root, path) == ("done", "")


@pytest.mark.parametrize("steps", range(5))
async def test_a_cancelled_export_leaves_nothing(world, owner, steps):
    path = await begin(owner)
    await send_labels(owner)
    for step in range(steps):
        await work(world)
        if step == 0:
            await send_pages(owner, [1])
    assert (await owner.call("DELETE", f"/api/v1{path}")).status_code == 204
    assert (await owner.get(path)).status_code == 404
    await send_pages(owner)
    await work(world, 2)
    assert await objects(world) == []
    assert folders(world) == []
    assert await world.rows("organization_export_repository") == []
    assert await world.rows("export") == []
    assert (await owner.call("DELETE", f"/api/v1{path}")).status_code == 404


async def test_an_export_that_is_deleted_while_it_is_written_ends(world, owner, monkeypatch):
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.01)
    put, ended = world.components.objects.put, asyncio.Event()
    path = await begin(owner)

    async def put_late(key, *args, **options):
        if "organization" not in key:
            return await put(key, *args, **options)
        assert (await owner.call("DELETE", f"/api/v1{path}")).status_code == 204
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(world.components.objects, "put", put_late)
    await send_labels(owner)
    await finish(owner)
    assert ended.is_set()
    assert await objects(world) == []


async def test_an_export_that_is_deleted_while_it_is_stored_leaves_no_object(world, owner, monkeypatch):
    put = world.components.objects.put
    path = await begin(owner)

    async def put_late(key, *args, **options):
        if "organization" in key:
            assert (await owner.call("DELETE", f"/api/v1{path}")).status_code == 204
        return await put(key, *args, **options)

    monkeypatch.setattr(world.components.objects, "put", put_late)
    await send_labels(owner)
    await finish(owner)
    assert await objects(world) == []


@pytest.mark.parametrize("turns", range(0, 400, 23))
async def test_a_killed_export_goes_on(world, owner, turns):
    """Every step is cancelled after some turns of the event loop, and done by another worker."""
    path = await begin(owner)
    await send_labels(owner)
    for _ in range(5):
        await kill_step(world, turns)
        await work(world)
        await send_pages(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("done", "")
    content = (await owner.get(f"{path}/archive")).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert (len(archive.namelist()), archive.testzip()) == (3, None)
    assert len(await objects(world)) == 1
    assert folders(world) == []


async def test_an_export_that_meets_an_unknown_error_fails(world, owner, monkeypatch):
    async def fail(*_):
        raise OSError("no reason that anybody knew")

    path = await begin(owner)
    await send_labels(owner)
    await work(world)
    await send_pages(owner)
    monkeypatch.setattr(HttpIdentity, "export_organization", fail)
    await work(world, TRIES + 2)
    assert await state_of(owner, path) == ("failed", REASONS["failed"])
    assert await objects(world) == []


async def test_an_export_outlasts_an_outage_of_identity(world, owner):
    path = await begin(owner)
    await send_labels(owner)
    await work(world)
    await send_pages(owner)
    world.identity.unavailable = True
    await work(world, TRIES + 2)
    world.identity.unavailable = False
    await work(world, 3)
    assert await state_of(owner, path) == ("done", "")


async def test_too_many_teams_fail_an_export(world, owner, monkeypatch):
    async def fail(*_):
        raise TooLarge("too many")

    monkeypatch.setattr(HttpIdentity, "export_organization", fail)
    path = await begin(owner)
    await send_labels(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("failed", REASONS["too-large"])


async def test_a_manifest_above_the_limit_fails_an_export(world, owner, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_MANIFEST_BYTES", 100)
    path = await begin(owner)
    await send_labels(owner)
    await finish(owner)
    assert await state_of(owner, path) == ("failed", REASONS["too-large"])
    assert await objects(world) == []


class TestLimit:
    @pytest.fixture
    def settings(self):
        return {"max_organization_export_bytes": 1000}

    async def test_an_archive_above_the_limit_fails(self, world, owner):
        path = await begin(owner)
        await send_labels(owner)
        await work(world)
        await send_pages(owner)
        await work(world, 3)
        assert await state_of(owner, path) == ("failed", REASONS["too-large"])
        assert await objects(world) == []


async def test_an_archive_expires(world, owner):
    path, table = await export(owner), world.database.metadata.tables["organization_export"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(expires_at=now() - timedelta(seconds=1)))
    await expire(world.database, world.components.jobs, "another")
    assert (await owner.get(f"{path}/archive")).status_code == 200
    await expire(world.database, world.components.jobs, "shard-0")
    assert (await owner.get(path)).status_code == 404
    assert await objects(world) == []


async def test_an_export_that_takes_too_long_fails(world, owner):
    path, table = await begin(owner), world.database.metadata.tables["organization_export"]
    await work(world)
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(created_at=now() - LONGEST))
    await expire(world.database, world.components.jobs, "shard-0")
    assert await state_of(owner, path) == ("failed", REASONS["failed"])
    assert await world.rows("export") == []


async def test_a_sweep_keeps_the_archives_of_an_export(world, owner):
    path = await begin(owner)
    await work(world)
    await send_pages(owner)
    await work(world, 2)
    files = ExportFiles(world.database, world.components.objects)
    await files.sweep(timedelta(seconds=-5))
    await send_labels(owner)
    await work(world)
    assert await state_of(owner, path) == ("done", "")
    await files.sweep(timedelta(seconds=-5))
    assert (await owner.get(f"{path}/archive")).status_code == 200


async def test_an_archive_of_a_repository_is_not_deleted_with_a_late_request(world, owner):
    """The request has read the export of the repository before its archive became a part of this export."""
    path = await begin(owner)
    await work(world)
    await send_pages(owner)
    await make_due(world)
    await world.components.import_workers.step()
    async with world.database.read() as db:
        row = await repository_exports.require(db, 1)
    await work(world)
    async with world.database.transaction() as tx:
        await repository_exports.remove(tx, world.components.jobs, row, "shard-0")
    assert len(await objects(world)) == 2
    await send_labels(owner)
    await work(world, 2)
    assert await state_of(owner, path) == ("done", "")


async def test_the_writer_needs_little_memory():
    """At most one chunk is held, however many there are."""
    chunk = b"x" * 1000

    async def chunks():
        for _ in range(200):
            yield chunk

    largest = 0
    archives = ((organization_layout.archive_path(number), chunks()) for number in (1, 2))
    whole = b""
    async for part in organization_layout.write_parts(archives, b"{}"):
        largest, whole = max(largest, len(part)), whole + part
    assert largest < 2 * len(chunk)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.read("repositories/00002.zip") == chunk * 200
        assert archive.read("organization.json") == b"{}"


async def test_an_organization_on_two_shards_comes_out_as_one_archive(make_database, tmp_path):
    """The shards have stores of their own. Any of them answers."""
    async with two_shards(make_database("repos", migrate), tmp_path) as (a, b, _):
        owner = await crew_of(a, a.user(1, "ann"), ("lamps",))
        a.user(2, "bob")
        there = Person(b, owner.principal)
        new = {"name": "oil", "auto_init": True}
        assert (await there.post("/orgs/crew/repos", new)).status_code == 201
        path = await begin(owner)
        await send_labels(owner)
        await work(a)
        await send_pages(owner)
        await send_pages(there)
        for world in (b, a, a, b, a):
            await work(world)
        assert await state_of(there, path) == ("done", "")
        content = (await there.get(f"{path}/archive")).content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert (len(archive.namelist()), archive.testzip()) == (3, None)
        assert await objects(b) == []
        assert len(await objects(a)) == 1


def test_each_reason_has_a_text():
    assert {rules.text_of(reason) for reason in REASONS} == {*REASONS.values()}
    assert rules.text_of("busy") == REASON_TEXTS["busy"]
    assert rules.text_of("") == ""
