"""The life of LFS objects: forks, transfers, deletions, quotas, and leftovers of a dead process."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job
from ingot_repos.catalog.store import repositories
from ingot_repos.lfs.rules.objects import OBJECTS
from ingot_repos.upkeep.jobs.upkeep import Upkeep, UpkeepJobs

from ..lfs_client import FILE, ask, download, objects_of, oid_of, pointer_of, put, upload
from ..world import commit, git, work_tree

DAY = timedelta(days=1)


async def stored(world):
    """The keys of all objects."""
    return [one.key async for page in world.components.objects.list(OBJECTS) for one in page]


@pytest.fixture
async def app(ann):
    return await ann.create("app", auto_init=True)


async def test_a_fork_has_the_objects_of_its_parent_and_keeps_them(world, ann, bob, app):
    await upload(ann)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": False})
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    await world.components.lfs.free_unlinked()
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    await world.confirm_deletion(app["id"])
    await world.components.lfs.free_unlinked()
    await world.components.workers.step()
    assert (await download(bob, repo="bob/app")).content == FILE


async def test_what_no_repository_has_any_more_is_freed(world, ann, app):
    await upload(ann)
    await ann.create("second")
    await upload(ann, repo="ann/second")
    await upload(ann, b"another", repo="ann/second")
    await ann.call("DELETE", "/api/v1/repos/ann/second")
    await world.components.lfs.free_unlinked()
    await world.components.workers.step()
    assert [row.oid for row in await world.rows("lfs_object")] == [oid_of(FILE)]
    assert len(await stored(world)) == 1
    assert (await download(ann)).content == FILE
    await upload(ann, b"another")  # again
    assert (await download(ann, b"another")).content == b"another"


async def test_a_transfer_takes_the_objects_along(world, ann, app):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    await upload(ann)
    moved = await ann.post("/repos/ann/app/transfer", {"new_owner": "acme"})
    assert moved.status_code == 202, moved.text
    await world.components.lfs.free_unlinked()
    assert (await download(ann, repo="acme/app")).content == FILE


async def test_what_a_dead_process_left_is_swept(world, ann, app):
    await upload(ann)

    async def chunks():
        yield b"orphan"

    await world.components.objects.put(f"{OBJECTS}/aa/orphan", chunks(), max_bytes=10)
    await world.components.lfs_files.sweep(timedelta(0))
    assert len(await stored(world)) == 1
    assert (await download(ann)).content == FILE


async def test_a_client_that_leaves_leaves_nothing(world, app):
    async def broken():
        yield FILE[:1000]
        raise OSError("gone")

    async with world.database.read() as db:
        row = await repositories.get_unfiltered(db, app["id"])
    with pytest.raises(OSError, match="gone"):
        await world.components.lfs.upload(row, oid_of(FILE), len(FILE), broken())
    assert await stored(world) == []
    assert await world.rows("lfs_object") == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
class TestOnEachStorage:
    """The same through a folder of its own and through an S3-compatible storage."""

    @pytest.fixture
    def settings(self, objects_at):
        return objects_at

    async def test_an_object_is_checked_stored_once_read_in_parts_and_freed(self, world, ann, bob, app):
        content = FILE * 500
        wrong = await put(ann, content[:-1] + b"!", as_oid=oid_of(content))
        assert wrong.status_code == 422, wrong.text
        assert await stored(world) == []
        await upload(ann, content)
        assert (await download(ann, content)).content == content
        part = await download(ann, content, Range="bytes=9000000-9000099")
        assert (part.status_code, part.content) == (206, content[9_000_000:9_000_100])
        await bob.create("second")
        assert "actions" not in await upload(bob, content, repo="bob/second")
        for person, path, left in ((ann, "ann/app", 1), (bob, "bob/second", 0)):
            assert (await download(bob, content, repo="bob/second")).content == content
            assert (await person.call("DELETE", f"/api/v1/repos/{path}")).status_code == 204
            await world.components.lfs.free_unlinked()
            await world.components.workers.step()
            assert len(await stored(world)) == left
        assert not (world.folder / "storage" / "files").exists()


class TestQuota:
    """Two files of ten bytes fit; with a third one there are too many."""

    @pytest.fixture
    def settings(self):
        return {"max_lfs_owner_bytes": 25, "max_lfs_object_bytes": 20}

    async def test_an_owner_stores_as_much_as_the_setting_says(self, world, ann, app):
        files = [b"%010d" % n for n in range(3)]
        offered = await objects_of(ann, "upload", *files)
        assert ["error" in one for one in offered] == [False, False, True]
        assert offered[2]["error"]["code"] == 507
        for content in files[:2]:
            await upload(ann, content)
        assert (await put(ann, files[2])).status_code == 507
        assert len(await stored(world)) == 2
        await ann.create("second")
        assert (await objects_of(ann, "upload", files[0], repo="ann/second"))[0].keys() == {"oid", "size"}
        assert "error" in (await objects_of(ann, "upload", files[2], repo="ann/second"))[0]

    async def test_a_known_object_needs_room_as_well(self, world, ann, bob, app):
        await bob.create("public")
        await upload(bob, b"b" * 20, repo="bob/public")
        await upload(ann, b"a" * 20)
        assert (await objects_of(ann, "upload", b"b" * 20))[0]["error"]["code"] == 507
        assert (await put(ann, b"b" * 20)).status_code == 507
        assert (await download(ann, b"b" * 20)).status_code == 200  # ann may read bob/public
        assert {row.repository_id for row in await world.rows("lfs_link")} == {1, 2}

    async def test_a_large_object_is_refused(self, ann, app):
        (offered,) = await objects_of(ann, "upload", b"x" * 21)
        assert offered["error"]["code"] == 422
        assert (await put(ann, b"x" * 21)).status_code == 413
        assert (await ask(ann, "download", b"x" * 21)).json()["objects"][0]["error"]["code"] == 404

    async def test_uploads_at_once_stay_within_the_quota(self, world, ann, app):
        files = [b"%010d" % n for n in range(6)]
        answers = await asyncio.gather(*(put(ann, content) for content in files))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 507, 507, 507, 507]
        assert len(await stored(world)) == 2


async def test_a_merge_gives_the_base_what_the_fork_has(world, ann, bob, app, git_url, tmp_path):
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    fork = (await bob.get("/repos/bob/app")).json()["id"]
    await upload(bob, repo="bob/app")
    await upload(bob, b"of another branch", repo="bob/app")
    await git("clone", "-q", f"{git_url}/bob/app.git", "work", cwd=tmp_path, person=bob)
    head = await commit(tmp_path / "work", "large.bin", pointer_of(FILE))
    await git("push", "-q", "origin", "HEAD:topic", cwd=tmp_path / "work", person=bob)
    head_branch = {"head_repository_id": fork, "head_branch": "topic"}
    merge = {"number": 1, "base_branch": "master", "head_sha": head, **head_branch}
    assert (await ann.internal("POST", f"{app['id']}/merge", merge)).status_code == 200
    await bob.call("DELETE", "/api/v1/repos/bob/app")
    await world.components.lfs.free_unlinked()
    await world.components.workers.step()
    assert (await ann.get("/repos/ann/app/media/large.bin")).content == FILE
    assert (await download(ann, b"of another branch")).status_code == 404


async def test_what_no_commit_points_to_for_long_is_taken_from_the_repository(
    world, ann, app, git_url, tmp_path
):
    """An object stays if a branch or pull request needs it, or if it is pushed during the check."""
    work, url = await work_tree(tmp_path), f"{git_url}/ann/app.git"
    contents = b"in a pull request", b"in a branch", b"in another push"
    for number, content in enumerate(contents):
        await upload(ann, content)
        await commit(work, f"{number}.bin", pointer_of(content))
    await git("push", "-q", url, "HEAD:topic", cwd=work, person=ann)
    path = world.components.storage.path(app["id"])
    await git("update-ref", "refs/pull/1/head", "topic~2", cwd=path)
    components = world.components
    upkeep = UpkeepJobs(components.jobs, components.storage, components.lfs, world.settings.shard, DAY)
    payload = msgspec.json.encode(Upkeep(app["id"]))
    job = Job(0, "check", str(app["id"]), payload, attempts=1, fence=1, progress=None, traceparent=None)
    links = world.database.metadata.tables["lfs_link"]

    async def has_after_check():
        await upkeep.check(job)
        return [(await download(ann, one)).status_code == 200 for one in contents]

    assert await has_after_check() == [True, True, True]
    await git("push", "-q", url, ":topic", cwd=work, person=ann)
    assert await has_after_check() == [True, True, True]
    async with world.database.transaction() as tx:
        then = links.c.unneeded_since.is_not(None)
        await tx.execute(links.update().where(then).values(unneeded_since=now() - 2 * DAY))
    assert "actions" not in await upload(ann, contents[2])
    assert await has_after_check() == [True, False, True]
