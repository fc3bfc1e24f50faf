"""Backups of one shard: complete or absent, linked to the last one, and restored to an empty shard."""

import shutil
import subprocess
from argparse import Namespace
from datetime import timedelta

import pygit2
import pytest
from sqlalchemy import update

from ingot_chassis.errors import CannotStart
from ingot_git.storage.backups import FolderCopy, alone, list_whole
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import commit as commit_to
from ingot_git.testing.builders import set_branches
from ingot_repos.settings import Settings
from ingot_repos.upkeep.jobs.backups import DUMPS, back_up, restore

from ..lfs_client import FILE, put
from ..shard_world import two_shards
from ..shards.test_moves import JOB, fsck, request_move, upload
from ..world import commit, git, migrate, work_tree


async def backup(world, to, keep=0, databases=None):
    await back_up(world.settings, Namespace(to=to, keep=keep, databases=databases))
    return list_whole(to)[-1]


def dumps(folder, text="of the databases"):
    folder.mkdir(parents=True)
    for name in DUMPS:
        (folder / name).write_text(text)
    return folder


def all_files(folder):
    return {file.relative_to(folder): file.stat().st_ino for file in folder.rglob("*") if file.is_file()}


async def test_a_shard_is_restored_with_its_refs_and_uploads(world, ann, tmp_path):
    app = await ann.create("app", auto_init=True)
    await upload(ann)
    databases = dumps(tmp_path / "to" / ".databases-1")
    whole = await backup(world, tmp_path / "to", databases=databases)
    assert sorted(file.name for file in (whole / "databases").iterdir()) == sorted(DUMPS)
    assert not databases.exists()

    restored = Settings(storage_root=str(tmp_path / "new" / "storage"))
    await restore(restored, Namespace(source=tmp_path / "to", replace=False))
    expected = fsck(world, app["id"])
    path = world.components.storage.path(app["id"]).relative_to(world.components.storage.root)
    refs = await git(
        "for-each-ref", "--format=%(refname) %(objectname)", cwd=tmp_path / "new" / "storage" / path
    )
    assert dict(line.split() for line in refs.splitlines()) == expected
    stored = [file for file in (tmp_path / "new" / "storage" / "files").rglob("*") if file.is_file()]
    assert [file.read_bytes() for file in stored] == [FILE]
    with pytest.raises(CannotStart, match="has repositories"):
        await restore(restored, Namespace(source=whole, replace=False))
    changed = tmp_path / "new" / "storage" / path / "HEAD"
    changed.write_text("something else")
    await restore(restored, Namespace(source=whole, replace=True))
    assert changed.read_text() == "ref: refs/heads/master\n"
    assert len(list((tmp_path / "new" / "storage" / "trash").iterdir())) == 1


async def pass_time(world, time):
    """Jobs are due by as much sooner."""
    for row in await world.rows("job"):
        async with world.database.transaction() as tx:
            await tx.execute(update(JOB).where(JOB.c.id == row.id).values(run_at=row.run_at - time))


async def test_what_moves_during_a_backup_of_many_hours_is_in_it(make_database, tmp_path):
    """The backup of the target shard ended before the move, and that of the source shard reads it last."""
    async with two_shards(make_database("repos", migrate), tmp_path) as (a, b, _):
        ann = a.user(1, "ann")
        app = (await ann.create("app", auto_init=True))["id"]
        await put(ann, FILE)
        await upload(ann)
        for source, target in ((a, b), (b, a), (a, b)):  # the last of several moves counts
            await request_move(a, app, source.settings.shard, target.settings.shard)
            await target.components.move_workers.step()
            await pass_time(a, timedelta(hours=10))
        await pass_time(a, timedelta(hours=10))
        assert await a.components.move_workers.step() == 0
        await a.components.lfs.free_unlinked()
        while await a.components.workers.step():
            pass
        whole = await backup(a, tmp_path / "to")
        path = a.components.storage.path(app).relative_to(a.components.storage.root)
        assert (whole / "repositories" / path / "HEAD").exists()
        stored = [file.read_bytes() for file in (whole / "files").rglob("*") if file.is_file()]
        assert stored == [FILE, FILE]
        # Then all of it goes.
        await pass_time(a, timedelta(hours=5))
        assert await a.components.move_workers.step() == 1
        await a.components.lfs.free_unlinked()
        assert not a.components.storage.exists(app)
        assert {row.shard for row in await a.rows("lfs_object")} == {"b"}


async def test_a_second_backup_takes_the_room_of_what_is_new(world, ann, tmp_path, git_url):
    await ann.create("app", auto_init=True)
    first = all_files(await backup(world, tmp_path / "to"))
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await commit(work)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    second = all_files(await backup(world, tmp_path / "to"))
    objects = {path for path in first if "objects" in path.parts}
    assert objects
    assert all(second[path] == first[path] for path in objects)
    new = {path for path in second if "objects" in path.parts} - objects
    assert {path.suffix for path in new} == {".pack", ".idx"}


async def test_old_backups_are_removed_and_two_are_not_made_at_once(world, ann, tmp_path):
    await ann.create("app", auto_init=True)
    to = tmp_path / "to"
    whole = [await backup(world, to, keep=2) for _ in range(3)]
    assert list_whole(to) == whole[1:]
    with alone(to), pytest.raises(CannotStart, match="another backup"):
        await backup(world, to)
    with pytest.raises(CannotStart, match="is not a backup"):
        await restore(world.settings, Namespace(source=tmp_path / "none", replace=False))
    with alone(to), pytest.raises(CannotStart, match="is being made"):  # it may remove the one that is read
        await restore(world.settings, Namespace(source=to, replace=True))


async def test_no_backup_is_whole_without_a_dump_of_each_database(world, tmp_path):
    databases = dumps(tmp_path / "to" / ".databases-1")
    (databases / "issues.dump").write_text("")
    with pytest.raises(CannotStart, match=r"issues\.dump is empty"):
        await backup(world, tmp_path / "to", databases=databases)
    (databases / "issues.dump").unlink()
    with pytest.raises(CannotStart, match=r"issues\.dump"):
        await backup(world, tmp_path / "to", databases=databases)
    assert not list_whole(tmp_path / "to")


async def test_dumps_wait_for_the_lock_and_one_backup_leaves_those_of_another(world, tmp_path):
    to = tmp_path / "to"
    first, second = dumps(to / ".databases-1", "first"), dumps(to / ".databases-2", "second")
    with alone(to), pytest.raises(CannotStart, match="another backup"):
        await backup(world, to, databases=first)
    assert len(list(first.iterdir())) == len(DUMPS)
    whole = await backup(world, to, databases=second)
    assert (whole / "databases" / "hooks.dump").read_text() == "second"
    assert len(list(first.iterdir())) == len(DUMPS)


def act_after_copies(monkeypatch, suffix, copies, act):
    """Let ``act`` happen when so many files with this suffix were copied."""
    copy, count = shutil.copy2, 0

    def copy_and_act(source, target):
        nonlocal count
        copy(source, target)
        count += source.suffix == suffix
        if count == copies and source.suffix == suffix:
            act()

    monkeypatch.setattr(shutil, "copy2", copy_and_act)


def tip_of(repo):
    return str(repo.references["refs/heads/main"].target)


def run(storage, *command):
    subprocess.run(["git", "-C", str(storage.path(1)), *command], check=True, capture_output=True)


@pytest.mark.parametrize("packs_before", [1, 2, 3])
def test_a_copy_has_all_objects_when_git_joins_packs_meanwhile(tmp_path, monkeypatch, packs_before):
    storage = Storage(tmp_path / "storage")
    repo = pygit2.Repository(str(storage.create(1, "main")))
    for number in range(3):
        set_branches(repo, main=commit_to(repo, {"a": b"%d" % number}, [] if not number else [tip_of(repo)]))
        run(storage, "repack", "-d", "-q")
    assert len(list(storage.path(1).glob("objects/pack/*.pack"))) == 3
    act_after_copies(
        monkeypatch, ".pack", packs_before, lambda: run(storage, "repack", "--geometric=2", "-d", "-n", "-q")
    )
    FolderCopy(storage.root, tmp_path / "copy", None).repositories()
    assert len(list(storage.path(1).glob("objects/pack/*.pack"))) == 1
    copy = Storage(tmp_path / "copy")
    run(copy, "fsck", "--full")
    assert tip_of(copy.open(1)) == tip_of(repo)


def test_an_index_without_a_pack_keeps_no_backup_from_being_made(tmp_path):
    """It stays where a push brings a pack again at the moment in which git removes it."""
    storage = Storage(tmp_path / "storage")
    repo = pygit2.Repository(str(storage.create(1, "main")))
    set_branches(repo, main=commit_to(repo, {"a": b"a"}))
    run(storage, "repack", "-d", "-q")
    (index,) = storage.path(1).glob("objects/pack/*.idx")
    shutil.copy(index, index.with_name(f"pack-{'0' * 40}.idx"))
    FolderCopy(storage.root, tmp_path / "copy", None).repositories()
    copy = Storage(tmp_path / "copy")
    run(copy, "fsck", "--full")
    assert [file.name for file in copy.path(1).glob("objects/pack/*.idx")] == [index.name]


def inodes(root, repository_id):
    """Of each object and pack, by its path in the repository."""
    repository = Storage(root).path(repository_id)
    return {
        file.relative_to(repository): file.stat().st_ino for file in repository.glob("objects/[!i]*/[!.]*")
    }


def contents(root, repository_id):
    """The same files."""
    repository = Storage(root).path(repository_id)
    return {path: (repository / path).read_bytes() for path in inodes(root, repository_id)}


async def test_forks_share_their_objects_in_a_backup_and_after_its_restoration(tmp_path):
    storage, to = Storage(tmp_path / "storage"), tmp_path / "to"
    settings = Settings(storage_root=str(storage.root))
    repo = pygit2.Repository(str(storage.create(1, "main")))
    packed = commit_to(repo, {"a": b"packed"})
    set_branches(repo, main=packed)
    run(storage, "repack", "-d", "-q")
    set_branches(repo, main=commit_to(repo, {"a": b"loose"}, [packed]))
    storage.fork(1, 2)
    await back_up(settings, Namespace(to=to, keep=0, databases=None))
    (pack,) = Storage(list_whole(to)[-1] / "repositories").path(2).glob("objects/pack/*.pack")
    pack.rename(pack.with_suffix(".old"))  # earlier releases copied it once for each fork
    shutil.copy2(pack.with_suffix(".old"), pack)
    storage.fork(2, 3)
    await back_up(settings, Namespace(to=to, keep=0, databases=None))
    new = Settings(storage_root=str(tmp_path / "new"))
    await restore(new, Namespace(source=to, replace=False))

    assert {path.suffix for path in inodes(storage.root, 1)} >= {"", ".pack", ".idx"}
    for root in (list_whole(to)[-1] / "repositories", tmp_path / "new"):
        assert inodes(root, 1) == inodes(root, 2) == inodes(root, 3)
        assert contents(root, 1) == contents(storage.root, 1)
        assert not set(inodes(root, 1).values()) & set(inodes(storage.root, 1).values())


def test_a_fork_is_whole_in_a_copy_from_which_its_parent_went(tmp_path, monkeypatch):
    storage = Storage(tmp_path / "storage")
    repo = pygit2.Repository(str(storage.create(1, "main")))
    set_branches(repo, main=commit_to(repo, {"a": b"a"}))
    run(storage, "repack", "-d", "-q")
    storage.fork(1, 2)
    act_after_copies(monkeypatch, ".idx", 1, lambda: storage.delete(1))
    FolderCopy(storage.root, tmp_path / "copy", None).repositories()
    copy = Storage(tmp_path / "copy")
    assert not copy.exists(1)
    assert contents(copy.root, 2) == contents(storage.root, 2)


def test_a_repository_that_is_deleted_while_it_is_copied_is_not_in_the_copy(tmp_path, monkeypatch):
    storage = Storage(tmp_path / "storage")
    for repository_id in (1, 2):
        commit_to(pygit2.Repository(str(storage.create(repository_id, "main"))), {"a": b"a"})
    act_after_copies(monkeypatch, "", 4, lambda: storage.delete(1))
    FolderCopy(storage.root, tmp_path / "copy", None).repositories()
    assert [path.name for path in tmp_path.glob("copy/repositories/*/*/*")] == ["2.git"]
