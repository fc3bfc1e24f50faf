"""Repositories move from one shard to another while they are used, and as often as a move is interrupted."""

import asyncio
import shutil
import subprocess
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_git.storage.copies import ObjectFile
from ingot_git.storage.packs import in_use
from ingot_repos.catalog.store.tables import metadata, repository
from ingot_repos.placement.rules.owners import LOCK_MARGIN
from ingot_repos.placement.store import shards
from ingot_repos.pushes.store import refs
from ingot_repos.repositories.api import repositories
from ingot_repos.shards.rules import moves
from ingot_repos.shards.store import moves as move_rows
from ingot_wire.client import Origin

from ..lfs_client import FILE, objects_of, put
from ..shard_world import two_shards
from ..ssh_world import Client, Key, ssh_before
from ..world import REPOS_KEY, Person, commit, git, migrate, work_tree

JOB = metadata.tables["job"]


@pytest.fixture
async def worlds(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as both:
        yield both


@pytest.fixture
def ann(worlds):
    return worlds[0].user(1, "ann")


async def request_move(world, repository_id, source, target):
    async with world.database.transaction() as tx:
        network = await move_rows.network(tx, repository_id)
        await moves.request_move(tx, world.components.jobs, network, source, target)


async def make_due(world):
    """Make work that waits for a time or another try due now."""
    async with world.database.transaction() as tx:
        await tx.execute(update(JOB).values(run_at=now()))


async def shard_of(world, repository_id):
    async with world.database.read() as db:
        return (await shards.place(db, repository_id)).shard


async def upload(person):
    """A release with a file; the file."""
    release = (await person.post("/repos/ann/app/releases", {"tag_name": "v1"})).json()
    path = release["upload_url"].removeprefix("http://ingot.test")
    headers = person.headers() | {"Content-Type": "application/octet-stream"}
    return (
        await person.world.http.post(path, params={"name": "a.zip"}, headers=headers, content=FILE)
    ).json()


def files_of(world):
    return [file for file in (world.folder / "storage" / "files").rglob("*") if file.is_file()]


def move_before_journal(world, target, repository_id):
    """Let the next change of files in `world` begin when its repository has just moved."""
    journaled = world.components.pushes.journaled

    @asynccontextmanager
    async def moved(*args, **named):
        world.components.pushes.journaled = journaled
        await request_move(world, repository_id, world.settings.shard, target.settings.shard)
        await target.components.move_workers.step()
        async with journaled(*args, **named) as push_id:
            yield push_id

    world.components.pushes.journaled = moved


def fsck(world, repository_id):
    path = world.components.storage.path(repository_id)
    subprocess.run(["git", "-C", str(path), "fsck", "--full", "--strict"], capture_output=True, check=True)
    listed = subprocess.run(
        ["git", "-C", str(path), "for-each-ref", "--format=%(refname) %(objectname)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(line.split() for line in listed.stdout.splitlines())


async def test_nothing_fails_while_a_network_moves(worlds, ann, tmp_path):
    a, b, urls = worlds
    bob, there = a.user(2, "bob"), Person(b, ann.principal)
    app = await ann.create("app", auto_init=True, private=True)
    assert (await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {})).status_code == 204
    await put(ann, FILE)
    asset = await upload(ann)
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert await a.components.workers.step() == 1
    head = {"base_branch": "master", "head_repository_id": fork["id"], "head_branch": "master", "number": 3}
    assert (await bob.internal("POST", f"{app['id']}/compare", head)).status_code == 200
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)

    is_over = asyncio.Event()

    async def push():
        """Without a pause, by both processes in turn; the last one begins when the move is over."""
        count, last = 0, False
        while not last:
            last = is_over.is_set()
            await commit(work)
            await git("push", "-q", f"{urls[count % 2]}/ann/app.git", "master", cwd=work, person=ann)
            count += 1
        return count

    async def clone():
        count, last = 0, False
        while not last:
            last = is_over.is_set()
            await git(
                "clone",
                "-q",
                "--bare",
                f"{urls[count % 2]}/ann/app.git",
                f"copy{count}",
                cwd=tmp_path,
                person=ann,
            )
            count += 1

    async def move():
        await request_move(a, app["id"], "a", "b")
        while await shard_of(a, app["id"]) != "b":
            await make_due(a)
            await b.components.move_workers.step()
        is_over.set()

    pushes, *_ = await asyncio.gather(push(), clone(), move())
    assert pushes >= 2
    tip = (await git("rev-parse", "HEAD", cwd=work)).strip()
    on_disk = fsck(b, app["id"])
    assert on_disk["refs/heads/master"] == tip
    assert on_disk.keys() == {"refs/heads/master", "refs/tags/v1", "refs/pull/3/head"}
    ledger = {row.name: row.oid for row in await a.rows("ref") if row.repository_id == app["id"]}
    assert ledger == {name: oid for name, oid in on_disk.items() if "pull" not in name}
    events = [event for event in await a.events("push.received") if event["ref"] == "refs/heads/master"]
    assert [one["after"] for one in events[:-1]] == [one["before"] for one in events[1:]]
    assert len(events) == pushes
    assert events[-1]["after"] == tip
    assert await shard_of(a, fork["id"]) == "b"
    assert fsck(b, fork["id"]).keys() == {"refs/heads/master", "refs/tags/v1"}
    for name, kind in (("objects", "lfs_object"), ("links", "lfs_link")):
        assert len({row.shard if name == "objects" else row.repository_id for row in await a.rows(kind)}) == 2
    stranger = a.user(3, "carl")
    await make_due(a)
    assert await a.components.move_workers.step() == 2
    assert not a.components.storage.exists(app["id"])
    assert len(files_of(a)) == 1  # the object of LFS, for which a job comes later
    for person in (ann, there):
        url = asset["browser_download_url"].removeprefix("http://ingot.test")
        assert (await person.call("GET", url)).content == FILE
        (large,) = await objects_of(person, "download", FILE)
        href = large["actions"]["download"]["href"].removeprefix("http://ingot.test")
        assert (await person.call("GET", href)).content == FILE
        assert (
            await Person(person.world, stranger.principal).get("/repos/ann/app/branches")
        ).status_code == 404
    await request_move(a, app["id"], "b", "a")
    await a.components.move_workers.step()
    assert fsck(a, app["id"])["refs/heads/master"] == tip


@pytest.mark.parametrize("way", ["http", "ssh"])
async def test_a_push_that_waits_for_a_move_goes_on_where_the_repository_is(worlds, ann, tmp_path, way):
    a, b, urls = worlds
    app = await ann.create("app")
    key = Key(tmp_path, "ann")
    a.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    work, upstream = await work_tree(tmp_path), Origin(urls[0])
    tip = await commit(work, "big.bin", "x" * 300_000)
    waits, add = asyncio.Event(), a.components.pushes._add

    async def add_noticed(values):
        waits.set()
        return await add(values)

    a.components.pushes._add = add_noticed
    async with a.database.transaction() as tx:
        running = await refs.add_push(
            tx,
            repository_id=app["id"],
            user_id=1,
            refs=[],
            merged_pull=0,
            restricted=False,
            lease=now() + timedelta(minutes=1),
        )
    await request_move(a, app["id"], "a", "b")
    moving = asyncio.create_task(b.components.move_workers.step())
    while [row.locked_until for row in await b.rows("repository") if row.id == app["id"]] == [None]:
        await asyncio.sleep(0.01)
    async with ssh_before(a, upstream=upstream) as port:
        client = Client(tmp_path, port, key)
        if way == "ssh":
            pushing = asyncio.create_task(client.git("push", client.url("ann/app"), "master", cwd=work))
        else:
            pushing = asyncio.create_task(
                git("push", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann, check=False)
            )
        await waits.wait()
        async with a.database.transaction() as tx:
            await refs.remove_push(tx, running)
        code, said = await pushing
    await moving
    await upstream.close()
    assert code == 0, said
    assert fsck(b, app["id"]) == {"refs/heads/master": tip}
    assert await a.rows("push") == []
    assert [event["after"] for event in await a.events("push.received")] == [tip]


async def test_a_move_goes_on_where_it_was_killed(worlds, ann, tmp_path):
    a, b, urls = worlds
    app = await ann.create("app", auto_init=True)
    here, there = a.components.storage, b.components.storage
    # Killed before the last transaction: the copy is in its place, an older one in the making, the lock is on.
    shutil.copytree(here.path(app["id"]), there.path(app["id"]))
    shutil.copytree(here.path(app["id"]), there.import_staging(app["id"], "master"), dirs_exist_ok=True)
    async with a.database.transaction() as tx:
        values = {"locked_until": now() + timedelta(seconds=0.3)}
        await tx.execute(update(repository).values(values))
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    tip = await commit(work)
    await git("push", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    requested, files = [], b.components.shards.files

    def files_noticed(shard, repository_id, paths):
        requested.extend(paths)
        return files(shard, repository_id, paths)

    b.components.shards.files = files_noticed
    await request_move(a, app["id"], "a", "b")
    assert await b.components.move_workers.step() == 1
    assert await shard_of(a, app["id"]) == "b"
    assert sorted(Path(path).suffix for path in requested) == [".idx", ".pack"]  # of what was pushed
    assert fsck(b, app["id"]) == {"refs/heads/master": tip}
    # And a job of the first worker that was thought dead does nothing.
    await request_move(a, app["id"], "a", "b")
    assert await b.components.move_workers.step() == 1
    assert fsck(b, app["id"]) == {"refs/heads/master": tip}


async def test_a_damaged_repository_stays_where_it_is(worlds, ann):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await upload(ann)
    path = a.components.storage.path(app["id"])
    (path / "objects" / "ff").mkdir(exist_ok=True)
    (path / "objects" / "ff" / ("f" * 38)).touch()
    tip = (path / "refs/heads/master").read_text().strip()
    (path / "objects" / tip[:2] / tip[2:]).unlink()
    contents = b.components.shards.contents

    async def hostile(*args):
        original = await contents(*args)
        return msgspec.structs.replace(original, files=[ObjectFile("../config", 1, 0, 0)])

    for give, error in ((hostile, "ann/app: the other shard lists"), (contents, "ann/app is damaged: ")):
        b.components.shards.contents = give
        await request_move(a, app["id"], "a", "b")
        assert await b.components.move_workers.step() == 1
        (job,) = [row for row in await a.rows("job") if row.kind == "move@b"]
        assert (job.state, job.last_error.startswith(error)) == ("failed", True), job.last_error
    # What was copied has gone again.
    assert await shard_of(a, app["id"]) == "a"
    assert not any((b.folder / "storage" / "staging").iterdir())
    assert (len(files_of(a)), files_of(b)) == (1, [])


async def test_who_came_before_a_move_does_all_of_it_where_the_repository_is(worlds, ann, monkeypatch):
    a, b, _ = worlds
    there = Person(b, ann.principal)
    app = await ann.create("app", auto_init=True)
    assert (await ann.post("/repos/ann/app/branches", {"new_branch_name": "dev"})).status_code == 201

    def head(world):
        return (world.components.storage.path(app["id"]) / "HEAD").read_text().strip()

    move_before_journal(a, b, app["id"])
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": "dev"})).status_code == 200
    assert (await shard_of(a, app["id"]), head(b)) == ("b", "ref: refs/heads/dev")
    await request_move(a, app["id"], "b", "a")
    with in_use(a.components.storage.path(app["id"])):
        await a.components.move_workers.step()
    assert await shard_of(a, app["id"]) == "b"  # a reader still uses the old files
    await make_due(a)
    move_before_journal(b, a, app["id"])
    renamed = await there.call("PATCH", "/api/v1/repos/ann/app/branches/dev", {"name": "trunk"})
    assert renamed.status_code == 204, renamed.text
    assert (await shard_of(a, app["id"]), head(a)) == ("a", "ref: refs/heads/trunk")
    move_before_journal(a, b, app["id"])
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})).status_code == 201
    assert await shard_of(a, app["id"]) == "b"
    assert [row.draft for row in await a.rows("release")] == [False]
    sender_of, until = repositories.sender_of, now() + timedelta(seconds=3)

    async def moved(request):
        async with a.database.transaction() as tx:
            assert await move_rows.lock(tx, [app["id"]], "b", until)
            change = (tx, [app["id"]], "b", "a", until)
            assert not await move_rows.change(*change, now() + timedelta(seconds=LOCK_MARGIN))
            assert await move_rows.change(*change, now())
        return await sender_of(request)

    monkeypatch.setattr(repositories, "sender_of", moved)
    assert (await there.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    assert [row.shard for row in await a.rows("tombstone")] == ["a"]


async def test_shards_with_one_store_keep_the_files_of_releases(make_database, tmp_path):
    settings = {"objects_url": (tmp_path / "objects").as_uri()}
    async with two_shards(make_database("repos", migrate), tmp_path, **settings) as (a, b, _):
        ann = a.user(1, "ann")
        app = await ann.create("app", auto_init=True)
        await request_move(a, app["id"], "a", "b")
        await b.components.move_workers.step()
        url = (await upload(Person(b, ann.principal)))["browser_download_url"]
        await make_due(a)
        assert await a.components.move_workers.step() == 1
        assert not a.components.storage.exists(app["id"])
        assert (await ann.call("GET", url.removeprefix("http://ingot.test"))).content == FILE


async def test_only_shards_ask_for_the_files_of_repositories(worlds, ann):
    a, *_ = worlds
    app = await ann.create("app", auto_init=True)
    for path in (f"{app['id']}", "objects/lfs/aa/a"):
        for peer in ("", "issues"):
            assert (await ann.call("GET", f"/internal/moves/{path}", peer=peer)).status_code == 404
    service = {SERVICE_HEADER: ServiceIdentity("repos", REPOS_KEY).token("repos")}
    contents = (await a.http.get(f"/internal/moves/{app['id']}", headers=service)).json()
    assert len(contents["files"]) == 3
    for paths, status in (
        ([contents["files"][0]["path"]], 200),
        (["config"], 400),
        (["objects/../config"], 400),
    ):
        answer = await a.http.post(
            f"/internal/moves/{app['id']}/files", json={"paths": paths}, headers=service
        )
        assert answer.status_code == status
    for key in ("none", "lfs/../x", "archives/x"):
        assert (await a.http.get(f"/internal/moves/objects/{key}", headers=service)).status_code == 404
