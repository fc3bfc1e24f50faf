"""Two processes of repos on one database, each with a disk of its own: the one with the files answers."""

import pytest

from ingot_repos.placement.api.forwarding import after_flush
from ingot_wire.client import Origin

from ..shard_world import two_shards
from ..ssh_world import Client, Key, ssh_before
from ..world import Person, commit, git, migrate, work_tree

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def shards(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as worlds:
        yield worlds


@pytest.fixture
async def ann(shards):
    a, b, _ = shards
    here = a.user(1, "ann")
    there = Person(b, here.principal)
    return here, there


async def test_files_are_read_and_written_wherever_one_asks(shards, ann, tmp_path):
    a, b, urls = shards
    here, there = ann
    repository = await here.create("app", auto_init=True)
    assert (a.components.storage.exists(repository["id"]), b.components.storage.exists(repository["id"])) == (
        True,
        False,
    )
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
    assert (await there.internal("GET", f"{repository['id']}/branches/master")).json()["sha"] == tip
    head = {"base_branch": "master", "head_repository_id": repository["id"], "head_branch": "master"}
    for path in ("compare", "compare?unattended=true"):
        assert (await there.internal("POST", f"{repository['id']}/{path}", head)).json()["head_sha"] == tip


async def test_a_session_over_ssh_reaches_the_shard_with_the_files(shards, ann, tmp_path):
    a, b, urls = shards
    await ann[0].create("app", private=True)
    key = Key(tmp_path, "ann")
    a.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    work, upstream = await work_tree(tmp_path), Origin(urls[1])
    await commit(work, "big.bin", "x" * 3_000_000)
    async with ssh_before(b, upstream=upstream) as port:
        client = Client(tmp_path, port, key)
        code, said = await client.git("push", client.url("ann/app"), "master", cwd=work)
        assert code == 0, said
        code, said = await client.git("clone", "-q", client.url("ann/app"), "copy", cwd=tmp_path)
        assert code == 0, said
    await upstream.close()
    assert (tmp_path / "copy" / "big.bin").stat().st_size == 3_000_000
    assert await a.rows("push") == []


async def test_a_job_is_done_by_its_own_shard_alone(shards, ann):
    a, b, _ = shards
    here, there = ann
    repository = await here.create("app", auto_init=True)
    bob = a.user(2, "bob")
    fork = (await Person(b, bob.principal).post("/repos/ann/app/forks")).json()
    assert await b.components.workers.step() == 0
    assert await a.components.workers.step() == 1
    assert a.components.storage.exists(fork["id"])
    assert (await Person(b, bob.principal).get("/repos/bob/app/raw/README.md")).status_code == 200
    assert (await there.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    await b.confirm_deletion(repository["id"])
    assert (await b.components.workers.step(), await a.components.workers.step()) == (0, 1)


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
    b.components.shards.origins["a"] = Origin("http://127.0.0.1:1")
    assert (await there.get("/repos/ann/app/raw/README.md")).json()[
        "message"
    ] == "the shard of the repository does not answer"
    b.components.shards.origins.clear()
    answer = await there.get("/repos/ann/app/raw/README.md")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    answer = await there.get("/repos/ann/app/raw/README.md", headers={"ingot-shard": "a"})
    assert answer.status_code == 503
    assert (await there.get("/repos/ann/app")).status_code == 200
    assert a.settings.shard != b.settings.shard


async def test_a_session_that_another_shard_refuses_ends_with_its_words():
    sent = []

    async def send(message):
        sent.append(message)

    refused = after_flush(send)
    await refused({"type": "http.response.start", "status": 507, "headers": []})
    for body, more in ((b'{"message":"the disk', True), (b' is full"}', False)):
        await refused({"type": "http.response.body", "body": body, "more_body": more})
    packet = b"0018ERR the disk is full"
    assert sent == [{"type": "http.response.body", "body": packet, "more_body": False}]


async def test_files_of_releases_are_on_the_shard_of_their_repository(shards, ann):
    a, b, _ = shards
    here, there = ann
    await here.create("app", auto_init=True)
    release = (await here.post("/repos/ann/app/releases", {"tag_name": "v1"})).json()
    path = release["upload_url"].removeprefix("http://ingot.test")
    content = b"x" * 300_000
    headers = there.headers() | {"Content-Type": "application/octet-stream"}
    answer = await b.http.post(path, params={"name": "a.zip"}, headers=headers, content=content)
    assert answer.status_code == 201, answer.text
    asset = answer.json()
    for person in ann:
        url = asset["browser_download_url"].removeprefix("http://ingot.test")
        assert (await person.call("GET", url)).content == content
    assert (await there.call("DELETE", f"{path}/{asset['id']}")).status_code == 204
    for world, files in ((b, 1), (a, 0)):
        await world.components.workers.step()
        folder = a.folder / "storage" / "files"
        assert len([file for file in folder.rglob("*") if file.is_file()]) == files
