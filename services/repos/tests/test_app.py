"""The loops of a running service: relay, workers woken by NATS, and the description of its routes."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import event

from ingot_chassis import service
from ingot_chassis.events import relay
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.jobs.loops import running
from ingot_chassis.security.keys import Jwks
from ingot_chassis.service import WARM_CONNECTIONS

from .remote_world import Remote, bare_source
from .world import World, commit, git, migrate

PATIENCE = 20


@pytest.fixture
def started(make_database, tmp_path, nats_url):
    """A world whose loops run during its app's lifespan. The test must enter the lifespan in its own task."""
    world = World(make_database("repos", migrate), tmp_path, nats=nats_url)
    world.settings.background = True
    return world


async def test_a_fork_completes_by_itself_and_is_announced_on_the_bus(started, nats_url):
    async with started.app.lifespan():
        await fork_and_wait(started, nats_url)


async def fork_and_wait(running, nats_url):
    ann, bob = running.user(1, "ann"), running.user(2, "bob")
    heard = asyncio.Queue()
    bus = Bus(nats_url, name="listener")
    listening = asyncio.create_task(bus.listen("ingot.repos.repository.forked.v1", heard.put))
    try:
        parent = await ann.create("app", auto_init=True)
        fork = (await bob.post("/repos/ann/app/forks")).json()
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await heard.get()
                if b'"full_name":"bob/app"' in message:
                    break
    finally:
        listening.cancel()
        await bus.close()
    await running.http.aclose()
    assert fork["parent"]["id"] == parent["id"]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_the_first_requests_find_keys_and_connections(world):
    app, opened = world.app, []
    event.listen(world.database.reading.sync_engine, "connect", lambda *_: opened.append("reading"))
    event.listen(world.database.writing.sync_engine, "connect", lambda *_: opened.append("writing"))
    verifier, fetches = app.state.principal_verifier, []
    fetch = verifier._fetch

    async def counted() -> Jwks:
        fetches.append(await fetch())
        return fetches[-1]

    verifier._fetch = counted
    async with app.lifespan():
        assert len(fetches) == 1
        before = Counter(opened)
        assert before == {"reading": WARM_CONNECTIONS, "writing": WARM_CONNECTIONS}
        ann = world.user(1, "ann")
        assert (await ann.get("/user/repos")).json() == []
        assert (len(fetches), Counter(opened)) == (1, before)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_process_starts_without_identity(world, monkeypatch):
    monkeypatch.setattr(service, "WARM_SECONDS", 0.01)
    calls = []

    async def silent() -> Jwks:
        calls.append(True)
        await asyncio.Event().wait()
        raise AssertionError

    world.app.state.principal_verifier._fetch = silent
    async with world.app.lifespan():
        assert (calls, (await world.http.get("/livez")).status_code) == ([True], 200)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_description_has_the_operation_ids_that_clients_know(world):
    paths = openapi_description(world.app)["paths"]
    ids = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    assert {"repoGet", "repoSearch", "createFork", "repoGetRawFile", "repoAddCollaborator"} <= ids
    assert not [path for path in paths if path.startswith("/internal") or "git-" in path]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_description_names_what_is_read_past_the_parameters(world):
    paths = openapi_description(world.app)["paths"]
    repository = "/api/v1/repos/{owner}/{repo}"
    body = paths[f"{repository}/releases/{{release_id}}/assets"]["post"]["requestBody"]
    assert (body["required"], set(body["content"])) == (
        True,
        {"multipart/form-data", "application/octet-stream"},
    )
    for path, names in (("commits", {"not", "page"}), ("commits/{ref}/status", {"page", "limit"})):
        assert names <= {one["name"] for one in paths[f"{repository}/{path}"]["get"]["parameters"]}


LONG = 3600.0
"""Seconds after which a relay looks for events by itself: no test takes so long."""
WORK = "repos relay", "repos hears of commits", "repos wakes workers"
on_postgresql = pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)


@pytest.fixture
async def apart(make_database, tmp_path, own_nats, monkeypatch):
    """Two processes with the same database and files: the first one serves, the other one works."""
    monkeypatch.setattr(relay, "POLL_SECONDS", LONG)
    url = make_database("repos", migrate)
    serving = World(url, tmp_path, nats=own_nats.url, allowed_remotes=["127.0.0.1"])
    working = World(
        url, tmp_path, nats=own_nats.url, allowed_remotes=["127.0.0.1"], identity=serving.identity
    )
    loops = [one for one in working.app.state.parts.loops if one[0].startswith(WORK)]
    async with running([*serving.app.state.parts.signals, *loops]), asyncio.timeout(120):
        yield serving, working
    for one in (serving, working):
        await one.app.state.parts.bus.close()
        await one.close()


async def until_awake(workers, request):
    """Repeat ``request`` until it wakes ``workers``: only the broker knows from when on they listen."""
    workers.wake.clear()
    while not workers.wake.is_set():
        await request()
        await asyncio.sleep(0.05)


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        work = await bare_source(remote.folder, tmp_path)
        await commit(work, "README.md", "one\n")
        await git("push", "-q", "origin", "trunk", cwd=work)
        yield remote


@on_postgresql
async def test_forks_wake_other_processes(apart):
    serving, working = apart
    ann = serving.user(1, "ann")
    await ann.create("app", auto_init=True)
    people = iter(range(2, 1000))

    async def fork():
        number = next(people)
        answer = await serving.user(number, f"user{number}").post("/repos/ann/app/forks")
        assert answer.status_code == 202

    await until_awake(working.components.workers, fork)


@on_postgresql
async def test_imports_wake_other_processes_also_when_they_start_again(apart, remote):
    serving, working = apart
    bob = serving.user(2, "bob")
    names = (f"copy{number}" for number in range(1000))

    async def migrate_one():
        answer = await bob.post("/repos/migrate", {"clone_addr": remote.url(), "repo_name": next(names)})
        assert answer.status_code == 201, answer.text

    await until_awake(working.components.import_workers, migrate_one)

    async def restart():
        await bob.call("DELETE", "/api/v1/repos/bob/copy0/migration")
        assert (await bob.post("/repos/bob/copy0/migration")).status_code == 202

    await until_awake(working.components.import_workers, restart)


@on_postgresql
async def test_syncs_of_mirrors_wake_other_processes(apart, remote):
    serving, working = apart
    bob = serving.user(2, "bob")
    await bob.post("/repos/migrate", {"clone_addr": remote.url(), "repo_name": "copy", "mirror": True})
    await serving.components.import_workers.step()

    async def sync():
        assert (await bob.post("/repos/bob/copy/mirror-sync")).status_code == 200

    await until_awake(working.components.mirror_workers, sync)


@on_postgresql
async def test_pushes_to_mirrors_wake_other_processes_also_after_a_commit(apart, remote):
    serving, working = apart
    bob = serving.user(2, "bob")
    await bob.create("app", auto_init=True)
    mirror = {"remote_address": remote.url("target.git"), "interval": "0", "sync_on_commit": True}
    assert (await bob.post("/repos/bob/app/push_mirrors", mirror)).status_code == 200

    async def push():
        assert (await bob.post("/repos/bob/app/push_mirrors-sync")).status_code == 200

    await until_awake(working.components.mirror_workers, push)
    names = (f"file{number}" for number in range(1000))

    async def change():
        answer = await bob.post(f"/repos/bob/app/contents/{next(names)}", {"content": "eA=="})
        assert answer.status_code == 201, answer.text

    await until_awake(working.components.mirror_workers, change)
