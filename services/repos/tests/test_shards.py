"""Two processes of repos on one database, each with a disk of its own: whoever is asked, the one with the files answers."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
import uvicorn
from repos_world import Person, World, commit, git, migrate, work_tree

from ingot_chassis.hop import Origin


@asynccontextmanager
async def served(world, listener):
    server = uvicorn.Server(
        uvicorn.Config(world.app, interface="asgi3", lifespan="off", ws="none", log_config=None)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield
    server.should_exit = True
    await serving


@pytest.fixture
async def shards(make_database, tmp_path):
    """Worlds `a` and `b`; only their disks differ."""
    database = make_database("repos", migrate)
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    urls = [f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    a = World(database, tmp_path / "a", shard="a", shards={"b": urls[1]})
    b = World(database, tmp_path / "b", shard="b", shards={"a": urls[0]})
    b.identity = a.identity
    async with served(a, listeners[0]), served(b, listeners[1]):
        yield a, b, urls
    for world in (a, b):
        await world.parts.shards.close()
        await world.close()
    for listener in listeners:
        listener.close()


@pytest.fixture
async def ann(shards):
    a, b, _ = shards
    here = a.user(1, "ann")
    there = Person(b, here.principal)
    b.app.state.repos.identity._peers["identity"]._transport._app = a.identity
    return here, there


async def test_files_are_read_and_written_wherever_one_asks(shards, ann, tmp_path):
    a, b, urls = shards
    here, there = ann
    made = await here.create("app", auto_init=True)
    assert (a.parts.storage.exists(made["id"]), b.parts.storage.exists(made["id"])) == (True, False)
    for person in ann:
        assert (await person.get("/repos/ann/app/raw/README.md")).text.startswith("# app")
        assert [one["name"] for one in (await person.get("/repos/ann/app/branches")).json()] == ["master"]
        archive = await person.get("/repos/ann/app/archive/master.zip")
        assert (archive.status_code, archive.content[:2]) == (200, b"PK")
        assert (await person.get("/repos/ann/app/raw/none")).status_code == 404
    said = await there.post("/repos/ann/app/statuses/master", {"state": "success"})
    assert said.status_code == 201, said.text
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[1]}/ann/app.git", "master", cwd=work, person=there)
    tip = await commit(work, "big.bin", "x" * 3_000_000)
    await git("push", "-q", f"{urls[1]}/ann/app.git", "master", cwd=work, person=there)
    assert (await here.get("/repos/ann/app/branches/master")).json()["commit"]["id"] == tip
    assert (await there.internal("GET", f"{made['id']}/branches/master")).json()["sha"] == tip
    asked = {"base_branch": "master", "head_repository_id": made["id"], "head_branch": "master"}
    for path in ("compare", "compare?unattended=true"):
        assert (await there.internal("POST", f"{made['id']}/{path}", asked)).json()["head_sha"] == tip


async def test_a_job_is_done_by_its_own_shard_alone(shards, ann):
    a, b, _ = shards
    here, there = ann
    made = await here.create("app", auto_init=True)
    bob = a.user(2, "bob")
    fork = (await Person(b, bob.principal).post("/repos/ann/app/forks")).json()
    assert await b.parts.workers.step() == 0
    assert await a.parts.workers.step() == 1
    assert a.parts.storage.exists(fork["id"])
    assert (await Person(b, bob.principal).get("/repos/bob/app/raw/README.md")).status_code == 200
    assert (await there.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    await b.forget(made["id"])
    assert (await b.parts.workers.step(), await a.parts.workers.step()) == (0, 1)


async def test_nobody_sees_more_by_asking_elsewhere(shards, ann):
    _a, b, _ = shards
    here, _there = ann
    await here.create("secret", auto_init=True, private=True)
    stranger = Person(b, _a.user(3, "carl").principal)
    nobody = stranger.but(id=0, name="", via="")
    for person in (stranger, nobody):
        assert (await person.get("/repos/ann/secret/raw/README.md")).status_code == 404


async def test_a_shard_that_is_unknown_or_disagrees_is_503(shards, ann):
    a, b, _ = shards
    here, there = ann
    await here.create("app", auto_init=True)
    b.parts.shards._origins["a"] = Origin("http://127.0.0.1:1")
    assert (await there.get("/repos/ann/app/raw/README.md")).json()[
        "message"
    ] == "the shard of the repository does not answer"
    b.parts.shards._origins.clear()
    answer = await there.get("/repos/ann/app/raw/README.md")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    answer = await there.get("/repos/ann/app/raw/README.md", headers={"ingot-shard": "a"})
    assert answer.status_code == 503
    assert (await there.get("/repos/ann/app")).status_code == 200
    assert a.settings.shard != b.settings.shard
