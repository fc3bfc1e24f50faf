"""Differences between rows and files that the doctor finds, and those that it repairs."""

import hashlib
import os
import shutil
import time
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_chassis.objects.store import ObjectStore
from ingot_git.storage.packs import in_use
from ingot_git.storage.temporary_files import ABANDONED_SECONDS
from ingot_repos.catalog.store.tables import metadata
from ingot_repos.lfs.rules.objects import object_key as lfs_key
from ingot_repos.lfs.store import objects as lfs_objects
from ingot_repos.pushes.store import refs
from ingot_repos.releases.rules.assets import object_key as asset_key
from ingot_repos.upkeep.rules.examinations import examine_storage

from ..lfs_client import FILE, put
from ..shard_world import two_shards
from ..shards.test_moves import request_move
from ..world import git, migrate


@pytest.fixture
def examine(world):
    async def run(*, repair: bool = False) -> list[str]:
        components, shard = world.components, world.settings.shard
        return await examine_storage(
            world.database, components.storage, components.objects, shard, repair=repair
        )

    return run


async def test_nothing_is_found_where_rows_and_files_agree(base, ann, examine):
    await ann.create("empty")
    assert await examine() == []


async def test_a_ref_that_moved_unannounced_is_found_and_announced(world, base, examine):
    path = world.components.storage.path(base)
    topic = "refs/heads/topic"
    await git("update-ref", "-d", topic, cwd=path)
    await git("update-ref", "refs/heads/found", "refs/heads/master", cwd=path)

    (line,) = await examine()
    assert f"repository {base} " in line
    assert "refs/heads/found, refs/heads/topic" in line
    assert await world.rows("push") == []

    before = len(await world.events("push"))
    (line,) = await examine(repair=True)
    assert await examine() == []  # the journal has it
    assert await world.components.pushes.sweep() == 1
    assert await examine() == []
    moved = {event["ref"]: event["after"] == "0" * 40 for event in (await world.events("push"))[before:]}
    assert moved == {topic: True, "refs/heads/found": False}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_locks_that_nobody_holds_are_found_and_removed(world, base, examine):
    path = world.components.storage.path(base)
    names = [
        "HEAD",
        "config",
        "packed-refs",
        "refs/heads/topic",
        "objects/info/commit-graphs/commit-graph-chain",
    ]
    old = [path / f"{name}.lock" for name in names]
    young = [path / "refs/heads/master.lock", path / "refs/notes/commits.lock", path / "packed-refs.new"]
    for file in (*old, *young):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for file in old:
        os.utime(file, (time.time() - ABANDONED_SECONDS - 60,) * 2)
    for file in young:
        os.utime(file, (time.time() - ABANDONED_SECONDS + 60,) * 2)
    (line,) = await examine()
    assert f"repository {base} has abandoned locks: HEAD.lock, config.lock" in line
    assert all(file.exists() for file in old)
    (line,) = await examine(repair=True)
    assert line.endswith("they were removed")
    assert [file for file in old if file.exists()] == []
    assert all(file.exists() for file in young)
    assert await examine() == []


async def test_a_repository_without_files_is_found(world, base, examine):
    path = world.components.storage.path(base)
    shutil.rmtree(path)
    assert await examine(repair=True) == [f"repos: repository {base} has no files; restore {path}"]


async def test_a_folder_of_no_repository_is_found_and_set_aside(world, base, examine):
    storage = world.components.storage
    storage.create(base + 1000, "main")
    (line,) = await examine()
    assert str(storage.path(base + 1000)) in line
    assert storage.exists(base + 1000)
    await examine(repair=True)
    assert not storage.exists(base + 1000)
    assert storage.exists(base)
    storage.sweep()
    assert list((storage.root / "trash").iterdir()), "it was not given time"


async def test_nothing_is_set_aside_where_most_folders_belong_to_no_repository(world, base, ann, examine):
    storage = world.components.storage
    for number in (1000, 2000):
        storage.create(base + number, "main")
    (line,) = await examine(repair=True)
    assert line.startswith(f"repos: 2 of 3 folders of {storage.root} belong to no repository")
    assert len(list(storage.ids())) == 3
    await ann.create("other")
    assert len(await examine(repair=True)) == 2  # half of them may be
    assert len(list(storage.ids())) == 2


async def test_nothing_is_set_aside_where_the_name_of_the_shard_is_wrong(world, base):
    storage, objects = world.components.storage, world.components.objects
    (line,) = await examine_storage(world.database, storage, objects, "other", repair=True)
    assert line.startswith(f"repos: 1 of 1 folders of {storage.root} are of other shards")
    assert storage.exists(base)


async def test_a_push_that_is_never_settled_is_found_and_hides_nothing(world, base, examine):
    path = world.components.storage.path(base)
    await git("update-ref", "-d", "refs/heads/topic", cwd=path)
    lock = path / "refs/heads/master.lock"
    lock.touch()
    os.utime(lock, (time.time() - ABANDONED_SECONDS - 60,) * 2)
    async with world.database.transaction() as tx:
        entry = {"repository_id": base, "user_id": 1, "merged_pull": 0, "restricted": False}
        await refs.add_push(tx, **entry, refs=["refs/heads/topic"], lease=now() + timedelta(minutes=1))

    async def change(**values):
        async with world.database.transaction() as tx:
            await tx.execute(metadata.tables["push"].update().values(values))

    assert await examine() == []  # it runs
    await change(lease_until=now() - timedelta(seconds=50))
    assert await examine() == []  # a worker is about to settle it
    await change(lease_until=now() - timedelta(seconds=90))
    moved, locks = await examine()
    assert "refs/heads/topic" in moved
    assert "refs/heads/master.lock" in locks
    # Each attempt to settle it extends its lease.
    began = now() - timedelta(minutes=61)
    await change(lease_until=now() + timedelta(minutes=1), created_at=began)
    old, *others = await examine()
    assert old.startswith(
        f"repos: a push to repository {base} has been in the journal since {began:%Y-%m-%d %H:%M}: "
    )
    assert others == [moved, locks]


async def test_a_deleted_repository_that_others_have_yet_to_forget_is_not_reported(world, ann, base, examine):
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    assert await examine() == []


async def test_uploads_whose_bytes_are_gone_are_found(world, ann, base, examine):
    url = "/api/v1/repos/ann/app/releases"
    release = (await ann.call("POST", url, {"tag_name": "v1"})).json()
    for name in ("kept.zip", "lost.zip"):
        file = {"attachment": (name, name.encode(), "application/octet-stream")}
        sent = await world.http.post(f"{url}/{release['id']}/assets", headers=ann.headers(), files=file)
        assert sent.status_code == 201, sent.text
    await put(ann, FILE)
    await put(ann, b"kept")
    assert await examine() == []

    (asset,) = [row for row in await world.rows("release_asset") if row.name == "lost.zip"]
    (stored,) = [row for row in await world.rows("lfs_object") if row.size == len(FILE)]
    keys = [lfs_key(stored.uuid), asset_key(base, asset.uuid)]
    await world.components.objects.delete(keys[1:])
    await put_object(world, keys[0], b"half of it")
    lines = await examine(repair=True)
    assert [line.split(" is not in")[0] for line in lines] == [
        f"repos: the object of LFS {stored.oid}",
        "repos: the file of a release lost.zip",
    ]
    assert [line.split()[-4] for line in lines] == keys


async def put_object(world, key, content):
    async def chunks():
        yield content

    await world.components.objects.put(key, chunks(), max_bytes=len(content))


async def test_a_storage_of_uploads_that_does_not_answer_is_one_line(world, ann, base):
    await put(ann, FILE)
    away = ObjectStore("s3://none/path?endpoint=http://127.0.0.1:1", prefix="repos", key_id="k", secret="s")
    storage, shard = world.components.storage, world.settings.shard
    (line,) = await examine_storage(world.database, storage, away, shard, repair=False)
    assert line.startswith("repos: the storage of uploads cannot be reached: ")


async def test_many_repositories_cost_the_same_statements(world, ann, examine):
    costs = []
    for number in range(3):
        await ann.create(f"r{number}")
        with world.count_statements() as statements:
            await examine()
        costs.append(len(statements))
    assert costs[0] == costs[2]


async def test_what_a_move_has_left_on_a_shard_is_found_and_removed(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as (a, b, _):
        ann = a.user(1, "ann")
        app, other = [await ann.create(name, auto_init=True) for name in ("app", "other")]
        await put(ann, FILE)
        await request_move(a, app["id"], "a", "b")
        assert await b.components.move_workers.step() == 1

        async def examine(world, *, repair=False):
            components = world.components
            return await examine_storage(
                world.database, components.storage, components.objects, world.settings.shard, repair=repair
            )

        assert await examine(a) == []  # a job will remove the old files
        # Killed between the last two steps, and then the job was lost; and objects that were linked before.
        shutil.copytree(a.components.storage.path(other["id"]), b.components.storage.path(other["id"]))
        async with a.database.transaction() as tx:
            await tx.execute(metadata.tables["job"].delete())
            oid = (await lfs_objects.get(tx, "b", hashlib.sha256(FILE).hexdigest())).oid
            assert await lfs_objects.link(tx, other["id"], "b", [oid])
        assert len(await examine(a)) == 2  # its folder, and its object of LFS
        folder, objects = await examine(b)
        assert f"is a copy of repository {other['id']}, which is on a" in folder
        assert objects.startswith(f"repos: a move has left LFS objects of repository {other['id']}")
        await request_move(a, other["id"], "a", "b")
        assert await examine(b) == []  # a job will take it over
        async with a.database.transaction() as tx:
            await tx.execute(metadata.tables["job"].delete())
        with in_use(b.components.storage.path(other["id"])):
            assert "it is still being read" in (await examine(b, repair=True))[0]
        for world, missing, present in ((a, app, other), (b, other, app)):
            await examine(world, repair=True)
            assert await examine(world) == []
            assert not world.components.storage.exists(missing["id"])
            assert world.components.storage.exists(present["id"])
