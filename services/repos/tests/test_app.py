"""The loops of a running service: relay, workers woken by NATS, and the description of its routes."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import event

from ingot_chassis import service
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.keys import Jwks
from ingot_chassis.service import WARM_CONNECTIONS

from .world import World, migrate

PATIENCE = 20


@pytest.fixture
def started(make_database, tmp_path, nats_url):
    """A world whose loops run while its app's lifespan is entered (which the test must do, in its own task)."""
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
