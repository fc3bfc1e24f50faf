"""Long downloads end with the reader's permission: of an archive, a file and a large file."""

import asyncio
import contextlib
import os
from functools import partial

import pytest
from structlog.testing import capture_logs

from ingot_repos.access.rules import read_rights
from ingot_repos.lfs.rules.tokens import TOKEN_HEADER, issue

from .. import lfs_client
from ..pushes.test_rights import WRITER, end_the_token, remove
from ..releases import test_release_assets
from ..ssh_world import Key
from ..transport.test_fetches import (
    NOISE,
    PATIENCE,
    begin,
    decided_again,
    large_file,
    nothing,
    remove_the_key,
    set_private,
    the_rest,
)
from ..world import commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
API = "/api/v1/repos/ann/app"


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(read_rights, "DECIDE_AGAIN_SECONDS", 0.02)


async def of_git(path, *_):
    """The address of a file or an archive of `large_file`."""
    return path


async def of_lfs(path, ann, git_url, tmp_path):
    """The address of a large file, whose pointer is pushed."""
    app = await ann.create("app", private=True)
    assert (await ann.call("PUT", f"/api/v1{WRITER}", {"permission": "read"})).status_code == 204
    content = os.urandom(NOISE)
    assert (await lfs_client.put(ann, content)).status_code == 200
    work = await work_tree(tmp_path)
    await commit(work, "noise", lfs_client.pointer_of(content))
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    return path.format(id=app["id"], oid=lfs_client.oid_of(content))


async def of_release(draft, ann, _git_url, _tmp_path):
    """The address of a file of a release."""
    await ann.create("app", private=True, auto_init=True)
    permission = {"permission": "write" if draft else "read"}
    assert (await ann.call("PUT", f"/api/v1{WRITER}", permission)).status_code == 204
    release = await test_release_assets.make(ann, draft=draft)
    asset = await test_release_assets.upload(ann, release, os.urandom(NOISE))
    return asset["browser_download_url"].removeprefix(test_release_assets.ROOT)


OBJECT = "/ann/app.git/info/lfs/objects/{oid}"
DOWNLOADS = {
    "zip": partial(of_git, f"{API}/archive/master.zip"),
    "paths": partial(of_git, f"{API}/archive/master.tar.gz?path=noise"),
    "bundle": partial(of_git, "/ann/app/archive/master.bundle"),
    "raw": partial(of_git, f"{API}/raw/noise"),
    "media": partial(of_lfs, f"{API}/media/noise"),
    "lfs": partial(of_lfs, OBJECT),
    "asset": partial(of_release, False),
}


@pytest.fixture
def arrangement(request):
    kind = request.node.callspec.params.get("kind")
    is_of_git = kind in DOWNLOADS and DOWNLOADS[kind].func is of_git
    return large_file if is_of_git or "noise" in request.fixturenames else None


@pytest.fixture
def noise():
    """The address of the file of `large_file`."""
    return f"{API}/raw/noise"


async def cut_off(lines):
    while not any(line["event"] == "download cut off" for line in lines):
        await asyncio.sleep(0.01)


@contextlib.contextmanager
def closed_at_the_end(writer):
    """The connection, also when the test fails: else the server would wait for it."""
    try:
        yield
    finally:
        writer.transport.abort()


async def ends_with_the_right(world, ann, headers, git_url, path, change):
    """A long response is complete if nothing changes, else cut off, also if the client stops reading."""
    reader, writer = await begin(f"GET {path}", headers, git_url)
    with closed_at_the_end(writer):
        await decided_again(world, reader.at_eof)
        with capture_logs() as lines:
            await change(world, ann)
            if change is not nothing:
                await cut_off(lines)
        rest = await the_rest(reader, writer)
    assert (len(rest) > NOISE) == (change is nothing)


@pytest.mark.parametrize("change", [end_the_token, remove, nothing])
@pytest.mark.parametrize("kind", DOWNLOADS)
async def test_a_download_ends_with_the_right(world, ann, bob, git_url, often, tmp_path, kind, change):
    async with asyncio.timeout(PATIENCE):
        path = await DOWNLOADS[kind](ann, git_url, tmp_path)
        await ends_with_the_right(world, ann, bob.headers(), git_url, path, change)


async def read_only(world, ann):
    assert (await ann.call("PUT", f"/api/v1{WRITER}", {"permission": "read"})).status_code == 204


async def switch_off(world, ann):
    assert (await ann.call("PATCH", API, {"has_releases": False})).status_code == 200


@pytest.mark.parametrize(("is_draft", "change"), [(True, read_only), (False, switch_off)])
async def test_a_file_of_a_release_ends_with_the_sight_of_it(
    world, ann, bob, git_url, often, tmp_path, is_draft, change
):
    async with asyncio.timeout(PATIENCE):
        path = await of_release(is_draft, ann, git_url, tmp_path)
        await ends_with_the_right(world, ann, bob.headers(), git_url, path, change)


@pytest.mark.parametrize("change", [remove_the_key, nothing])
async def test_a_download_by_a_key_of_ssh_ends_with_the_key(
    world, ann, bob, git_url, often, tmp_path, change
):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    async with asyncio.timeout(PATIENCE):
        path = await of_lfs(OBJECT + " {id}", ann, git_url, tmp_path)
        path, _, repository_id = path.partition(" ")
        seal = world.components.seal
        text, _ = issue(seal, int(repository_id), "read", fingerprint=key.public.fingerprint)
        await ends_with_the_right(world, ann, {TOKEN_HEADER: text}, git_url, path, change)


async def test_a_download_of_a_stranger_ends_when_the_repository_becomes_private(ann, git_url, often, noise):
    async with asyncio.timeout(PATIENCE):
        await set_private(ann, private=False)
        reader, writer = await begin(f"GET {noise}", {}, git_url)
        with closed_at_the_end(writer), capture_logs() as lines:
            await set_private(ann, private=True)
            await cut_off(lines)
            assert len(await the_rest(reader, writer)) < NOISE


async def test_nothing_is_decided_about_a_client_that_has_left(world, ann, bob, git_url, often, noise):
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin(f"GET {noise}", bob.headers(), git_url)
        with closed_at_the_end(writer):
            await decided_again(world, reader.at_eof)
        while any(task.get_name() == "the right to read" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.01)
