"""Pushes during a repack that removes folders and packs: no push fails, and nothing is lost."""

import os
from datetime import timedelta

import pygit2
import pytest

import ingot_git.storage.packs
from ingot_git.refs.refs import ZERO_OID, RefChange, update_refs
from ingot_git.storage.packs import check_repository, in_use, pack_repository
from ingot_git.testing.builders import commit as commit_to

from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git

DAY = timedelta(days=1)


@pytest.fixture
async def path(world, base):
    """Return the path of ann/app, which has the branches master and topic."""
    return world.components.storage.path(base)


def packs(path, suffix="pack"):
    return {file.stem: file for file in path.glob(f"objects/pack/pack-*.{suffix}")}


async def objects_of(index):
    """The ids of the objects in a pack."""
    return {line.split()[1] for line in (await git("verify-pack", "-v", str(index),
                                                   cwd=index.parent)).splitlines()
            if len(line.split()[0]) == 40}  # fmt: skip


def take_folders_away(path):
    """Make every folder of loose objects look as if a repack has removed it since git created or found it.

    For mkdir(2) such a link is an existing folder. For link(2), rename(2) and open(2) it is missing.
    """
    for number in range(256):
        (path / "objects" / f"{number:02x}").symlink_to("removed")


async def test_a_push_does_not_need_a_folder_that_packing_removes(ann, path, git_url, tmp_path):
    pack_repository(path, grace=DAY)
    take_folders_away(path)
    tip = await commit(tmp_path / "work", "c.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=tmp_path / "work", person=ann)
    assert await git("rev-parse", "topic", cwd=path) == f"{tip}\n"
    assert check_repository(path) == ""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_push_over_ssh_does_not_need_it_either(world, ann, path, tmp_path):
    pack_repository(path, grace=DAY)
    take_folders_away(path)
    tip = await commit(tmp_path / "work", "c.txt")
    async with ssh_before(world) as port:
        key = Key(tmp_path, "ann")
        world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop of ann")
        client = Client(tmp_path, port, key)
        code, said = await client.git("push", client.url("ann/app.git"), "topic", cwd=tmp_path / "work")
    assert (code, await git("rev-parse", "topic", cwd=path)) == (0, f"{tip}\n"), said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("is_needed", [True, False])
async def test_what_a_push_holds_is_packed_as_well(ann, path, git_url, tmp_path, is_needed):
    """git lists the packs to remove before it reads which packs are kept.

    A pack that a push keeps in between would be removed, and its objects not repacked.
    """
    pack_repository(path, grace=DAY)
    before, url, work = set(packs(path)), f"{git_url}/ann/app.git", tmp_path / "work"
    for name in ("c", "d"):
        await commit(work, name)
        await git("push", "-q", url, f"HEAD:refs/heads/{name}", cwd=work, person=ann)
    new = set(packs(path)) - before
    assert len(new) == 2
    for name in new:
        (path / f"objects/pack/{name}.keep").write_text("receive-pack\n")
    expected = set().union(*[await objects_of(packs(path, "idx")[name]) for name in new])
    if not is_needed:
        await git("push", "-q", url, ":c", ":d", cwd=work, person=ann)
        for bitmap in packs(path, "bitmap").values():
            bitmap.unlink()  # as a large join leaves it
    pack_repository(path, grace=DAY)
    indexes = packs(path, "idx")
    packed = [await objects_of(indexes[name]) for name in indexes if name not in before | new]
    assert expected <= set().union(*packed)


async def two_pushes_of_one_branch(ann, path, git_url, tmp_path):
    """Return a tip and its pack, which a second push would bring again.

    Its branch was pushed and deleted, and has been waiting to be pruned for longer than a day.
    """
    pack_repository(path, grace=DAY)
    before = set(packs(path))
    tip = await commit(tmp_path / "work", "c.txt")
    url = f"{git_url}/ann/app.git"
    await git("push", "-q", url, "HEAD:refs/heads/again", cwd=tmp_path / "work", person=ann)
    (pack,) = set(packs(path)) - before
    await git("push", "-q", url, ":again", cwd=tmp_path / "work", person=ann)
    then = (1_700_000_000, 1_700_000_000)
    os.utime(packs(path)[pack], then)
    await git("repack", "--cruft", "-d", "-q", cwd=path)
    assert set(packs(path, "mtimes")) == {pack}
    for file in path.glob("objects/pack/pack-*"):
        os.utime(file, then)
    return tip


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("ends", ["meanwhile", "later"])
async def test_a_pack_that_is_pushed_again_while_it_is_pruned_is_there(
    ann, path, git_url, tmp_path, monkeypatch, ends
):
    """git keeps the existing file and drops the new one. Only the refs or the running push show that it is
    needed."""
    tip = await two_pushes_of_one_branch(ann, path, git_url, tmp_path)
    run, push = ingot_git.storage.packs._run, in_use(path)

    def push_meanwhile(copy, args):
        if "--cruft" in args.options:
            push.__enter__()
        run(copy, args)
        if "--cruft" in args.options:
            assert packs(copy, "mtimes") == {}
            if ends == "meanwhile":
                (path / "refs/heads/again").write_text(f"{tip}\n")
                push.__exit__(None, None, None)

    monkeypatch.setattr(ingot_git.storage.packs, "_run", push_meanwhile)
    assert pack_repository(path, grace=DAY)
    if ends == "later":
        update_refs(path, [RefChange("refs/heads/again", ZERO_OID, tip)])
        push.__exit__(None, None, None)
    assert check_repository(path) == ""
    assert pygit2.Repository(str(path)).references["refs/heads/again"].peel().id == tip


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_it_is_pruned_when_nobody_pushes_it(ann, path, git_url, tmp_path):
    tip = await two_pushes_of_one_branch(ann, path, git_url, tmp_path)
    assert not pack_repository(path, grace=DAY)
    code, _ = await git("cat-file", "-e", tip, cwd=path, check=False)
    assert code != 0


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_comes_while_git_packs_is_no_failure_and_stays(path, monkeypatch):
    """Its objects are not in the copy, so its refs are not either."""
    for bitmap in packs(path, "bitmap").values():
        bitmap.unlink()
    run, repo = ingot_git.storage.packs._run, pygit2.Repository(str(path))

    def commit_meanwhile(copy, args):
        for option in args.options:
            if option in ("--cruft", "--geometric=2"):
                tip = commit_to(repo, {"new": option.encode()})
                update_refs(path, [RefChange(f"refs/heads/{option.strip('-=2')}", ZERO_OID, tip)])
        run(copy, args)

    monkeypatch.setattr(ingot_git.storage.packs, "_run", commit_meanwhile)
    pack_repository(path, grace=DAY)
    assert {"cruft", "geometric"} < set(repo.branches.local)
    assert check_repository(path) == ""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_no_ref_needs_is_set_apart_also_under_the_name_of_its_pack(ann, path, git_url, tmp_path):
    """git writes the pack of a push again, byte for byte, with a file for the times of its objects."""
    pack_repository(path, grace=DAY)
    before, url = set(packs(path)), f"{git_url}/ann/app.git"
    await commit(tmp_path / "work", "c.txt")
    await git("push", "-q", url, "HEAD:refs/heads/again", cwd=tmp_path / "work", person=ann)
    (pack,) = set(packs(path)) - before
    await git("push", "-q", url, ":again", cwd=tmp_path / "work", person=ann)
    for bitmap in packs(path, "bitmap").values():
        bitmap.unlink()
    assert pack_repository(path, grace=DAY)
    assert set(packs(path, "mtimes")) == {pack}
    assert check_repository(path) == ""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_copy_that_a_dead_process_left_counts_for_nothing_and_goes(world, base, path):
    storage = world.components.storage
    size = storage.size(base)
    links = path / "objects/tmp_objdir-packing/objects/pack"
    links.mkdir(parents=True)
    for file in path.glob("objects/pack/*.pack"):
        (links / file.name).hardlink_to(file)
    (links.parent / "info").symlink_to(path / "objects/info")
    assert storage.size(base) == size
    pack_repository(path, grace=DAY)
    assert list(path.glob("objects/tmp_objdir-*")) == []
    assert (path / "objects/info/commit-graph").exists()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_bitmap_of_what_has_not_changed_is_a_new_one(path):
    """Else all would be joined each time from a week on."""
    pack_repository(path, grace=DAY)
    (bitmap,) = packs(path, "bitmap").values()
    os.utime(bitmap, (1_700_000_000, 1_700_000_000))
    pack_repository(path, grace=DAY)
    assert packs(path, "bitmap") == {bitmap.stem: bitmap}
    assert bitmap.stat().st_mtime > 1_700_000_000
