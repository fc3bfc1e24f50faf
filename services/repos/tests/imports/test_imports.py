"""Imports from real remotes: the answer, progress, cancelling, starting again, and who may."""

import asyncio
import os
from pathlib import Path

import pytest

from ingot_repos.imports.jobs.imports import TRIES
from ingot_repos.remotes.rules.reasons import REASON_TEXTS
from ingot_testing.processes import free_port

from ..remote_world import Remote, bare_source, files_limited_to, silent, wanting
from ..world import commit, git


@pytest.fixture
def settings(tmp_path):
    return {"allowed_remotes": ["127.0.0.0/8"], "local_remotes": [str(tmp_path / "remote")]}


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


@pytest.fixture
async def work(remote, tmp_path):
    """The content of the remote: two branches and a tag."""
    work = await bare_source(remote.folder, tmp_path)
    await commit(work, "README.md", "hello\n")
    await git("branch", "feature/one", cwd=work)
    await git("tag", "-a", "-m", "first", "v1", cwd=work)
    await git("push", "-q", "origin", "trunk", "feature/one", "v1", cwd=work)
    return work


async def migrated(person, url, name="copy", **more):
    return await person.post("/repos/migrate", {"clone_addr": url, "repo_name": name, **more})


async def names(person, repository="bob/copy"):
    return [branch["name"] for branch in (await person.get(f"/repos/{repository}/branches")).json()]


async def test_a_migration_brings_branches_tags_and_the_default_branch(world, bob, remote, work):
    answer = await migrated(bob, remote.url(), description="a copy")
    assert answer.status_code == 201, answer.text
    copy_of_remote = answer.json()
    assert (copy_of_remote["full_name"], copy_of_remote["empty"], copy_of_remote["description"]) == (
        "bob/copy",
        True,
        "a copy",
    )
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 503
    assert (await bob.get("/repos/bob/copy/migration")).json()["status"] == "waiting"
    assert await world.components.import_workers.step() == 1
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["empty"], got["default_branch"], got["mirror"]) == (False, "trunk", False)
    assert got["original_url"] == remote.url()
    assert await names(bob) == ["feature/one", "trunk"]
    assert (await bob.get("/repos/bob/copy/raw/v1/README.md")).text == "hello\n"
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["percent"], state["original_url"]) == ("done", 100, remote.url())
    assert [event["repository"]["full_name"] for event in await world.events("created")] == ["bob/copy"]
    assert [event["reason"] for event in await world.events("import.finished")] == [""]


async def test_refs_that_are_called_like_ids_stay_with_the_remote(world, bob, remote, work):
    for name in ("refs/heads/" + "a" * 40, "refs/tags/v/" + "1" * 40):
        await git("push", "-q", "origin", f"HEAD:{name}", cwd=work)
    await migrated(bob, remote.url())
    assert await world.components.import_workers.step() == 1
    listed = [ref["ref"] for ref in (await bob.get("/repos/bob/copy/git/refs")).json()]
    assert len(listed) == 3
    assert not [name for name in listed if len(name.rpartition("/")[2]) == 40]


@pytest.mark.parametrize("settings", [{"allowed_remotes": ["127.0.0.1"], "migration_wait_seconds": 30}])
async def test_the_answer_waits_for_the_end(world, bob, remote, work):
    request_task = asyncio.create_task(migrated(bob, remote.url()))
    while not await world.components.import_workers.step():
        await asyncio.sleep(0.01)
    answer = await request_task
    assert (answer.status_code, answer.json()["empty"]) == (201, False)


@pytest.mark.parametrize("settings", [{"allowed_remotes": ["127.0.0.1"], "migration_wait_seconds": 30}])
async def test_a_failure_within_the_wait_is_answered_and_releases_the_name(world, bob, remote):
    request_task = asyncio.create_task(migrated(bob, remote.url("none.git")))
    while not await world.components.import_workers.step():
        await asyncio.sleep(0.01)
    answer = await request_task
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not-found")
    assert (await bob.get("/repos/bob/copy")).status_code == 404
    assert [event["type"] for event in await world.events("repository")] == ["repos.repository.abandoned.v1"]


def staged(world):
    return [*Path(world.settings.storage_root, "staging").iterdir()]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_an_import_without_room_is_tried_again_and_keeps_no_room_from_others(world, bob, remote, work):
    await commit(work, "large.txt", os.urandom(100_000).hex())
    await git("push", "-q", "origin", "trunk", cwd=work)
    await migrated(bob, remote.url())
    table = world.database.metadata.tables["job"]
    with files_limited_to(50_000):
        for attempt in range(TRIES):
            assert (await bob.get("/repos/bob/copy/migration")).json()["status"] != "failed", attempt
            await world.components.import_workers.step()
            assert staged(world) == []
            async with world.database.transaction() as tx:
                await tx.execute(table.update().values(run_at=table.c.created_at))
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["room"])
    assert [event["reason"] for event in await world.events("import.finished")] == ["room"]


async def test_an_empty_repository_is_migrated_too(world, bob, remote, tmp_path):
    await bare_source(remote.folder, tmp_path)
    await migrated(bob, remote.url())
    await world.components.import_workers.step()
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["empty"], await names(bob)) == (True, [])


@pytest.mark.parametrize(
    "fields",
    [
        {"auth_username": "bob", "auth_password": "hunter2"},
        {"auth_username": "bob", "auth_token": "hunter2"},
    ],
)
async def test_credentials_open_a_remote(world, bob, remote, work, fields):
    remote.answer = wanting("bob", "hunter2")
    await migrated(bob, remote.url(), **fields)
    await world.components.import_workers.step()
    assert await names(bob) == ["feature/one", "trunk"]
    (remote_row,) = await world.rows("remote")
    assert remote_row.sealed is None


async def test_the_credentials_of_a_failed_import_are_erased_and_given_again(world, bob, remote, work):
    remote.answer = wanting("bob", "hunter2")
    await migrated(bob, remote.url(), auth_username="bob", auth_password="wrong")
    await world.components.import_workers.step()
    (remote_row,) = await world.rows("remote")
    assert ((await bob.get("/repos/bob/copy/migration")).json()["status"], remote_row.sealed) == (
        "failed",
        None,
    )
    refused = await bob.post("/repos/bob/copy/migration", {"auth_username": "a\nb"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "auth_username")
    form = {"auth_username": "bob", "auth_password": "hunter2"}
    assert (await bob.post("/repos/bob/copy/migration", form)).status_code == 202
    await world.components.import_workers.step()
    assert await names(bob) == ["feature/one", "trunk"]
    (remote_row,) = await world.rows("remote")
    assert remote_row.sealed is None


async def test_a_token_alone_has_a_user_name_of_its_own(world, bob, remote, work):
    remote.answer = wanting("oauth2", "t0ken")
    await migrated(bob, remote.url(), auth_token="t0ken")
    await world.components.import_workers.step()
    assert (await bob.get("/repos/bob/copy/migration")).json()["status"] == "done"


async def test_credentials_in_the_address_are_taken_out_of_it(world, bob, remote, work):
    remote.answer = wanting("bob", "hunter2")
    await migrated(bob, remote.url(host="bob:hunter2@127.0.0.1"))
    await world.components.import_workers.step()
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["original_url"]) == ("done", remote.url())


async def test_a_migration_is_cancelled_while_it_runs_and_started_again(world, bob, remote, work):
    remote.answer = silent
    copy_of_remote = (await migrated(bob, remote.url())).json()
    working = asyncio.create_task(world.components.import_workers.step())
    await remote.arrived.wait()
    assert (await bob.get("/repos/bob/copy/migration")).json()["status"] == "running"
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")).status_code == 204
    await working
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["error"]) == ("cancelled", "was cancelled")
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 404
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")).status_code == 409
    remote.answer = None
    assert (await bob.post("/repos/bob/copy/migration")).status_code == 202
    assert (await bob.post("/repos/bob/copy/migration")).status_code == 409
    assert await world.components.import_workers.step() == 1
    assert await names(bob) == ["feature/one", "trunk"]
    assert not list((world.components.storage.root / "staging").iterdir()), copy_of_remote["id"]


async def test_a_migration_started_again_before_its_worker_noticed_runs_once_more(world, bob, remote, work):
    remote.answer = silent
    await migrated(bob, remote.url())
    working = asyncio.create_task(world.components.import_workers.step())
    await remote.arrived.wait()
    await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")
    await bob.post("/repos/bob/copy/migration")
    remote.answer = None
    assert await working == 2
    assert await names(bob) == ["feature/one", "trunk"]


async def test_a_repository_deleted_while_it_is_filled_leaves_nothing(world, bob, remote, work):
    remote.answer = silent
    await migrated(bob, remote.url())
    working = asyncio.create_task(world.components.import_workers.step())
    await remote.arrived.wait()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy")).status_code == 204
    await working
    await world.components.workers.step()
    root = world.components.storage.root
    assert not [path for path in root.rglob("*") if path.name.endswith((".git", ".filling"))]
    assert await world.events("deleted") == []


async def test_what_a_try_has_brought_over_the_next_one_keeps(world, bob, remote, work):
    await commit(work, "big.bin", "x" * 100)
    await git("push", "-q", "origin", "trunk", cwd=work)
    wants = []

    async def broken_later(_method, target, _headers, _writer):
        wants.append(target)
        return b"" if wants.count("/source.git/git-upload-pack") > 3 else None

    remote.answer = broken_later
    copy_of_remote = (await migrated(bob, remote.url())).json()
    await world.components.import_workers.step()
    staging_folder = (
        world.components.storage.root / "staging" / f"{copy_of_remote['id']}.filling" / "repository.git"
    )
    assert (await bob.get("/repos/bob/copy/migration")).json()["status"] in ("waiting", "running")
    assert (await git("for-each-ref", "--format=%(refname)", cwd=staging_folder)).split() == [
        "refs/heads/trunk"
    ]
    remote.answer = None
    table = world.database.metadata.tables["job"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    await world.components.import_workers.step()
    assert await names(bob) == ["feature/one", "trunk"]


async def test_git_without_http_is_fetched_from_through_the_proxy(world, bob, remote, work, tmp_path):
    port = free_port()
    daemon = await asyncio.create_subprocess_exec(
        "git", "-c", "safe.directory=*", "daemon", "--listen=127.0.0.1", f"--port={port}", "--export-all",
        "--reuseaddr", f"--base-path={remote.folder}", stdin=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                except ConnectionRefusedError:
                    await asyncio.sleep(0.05)
        await migrated(bob, f"git://127.0.0.1:{port}/source.git")
        await world.components.import_workers.step()
    finally:
        daemon.terminate()
        await daemon.wait()
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["received"] > 0) == ("done", True)


async def test_a_site_administrator_migrates_from_a_folder_that_the_operator_named(world, bob, remote, work):
    folder = str(remote.folder / "source.git")
    assert (await migrated(bob, folder)).status_code == 422
    admin = bob.but(admin=True)
    for outside in ("/etc", "file:///etc", str(remote.folder / ".." / "storage"), "relative/path"):
        assert (await migrated(admin, outside)).status_code == 422, outside
    assert (await migrated(admin, f"file://{folder}")).status_code == 201
    await world.components.import_workers.step()
    assert await names(bob) == ["feature/one", "trunk"]
    for path in ("/repos/bob/copy/migration", "/repos/bob/copy"):
        assert (await bob.get(path)).json()["original_url"] == ""


async def test_whose_the_repository_becomes(world, ann, bob, remote):
    world.organization(9, "acme")
    world.organization(10, "other")
    world.identity.join(2, 9, owner=True)
    for owner, fields in (
        ("bob", {}),
        ("bob", {"uid": 2}),
        ("bob", {"repo_owner": "BOB"}),
        ("acme", {"uid": 9}),
        ("acme", {"repo_owner": "acme"}),
    ):
        answer = await migrated(bob, remote.url(), f"r{owner}{len(fields)}{''.join(fields)}", **fields)
        assert answer.json()["owner"]["login"] == owner, answer.text
    for code, fields in (
        (403, {"uid": 1}),
        (403, {"repo_owner": "ann"}),
        (403, {"repo_owner": "other"}),
        (422, {"uid": 99}),
        (422, {"uid": -1}),
        (422, {"uid": 2**63 - 1}),
        (422, {"repo_owner": "nobody"}),
    ):
        answer = await migrated(bob, remote.url(), "more", **fields)
        assert answer.status_code == code, (fields, answer.text)
    assert (await migrated(bob.but(admin=True), remote.url(), "for-ann", uid=1)).json()["owner"][
        "login"
    ] == "ann"


async def test_who_imports_into_an_organization_that_they_do_not_own_administers_the_repository(
    world, bob, remote, work
):
    world.organization(9, "acme")
    world.identity.join(2, 9, teams={54: "read"}, creates=True)
    answer = await migrated(bob, remote.url(), repo_owner="acme", private=True)
    assert (answer.status_code, answer.json()["permissions"]["admin"]) == (201, True)
    assert [(row.user_id, row.mode) for row in await world.rows("collaboration")] == [(2, "admin")]
    assert await world.components.import_workers.step() == 1
    assert await names(bob, "acme/copy") == ["feature/one", "trunk"]


async def test_a_taken_name_is_a_conflict(bob, remote):
    await bob.create("copy")
    assert (await migrated(bob, remote.url())).status_code == 409


@pytest.mark.parametrize(
    "more",
    [
        {"issues": True, "wiki": True},
        {"service": "GitHub", "mirror": True, "releases": True},
        {"service": "3", "issues": True},
        {"mirror_interval": "8h0m0s"},
        {"lfs_endpoint": "http://127.0.0.1/x"},
        {"aws_access_key_id": "key", "aws_secret_access_key": "secret"},
    ],
)
async def test_what_is_beside_git_is_asked_for_in_vain_of_plain_git_and_mirrors(bob, remote, work, more):
    assert (await migrated(bob, remote.url(), **more)).status_code == 201


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"repo_name": "a/b"}, "name"),
        ({"repo_name": "-.git"}, "name"),
        ({"repo_name": ""}, "name"),
        ({"mirror": True, "mirror_interval": "soon"}, "mirror_interval"),
        ({"mirror": True, "mirror_interval": "1m"}, "mirror_interval"),
        ({"mirror": True, "mirror_interval": "99999h"}, "mirror_interval"),
        ({"auth_username": "a\nb"}, "auth_username"),
        ({"auth_password": "a\rb"}, "auth_password"),
        ({"clone_addr": ""}, "clone_addr"),
        ({"clone_addr": "https://example.org/x.git", "service": "onedev", "issues": True}, "issues"),
        ({"lfs": True, "lfs_endpoint": "ssh://host/x"}, "lfs_endpoint"),
        ({"lfs": True, "lfs_endpoint": "git://127.0.0.1/x"}, "lfs_endpoint"),
        ({"lfs": True, "lfs_endpoint": "/etc"}, "lfs_endpoint"),
        ({"lfs": True, "lfs_endpoint": "http://a:b@127.0.0.1/x"}, "lfs_endpoint"),
        ({"lfs": True, "lfs_endpoint": "http://10.0.0.1/x"}, "lfs_endpoint"),
        ({"clone_addr": "--upload-pack=id"}, "clone_addr"),
        ({"clone_addr": "-x@host:path"}, "clone_addr"),
        ({"clone_addr": "http://"}, "clone_addr"),
        ({"clone_addr": "http:///x"}, "clone_addr"),
        ({"clone_addr": "http://host"}, "clone_addr"),
        ({"clone_addr": "http://host:0/x"}, "clone_addr"),
        ({"clone_addr": "http://host:99999/x"}, "clone_addr"),
        ({"clone_addr": "http://ho st/x"}, "clone_addr"),
        ({"clone_addr": "http://host/x\ny"}, "clone_addr"),
        ({"clone_addr": "git://host/x%0ahost=evil"}, "clone_addr"),
        ({"clone_addr": "http://-host/x"}, "clone_addr"),
        ({"clone_addr": "http://host/x?y=z"}, "clone_addr"),
        ({"clone_addr": "http://hóst/x"}, "clone_addr"),
        ({"clone_addr": "http://[::1/x"}, "clone_addr"),
        ({"clone_addr": "ext::sh -c id"}, "clone_addr"),
        ({"clone_addr": "ftp://host/x"}, "clone_addr"),
        ({"clone_addr": "ssh://host/x"}, "clone_addr"),
        ({"clone_addr": "git@host:x"}, "clone_addr"),
        ({"clone_addr": "x" * 3000}, "clone_addr"),
        ({"description": "x" * 256}, "description"),
    ],
)
async def test_bad_input_names_the_field_and_makes_nothing(world, bob, fields, field):
    body = {"clone_addr": "http://127.0.0.1/x.git", "repo_name": "copy"} | fields
    answer = await bob.post("/repos/migrate", body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert await world.rows("repository") == []


@pytest.mark.parametrize("settings", [{}])
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/x", "http://127.1/x", "http://0x7f000001/x", "http://2130706433/x",
        "http://localhost/x",
        "http://[::1]/x", "http://[::ffff:127.0.0.1]/x", "http://0/x", "https://169.254.169.254/latest",
        "git://10.0.0.1/x", "http://192.168.1.1/x", "http://8.8.8.8:8080/x", "http://8.8.8.8:22022/x",
    ],
)  # fmt: skip
async def test_private_addresses_and_odd_ports_are_refused_at_once(world, bob, address):
    answer = await migrated(bob, address)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "address")
    assert await world.rows("repository") == []


async def test_strangers_and_readers_neither_see_nor_touch_a_migration(world, ann, bob, remote):
    assert (await ann.but(id=0, name="", via="").post("/repos/migrate")).status_code == 401
    await migrated(bob, remote.url(), private=True)
    await migrated(bob, remote.url(), "open")
    for method in ("GET", "POST", "DELETE"):
        assert (await ann.call(method, "/api/v1/repos/bob/copy/migration")).status_code == 404
        assert (await ann.call(method, "/api/v1/repos/bob/open/migration")).status_code == 403
    await bob.create("own")
    for method in ("GET", "POST", "DELETE"):
        assert (await bob.call(method, "/api/v1/repos/bob/own/migration")).status_code == 404
