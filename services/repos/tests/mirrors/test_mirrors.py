"""Mirrors: following a remote, the schedule, and what users may change."""

import asyncio
import os
import time
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_git.storage.packs import repack_lock
from ingot_repos.presentation.rules.intervals import pause_after, read_interval
from ingot_repos.remotes.rules.reasons import REASON_TEXTS
from ingot_repos.upkeep.jobs.maintenance import FAILING, LAG, Maintenance
from ingot_testing.metrics import value_of

from ..remote_world import Remote, answering, bare_source, files_limited_to, silent, status, wanting
from ..world import commit, git


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"], "remote_idle_seconds": 5.0}


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


@pytest.fixture
async def work(remote, tmp_path):
    work = await bare_source(remote.folder, tmp_path)
    await commit(work, "README.md", "one\n")
    await git("branch", "old", cwd=work)
    await git("push", "-q", "origin", "trunk", "old", cwd=work)
    return work


@pytest.fixture
async def mirror(world, bob, remote, work):
    answer = await bob.post(
        "/repos/migrate",
        {"clone_addr": remote.url(), "repo_name": "copy", "mirror": True, "mirror_interval": "1h"},
    )
    assert answer.status_code == 201, answer.text
    await world.components.import_workers.step()
    return answer.json()


async def sync(world, person):
    """Ask for a sync and do it."""
    answer = await person.post("/repos/bob/copy/mirror-sync")
    assert (answer.status_code, answer.content) == (200, b""), answer.text
    return await world.components.mirror_workers.step()


async def row_of(world):
    (row,) = await world.rows("mirror")
    return row


async def refs(person):
    return [branch["name"] for branch in (await person.get("/repos/bob/copy/branches")).json()]


async def test_a_mirror_shows_how_it_is_kept(bob, mirror, remote):
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["mirror"], got["mirror_interval"], got["original_url"]) == (True, "1h0m0s", remote.url())
    assert got["mirror_updated"]
    assert got["mirror_last_sync_at"] == got["mirror_updated"]


async def test_a_sync_moves_makes_and_prunes_and_tells_it(world, bob, mirror, work):
    before = len(await world.events("push"))
    await commit(work, "two", message="second")
    await git("tag", "v2", cwd=work)
    await git("branch", "new", cwd=work)
    await git("push", "-q", "origin", "trunk", "new", "v2", ":old", cwd=work)
    assert await sync(world, bob) == 1
    assert await refs(bob) == ["new", "trunk"]
    events = {event["ref"]: event for event in (await world.events("push"))[before:]}
    assert set(events) == {"refs/heads/trunk", "refs/heads/new", "refs/heads/old", "refs/tags/v2"}
    assert [c["message"] for c in events["refs/heads/trunk"]["commits"]] == ["second\n"]
    assert events["refs/heads/old"]["after"] == "0" * 40
    assert events["refs/heads/trunk"]["pusher"]["login"] == "bob"
    left = await git("for-each-ref", "--format=%(refname)", cwd=world.components.storage.path(mirror["id"]))
    assert "incoming" not in left


async def test_a_sync_without_news_tells_nothing(world, bob, mirror, remote):
    before = len(await world.events())
    await sync(world, bob)
    assert [event["type"] for event in (await world.events())[before:]] == ["repos.sync.requested.v1"]
    assert (await row_of(world)).failures == 0


async def test_a_branch_gives_way_to_a_folder_of_its_name(world, bob, mirror, work):
    await git("push", "-q", "origin", ":old", cwd=work)
    await git("push", "-q", "origin", "trunk:refs/heads/old/below", cwd=work)
    await sync(world, bob)
    assert await refs(bob) == ["old/below", "trunk"]


async def test_what_a_dead_worker_has_fetched_is_in_the_way_of_no_other_branch(world, bob, mirror, work):
    path = world.components.storage.path(mirror["id"])
    await git("update-ref", "refs/incoming/heads/new", "refs/heads/trunk", cwd=path)
    await git("push", "-q", "origin", "trunk:refs/heads/new/below", cwd=work)
    await sync(world, bob)
    assert ((await row_of(world)).failures, await refs(bob)) == (0, ["new/below", "old", "trunk"])
    assert "incoming" not in await git("for-each-ref", "--format=%(refname)", cwd=path)


async def test_a_branch_whose_name_is_too_long_keeps_no_other_from_moving(world, bob, mirror, work):
    """As long as git takes: with the names of its folders it is longer than any that is stored."""
    long = "/".join(["x" * 201] * 5)
    await git("push", "-q", "origin", f"trunk:refs/heads/{long}", "trunk:refs/heads/new", cwd=work)
    assert await sync(world, bob) == 1
    assert ((await row_of(world)).failures, await refs(bob)) == (0, ["new", "old", "trunk"])
    assert await world.rows("push") == []


async def test_a_ref_that_is_called_like_an_id_stays_with_the_remote(world, bob, mirror, work):
    names = [f"trunk:refs/heads/{'a' * 40}", f"trunk:refs/tags/v/{'1' * 40}", "trunk:refs/heads/new"]
    await git("push", "-q", "origin", *names, cwd=work)
    assert await sync(world, bob) == 1
    assert ((await row_of(world)).failures, await refs(bob)) == (0, ["new", "old", "trunk"])
    path = world.components.storage.path(mirror["id"])
    assert "1" * 40 not in await git("for-each-ref", "--format=%(refname)", cwd=path)


async def test_a_rewritten_branch_is_followed(world, bob, mirror, work):
    await git("commit", "-q", "--amend", "-m", "rewritten", cwd=work)
    await git("push", "-q", "-f", "origin", "trunk", cwd=work)
    await sync(world, bob)
    assert (await bob.get("/repos/bob/copy/branches/trunk")).json()["commit"]["message"] == "rewritten\n"
    assert (await world.events("push"))[-1]["forced"] is True


async def test_the_default_branch_is_followed(world, bob, mirror, work, remote):
    await git("symbolic-ref", "HEAD", "refs/heads/old", cwd=remote.folder / "source.git")
    await sync(world, bob)
    assert (await bob.get("/repos/bob/copy")).json()["default_branch"] == "old"
    assert (await world.events("edited"))[-1]["repository"]["default_branch"] == "old"
    assert (await bob.get("/repos/bob/copy/raw/README.md")).text == "one\n"


async def test_a_mirror_takes_no_pushes(bob, mirror, work, git_url):
    code, text = await git(
        "push", f"{git_url}/bob/copy.git", "trunk:refs/heads/mine", cwd=work, person=bob, check=False
    )
    assert (code != 0, "403" in text) == (True, True)


async def test_a_failure_is_kept_and_tried_again_later_and_later(world, bob, mirror, remote):
    remote.answer = answering(status("404 Not ResolvedRepository"))
    for failures, pause in ((1, 10), (2, 20), (3, 40)):
        await sync(world, bob)
        row = await row_of(world)
        assert (row.failures, row.reason) == (failures, "not-found")
        left = row.next_run_at - now()
        assert timedelta(minutes=pause - 1) < left <= timedelta(minutes=pause)
    await Maintenance(world.components.jobs, world.components.storage, world.settings.shard).measure()
    assert value_of(FAILING, world.settings.shard) == 1
    remote.answer = None
    await sync(world, bob)
    row = await row_of(world)
    assert (row.failures, row.reason) == (0, "")
    assert row.next_run_at - now() > timedelta(minutes=59)
    assert REASON_TEXTS["not-found"]


async def test_one_asked_for_while_it_runs_runs_once_more(world, bob, mirror, remote, work):
    release = asyncio.Event()

    async def wait(*_):
        await release.wait()

    remote.arrived.clear()
    remote.answer = wait
    await bob.post("/repos/bob/copy/mirror-sync")
    working = asyncio.create_task(world.components.mirror_workers.step())
    await remote.arrived.wait()
    await git("push", "-q", "origin", "trunk:refs/heads/late", cwd=work)
    await bob.post("/repos/bob/copy/mirror-sync")
    remote.answer = None
    release.set()
    assert await working == 2
    assert await refs(bob) == ["late", "old", "trunk"]


def write_old(file):
    """Write the files of a process that is long dead."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("half")
    hours_ago = time.time() - 7200
    os.utime(file, (hours_ago, hours_ago))


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_sync_without_room_says_so_and_keeps_no_room_from_others(world, bob, mirror, work):
    await commit(work, "large.txt", os.urandom(100_000).hex())
    await git("push", "-q", "origin", "trunk", cwd=work)
    with files_limited_to(50_000):
        await sync(world, bob)
    assert (await bob.get("/repos/bob/copy/migration")).json()["error"] == REASON_TEXTS["room"]
    assert [*(world.components.storage.path(mirror["id"]) / "objects/pack").glob("tmp_*")] == []


async def test_a_sync_leaves_what_git_is_packing_meanwhile(world, bob, mirror):
    packing = world.components.storage.path(mirror["id"]) / "objects/pack/.tmp-123-pack-x.pack"
    packing.parent.mkdir(parents=True, exist_ok=True)
    packing.write_text("half")
    with repack_lock(packing.parent.parent.parent):
        await sync(world, bob)
        assert packing.exists()
    await sync(world, bob)
    assert not packing.exists()


@pytest.mark.parametrize("has_more", [True, False])
async def test_a_worker_that_died_in_the_middle_is_succeeded(world, bob, mirror, work, has_more):
    """Its files and refs under way are cleared, its job runs again, what it moved is told."""
    path = world.components.storage.path(mirror["id"])
    tip = (await git("rev-parse", "trunk", cwd=work)).strip()
    await git("update-ref", "refs/incoming/heads/dead", tip, cwd=path)
    for left in ("objects/pack/tmp_pack_x", "refs/heads/trunk.lock", "packed-refs.lock", "packed-refs.new"):
        write_old(path / left)
    if has_more:
        await git("push", "-q", "origin", "trunk:refs/heads/new", cwd=work)
    await sync(world, bob)
    assert await refs(bob) == [*(["new"] if has_more else []), "old", "trunk"]
    assert "incoming" not in await git("for-each-ref", cwd=path)
    assert not [
        left for left in path.rglob("*") if left.suffix in (".lock", ".new") or left.name.startswith("tmp_")
    ]


async def test_a_mirror_deleted_while_it_syncs_ends_its_job(world, bob, mirror, remote):
    remote.arrived.clear()
    remote.answer = silent
    await bob.post("/repos/bob/copy/mirror-sync")
    working = asyncio.create_task(world.components.mirror_workers.step())
    await remote.arrived.wait()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy")).status_code == 204
    await working
    states = {(job.kind, job.state) for job in await world.rows("job")}
    assert ("sync@shard-0", "done") in states


async def test_who_may_ask_for_a_sync(world, ann, bob, mirror):
    path = "/repos/bob/copy/mirror-sync"
    assert (await bob.but(id=0, name="", via="").post(path)).status_code == 401
    assert (await ann.post(path)).status_code == 403
    await bob.create("own")
    assert (await bob.post("/repos/bob/own/mirror-sync")).status_code == 400
    assert (await bob.post("/repos/bob/none/mirror-sync")).status_code == 404
    assert (await bob.call("PATCH", "/api/v1/repos/bob/copy", {"archived": True})).status_code == 200
    assert (await bob.post(path)).status_code == 403


async def test_interval_and_credentials_are_changed(world, ann, bob, mirror, remote, work):
    path = "/api/v1/repos/bob/copy"
    assert (await bob.call("PATCH", path, {"mirror_interval": "2h"})).json()["mirror_interval"] == "2h0m0s"
    assert timedelta(minutes=119) < (await row_of(world)).next_run_at - now() <= timedelta(hours=2)
    remote.answer = wanting("bob", "changed")
    await sync(world, bob)
    assert (await row_of(world)).reason == "unauthorized"
    changed = await bob.call("PATCH", path, {"mirror_username": "bob", "mirror_password": "changed"})
    assert (changed.status_code, "changed" in changed.text) == (200, False)
    await sync(world, bob)
    assert (await row_of(world)).reason == ""
    remote.answer = wanting("bob", "changed again")
    assert (await bob.call("PATCH", path, {"mirror_password": "changed again"})).status_code == 200
    await sync(world, bob)
    assert (await row_of(world)).reason == ""
    none = {"mirror_username": "", "mirror_password": ""}
    assert (await bob.call("PATCH", path, none)).status_code == 200
    assert [row.sealed for row in await world.rows("remote")] == [None]
    assert (await bob.call("PATCH", path, {"mirror_interval": "0"})).json()["mirror_interval"] == "0h0m0s"
    assert (await row_of(world)).next_run_at is None
    table = world.database.metadata.tables["job"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    requests_before = len(remote.requests)
    await world.components.mirror_workers.step()
    assert len(remote.requests) == requests_before


async def test_a_mirror_cannot_keep_branches_that_its_remote_deleted(bob, mirror):
    for value, code in ((True, 200), (False, 422)):
        answer = await bob.call("PATCH", "/api/v1/repos/bob/copy", {"enable_prune": value})
        assert answer.status_code == code, answer.text
    assert answer.json()["errors"][0]["field"] == "enable_prune"


async def test_many_late_mirrors_are_each_taken_once_the_latest_first(world, bob):
    """Only selects mirrors: it returns all due ones in order, with a constant number of statements."""
    count = 1000
    tables = world.database.metadata.tables
    due = now() - timedelta(hours=2)
    async with world.database.transaction() as tx:
        rows = [
            {"owner_id": 2, "name": f"m{n}", "lower_name": f"m{n}", "default_branch": "main",
             "shard": "shard-0",
             "mirror": True, "state": "ready", "created_at": due, "updated_at": due}
            for n in range(count)
        ]  # fmt: skip
        for start in range(0, count, 500):
            await tx.execute(tables["repository"].insert(), rows[start : start + 500])
    ids = sorted(row.id for row in await world.rows("repository"))
    async with world.database.transaction() as tx:
        mirrors = [
            {"repository_id": id_, "interval_seconds": 3600, "next_run_at": due + timedelta(seconds=n)}
            for n, id_ in enumerate(ids)
        ]
        jobs = [
            {"kind": "sync@shard-0", "key": str(id_), "payload": b"{}", "state": "waiting", "attempts": 0,
             "fence": 0,
             "run_at": due + timedelta(seconds=n), "created_at": due}
            for n, id_ in enumerate(ids)
        ]  # fmt: skip
        for start in range(0, count, 500):
            await tx.execute(tables["mirror"].insert(), mirrors[start : start + 500])
            await tx.execute(tables["job"].insert(), jobs[start : start + 500])
    await Maintenance(world.components.jobs, world.components.storage, "shard-0").measure()
    assert value_of(LAG, "shard-0") >= 7200
    taken, statements = [], set()
    while True:
        with world.count_statements() as sent:
            claimed = await world.components.jobs.claim(["sync@shard-0"], limit=100)
        if not claimed:
            break
        statements.add(len(sent))
        taken += [int(job.key) for job in claimed]
        async with world.database.transaction() as tx:
            for job in claimed:
                await world.components.jobs.finish(tx, job, again_at=now() + timedelta(hours=1))
    assert taken == ids
    assert len(statements) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("8h0m0s", 28800), ("10m", 600), ("90m", 5400), ("600s", 600), ("0", 0), ("0s", 0)]
)
def test_intervals_are_written_as_people_do(text, seconds):
    assert read_interval(text, least=600) == seconds


def test_a_pause_never_exceeds_a_day_or_the_interval():
    assert [pause_after(n, 3600).total_seconds() for n in (1, 2, 30)] == [600, 1200, 86400]
    assert pause_after(30, 200_000).total_seconds() == 200_000
