"""Objects of LFS from real remotes: imports and mirrors bring what their history names."""

import pytest

from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..lfs.test_lfs_objects import stored
from ..lfs_client import FILE, download, oid_of, pointer_of, put
from ..lfs_remote import LfsServer, response
from ..remote_world import Remote, bare_source
from ..world import commit, git

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
OLD = b"what the file was before\n" * 100


@pytest.fixture
def settings(tmp_path, request):
    more = getattr(request, "param", {})
    return {"allowed_remotes": ["127.0.0.1"], "local_remotes": [str(tmp_path / "remote")], **more}


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


@pytest.fixture
async def work(remote, tmp_path):
    """Two versions of a large file, the older one under a tag alone."""
    work = await bare_source(remote.folder, tmp_path)
    await commit(work, "large.bin", pointer_of(OLD))
    await git("tag", "-a", "-m", "first", "v1", cwd=work)
    await git("commit", "-q", "--amend", "-m", "again", cwd=work)
    await commit(work, "large.bin", pointer_of(FILE))
    await git("push", "-q", "origin", "trunk", "v1", cwd=work)
    return work


@pytest.fixture
def lfs(remote, work):
    """The LFS server of the remote, with both versions."""
    remote.answer = LfsServer(remote, OLD, FILE)
    return remote.answer


async def import_state(world, person):
    """Let the import run; its state then."""
    await world.components.import_workers.step()
    return (await person.get("/repos/bob/copy/migration")).json()


async def import_lfs(world, person, url, **more):
    fields = {"clone_addr": url, "repo_name": "copy", "lfs": True} | more
    answer = await person.post("/repos/migrate", fields)
    assert answer.status_code == 201, answer.text
    return await import_state(world, person)


async def retry(world, person):
    assert (await person.post("/repos/bob/copy/migration")).status_code == 202
    return await import_state(world, person)


async def sync(world, person):
    """Sync the mirror; what its error is then."""
    await person.post("/repos/bob/copy/mirror-sync")
    await world.components.mirror_workers.step()
    return (await person.get("/repos/bob/copy/migration")).json()["error"]


async def push(work, name, content):
    head = await commit(work, name, pointer_of(content))
    await git("push", "-q", "origin", "trunk", cwd=work)
    return head


async def tip(person):
    return (await person.get("/repos/bob/copy/branches/trunk")).json()["commit"]["id"]


async def oids(world):
    """The objects that repositories have."""
    ids = {row.object_id for row in await world.rows("lfs_link")}
    return {row.oid for row in await world.rows("lfs_object") if row.id in ids}


async def test_an_import_brings_the_objects_of_branches_and_tags(world, bob, remote, lfs):
    state = await import_lfs(world, bob, remote.url())
    assert (state["status"], state["phase"], state["error"]) == ("done", "done", "")
    assert state["received"] > len(FILE) + len(OLD)
    assert (await download(bob, repo="bob/copy")).content == FILE
    assert (await download(bob, OLD, repo="bob/copy")).content == OLD
    ((target, body),) = lfs.batches
    assert target == "/source.git/info/lfs/objects/batch"
    assert (body["operation"], body["transfers"]) == ("download", ["basic"])
    assert {"oid": oid_of(FILE), "size": len(FILE)} in body["objects"]


async def test_without_lfs_none_are_fetched(world, bob, remote, lfs):
    state = await import_lfs(world, bob, remote.url(), lfs=False)
    assert (state["status"], lfs.batches, await stored(world)) == ("done", [], [])


async def test_an_endpoint_replaces_that_of_the_remote(world, bob, remote, lfs):
    folder, admin = str(remote.folder / "source.git"), bob.but(admin=True)
    refused = await admin.post("/repos/migrate", {"clone_addr": folder, "repo_name": "copy", "lfs": True})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "lfs_endpoint")
    state = await import_lfs(world, admin, folder, lfs_endpoint=remote.url("other/"))
    assert (state["status"], [target for target, _ in lfs.batches]) == ("done", ["/other/objects/batch"])


async def test_an_import_names_the_objects_that_the_remote_does_not_give_or_sends_damaged(
    world, bob, remote, lfs, work
):
    _, refused, short, long, wrong = absent = (
        b"lost",
        b"refused",
        b"a short one",
        b"a long one",
        b"a wrong one",
    )
    for number, one in enumerate(absent):
        await commit(work, f"{number}.bin", pointer_of(one))
    await git("push", "-q", "origin", "trunk", cwd=work)
    lfs.contents |= {oid_of(short): short[:-1], oid_of(long): long * 9, oid_of(wrong): b"A wrong one"}
    lfs.contents[oid_of(refused)] = refused
    lfs.refusals = {oid_of(refused): 2, oid_of(FILE): 1}
    state = await import_lfs(world, bob, remote.url())
    text, _, names = state["error"].partition(": ")
    assert (state["status"], text) == ("done", REASON_TEXTS["lfs-missing"])
    assert set(names.split(", ")) == {oid_of(one) for one in absent}
    assert await oids(world) == {oid_of(OLD), oid_of(FILE)}
    assert len(await stored(world)) == 2


async def test_an_import_fails_without_the_server_and_a_retry_goes_on(world, bob, remote, lfs):
    lfs.batch = response(b"secret", "403 Forbidden")
    state = await import_lfs(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["lfs-unauthorized"])
    lfs.batch = None
    assert (await retry(world, bob))["status"] == "done"
    assert (await download(bob, repo="bob/copy")).content == FILE


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_lfs_object_bytes": len(FILE) - 1}, "lfs-too-large"),
        ({"max_lfs_owner_bytes": len(OLD)}, "lfs-room"),
        ({"max_remote_bytes": len(FILE)}, "too-large"),
    ],
    indirect=["settings"],
)
async def test_the_limits_of_lfs_and_imports_hold(world, bob, remote, lfs, reason):
    state = await import_lfs(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    assert oid_of(FILE) not in await oids(world)


async def test_an_object_that_somebody_else_has_comes_with_its_bytes(world, ann, bob, remote, lfs):
    await ann.create("app", private=True)
    await put(ann, FILE)
    await import_lfs(world, bob, remote.url())
    assert oid_of(FILE) in lfs.downloads
    assert len(await stored(world)) == 2
    assert (await download(bob, repo="bob/copy")).content == FILE


async def test_a_sync_moves_branches_without_objects_and_fetches_them_later(world, bob, remote, lfs, work):
    assert (await import_lfs(world, bob, remote.url(), mirror=True))["status"] == "done"
    new = b"newer still\n" * 50
    head = await push(work, "new.bin", new)
    lfs.batch = response(b"", "503 Busy")
    assert await sync(world, bob) == REASON_TEXTS["lfs-unreachable"]
    assert await tip(bob) == head
    lfs.batch = None
    assert await sync(world, bob) == f"{REASON_TEXTS['lfs-missing']}: {oid_of(new)}"
    (row,) = await world.rows("mirror")
    assert (row.failures, row.reason) == (0, "")
    lfs.contents[oid_of(new)] = new
    assert await sync(world, bob) == ""
    assert (await download(bob, new, repo="bob/copy")).content == new
    assert await sync(world, bob) == ""
    assert [len(body["objects"]) for _, body in lfs.batches] == [2, 1, 1, 1]


async def test_without_lfs_a_mirror_moves_on_and_fetches_objects_later(world, bob, remote, lfs, work):
    assert (await import_lfs(world, bob, remote.url(), mirror=True))["status"] == "done"
    world.settings.lfs_enabled = False
    body = {"clone_addr": remote.url(), "repo_name": "other", "lfs": True}
    refused = await bob.post("/repos/migrate", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "lfs")
    new = b"newer still\n" * 50
    lfs.contents[oid_of(new)] = new
    head = await push(work, "new.bin", new)
    assert (await sync(world, bob), await tip(bob)) == (REASON_TEXTS["lfs-off"], head)
    world.settings.lfs_enabled = True
    assert await sync(world, bob) == ""
    assert (await download(bob, new, repo="bob/copy")).content == new
