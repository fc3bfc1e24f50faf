"""Backups of one shard: whole or not there, linked to the one before, and restored to a shard that has nothing."""

from argparse import Namespace

import pytest

from ingot_chassis.errors import CannotStart
from ingot_repos.git.backups import alone, list_whole
from ingot_repos.settings import Settings
from ingot_repos.workers.backups import DUMPS, back_up, restore

from .lfs_client import FILE
from .test_moves import fsck, upload
from .world import commit, git, work_tree


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
    assert len({path for path in second if "objects" in path.parts} - objects) == 3


async def test_old_backups_are_removed_and_two_are_not_made_at_once(world, ann, tmp_path):
    await ann.create("app", auto_init=True)
    to = tmp_path / "to"
    whole = [await backup(world, to, keep=2) for _ in range(3)]
    assert list_whole(to) == whole[1:]
    with alone(to), pytest.raises(CannotStart, match="another backup"):
        await backup(world, to)
    with pytest.raises(CannotStart, match="is no backup"):
        await restore(world.settings, Namespace(source=tmp_path / "none", replace=False))


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
