"""The number of concurrent git operations is limited: later requests wait, then get Retry-After."""

import asyncio
from contextlib import AsyncExitStack

import pygit2
import pytest

from ingot_chassis.errors import Unavailable
from ingot_repos.access.rules.admission import Admission

from ..code_world import FIRST, repository_with_history
from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git, work_tree


async def has_slot(admission, repository_id, *, signed_in=True):
    try:
        async with admission.slot(repository_id, signed_in=signed_in):
            return True
    except Unavailable:
        return False


async def test_a_repository_takes_its_slots_and_no_others():
    admission = Admission(3, 2, wait_seconds=0.01)
    async with admission.slot(1, signed_in=True), admission.slot(1, signed_in=True):
        assert [await has_slot(admission, number) for number in (1, 2)] == [False, True]
        async with admission.slot(2, signed_in=True):
            assert not await has_slot(admission, 3)
    assert await has_slot(admission, 1)


async def test_whoever_is_not_signed_in_leaves_half_of_the_slots_to_others():
    admission = Admission(8, 4, wait_seconds=0.01)
    async with AsyncExitStack() as stack:
        for repository_id in (1, 1, 2, 2):
            await stack.enter_async_context(admission.slot(repository_id, signed_in=False))
        for repository_id in (1, 2, 3):
            assert not await has_slot(admission, repository_id, signed_in=False)
            assert await has_slot(admission, repository_id)


async def test_who_waits_gets_the_slot_that_becomes_free():
    admission = Admission(1, 0)
    async with admission.slot(1, signed_in=True):
        waiting = asyncio.create_task(has_slot(admission, 2))
        await asyncio.sleep(0)
        assert not waiting.done()
    assert await waiting


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"git_concurrency_per_repository": 1}])
async def test_git_says_that_there_is_no_room(world, ann, git_url, tmp_path):
    created = await ann.create("app")
    work, url = await work_tree(tmp_path), f"{git_url}/ann/app.git"
    tip = await commit(work)
    await git("push", "-q", url, "master", cwd=work, person=ann)
    admission, key = world.components.admission, Key(tmp_path, "ann")
    admission.wait_seconds = 0.01
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    async with admission.slot(created["id"], signed_in=True), ssh_before(world) as port:
        headers = {"content-type": "application/x-git-receive-pack-request"}
        line = f"{'0' * 40} {tip} refs/heads/b\0report-status".encode()
        content = b"%04x%b0000" % (len(line) + 4, line)
        refused = await ann.call("POST", "/ann/app/git-receive-pack", content=content, headers=headers)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        code, said = await git("clone", url, "copy", cwd=tmp_path, person=ann, check=False)
        assert (code, "503" in said) == (128, True), said
        client = Client(tmp_path, port, key)
        remote = client.url("ann/app")
        archive = ("archive", f"--remote={remote}", "-o", "x.tar", "master")
        for command in (("clone", remote, "copy"), ("push", remote, "HEAD:b"), archive):
            code, said = await client.git(*command, cwd=work)
            assert (code, "too many fetches and pushes run here at once" in said) == (128, True), said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"git_concurrency": 1}])
async def test_who_has_asked_for_the_refs_and_pushes_nothing_keeps_no_room(world, ann, git_url, tmp_path):
    await ann.create("app")
    world.components.admission.wait_seconds = 0.01
    work, key = await work_tree(tmp_path), Key(tmp_path, "ann")
    await commit(work)
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        session = await asyncio.create_subprocess_exec(
            *client.ssh(), "git@127.0.0.1", "git-receive-pack 'ann/app.git'",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert b"report-status" in await session.stdout.read(500)
            await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
        finally:
            await session.communicate(b"0000")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"git_concurrency": 1}])
async def test_archives_and_searches_through_a_history_wait_for_room_as_well(world, ann):
    await repository_with_history(world, ann)
    admission, old_file = world.components.admission, pygit2.hash(FIRST["src/main.py"])
    admission.wait_seconds = 0.01
    archive = "archive/master.zip"
    paths = [f"/repos/ann/app/{path}" for path in (f"{archive}?path=src", f"git/blobs/{old_file}", archive)]
    async with admission.slot(99, signed_in=True):
        for path in paths:
            answer = await ann.get(path)
            assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), path
    for path in paths:
        assert (await ann.get(path)).status_code == 200, path
    async with admission.slot(99, signed_in=True):
        assert (await ann.get(paths[-1])).status_code == 200, "it was made before"
