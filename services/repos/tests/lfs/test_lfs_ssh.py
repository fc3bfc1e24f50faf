"""LFS for clients of the SSH server: what git-lfs-authenticate gives, and what it opens."""

import json
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_repos.lfs.rules.tokens import LIFETIME, LfsToken, issue

from ..lfs_client import FILE, ROOT, oid_of, path
from ..ssh_world import Client, Key, ssh_before


@pytest.fixture
async def app(ann):
    return await ann.create("app", private=True)


@pytest.fixture
async def client_of(world, tmp_path):
    """Return a client with a new key, of a user or of no account."""
    async with ssh_before(world) as port:

        def make(name, *, account=0):
            key = Key(tmp_path, name)
            if account:
                world.identity.ssh_keys[key.public.fingerprint] = (account, f"laptop of {name}")
            return Client(tmp_path, port, key)

        yield make


async def authenticate(client, operation, repo="ann/app.git"):
    """Return the response that git-lfs reads."""
    code, said = await client.run(f"git-lfs-authenticate {repo} {operation}")
    assert code == 0, said
    answer = json.loads(said)
    assert answer["href"] == f"{ROOT}/{repo}/info/lfs"
    assert answer["expires_in"] == LIFETIME.total_seconds()
    return answer["header"]


class Caller:
    """Sends nothing but the headers that git-lfs-authenticate gave."""

    def __init__(self, world, headers):
        self._http, self._headers = world.http, headers

    async def send(self, method, target, **sent):
        return await self._http.request(method, f"{path()}/{target}", headers=self._headers, **sent)

    async def batch(self, operation):
        objects = [{"oid": oid_of(FILE), "size": len(FILE)}]
        return await self.send("POST", "objects/batch", json={"operation": operation, "objects": objects})

    async def put(self):
        return await self.send("PUT", f"objects/{oid_of(FILE)}/{len(FILE)}", content=FILE)

    async def get(self):
        return await self.send("GET", f"objects/{oid_of(FILE)}")


async def test_a_user_uploads_and_downloads_by_key(world, ann, app, client_of):
    headers = await authenticate(client_of("ann", account=1), "upload")
    caller = Caller(world, headers)
    actions = (await caller.batch("upload")).json()["objects"][0]["actions"]
    assert actions["upload"]["header"] == actions["verify"]["header"] == headers
    assert headers["Authorization"] == f"Lfs {headers['Lfs-Token']}"
    assert (await caller.put()).status_code == 200
    assert (await caller.get()).content == FILE
    locked = await caller.send("POST", "locks", json={"path": "a.bin"})
    assert (locked.status_code, locked.json()["lock"]["owner"]) == (201, {"name": "ann"})
    reader = Caller(world, await authenticate(client_of("ann2", account=1), "download"))
    assert (await reader.get()).content == FILE
    for refused in (await reader.batch("upload"), await reader.put()):
        assert refused.status_code == 403


async def test_a_token_gets_what_its_key_gets_now(world, ann, bob, app, client_of):
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    client = client_of("bob", account=2)
    caller = Caller(world, await authenticate(client, "upload"))
    assert (await caller.put()).status_code == 200
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    assert [(await caller.put()).status_code, (await caller.get()).status_code] == [403, 200]
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    del world.identity.ssh_keys[client.key.public.fingerprint]
    assert [(await caller.put()).status_code, (await caller.get()).status_code] == [404, 404]


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_deploy_key_opens_one_repository(world, ann, app, client_of, read_only):
    client = client_of("robot")
    key = {"title": "robot", "key": client.key.public.content, "read_only": read_only}
    assert (await ann.post("/repos/ann/app/keys", key)).status_code == 201
    if read_only:
        code, said = await client.run("git-lfs-authenticate ann/app.git upload")
        assert (code != 0, "may only read" in said) == (True, True)
        await authenticate(client, "download")
        return
    caller = Caller(world, await authenticate(client, "upload"))
    assert (await caller.put()).status_code == 200
    assert (await caller.get()).content == FILE
    assert (await caller.send("POST", "locks", json={"path": "a"})).status_code == 403


async def test_a_token_opens_no_other_repository(world, ann, app, client_of):
    await ann.create("other", private=True)
    headers = await authenticate(client_of("ann", account=1), "upload")
    answer = await world.http.get(f"{path('ann/other')}/locks", headers=headers)
    assert answer.status_code == 404


async def test_a_stranger_gets_no_token(ann, bob, app, client_of):
    code, said = await client_of("bob", account=2).run("git-lfs-authenticate ann/app.git download")
    assert (code != 0, "there is no repository" in said) == (True, True)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_without_lfs_nobody_gets_a_token(world, ann, app, client_of):
    world.settings.lfs_enabled = False
    code, said = await client_of("ann", account=1).run("git-lfs-authenticate ann/app.git download")
    assert (code != 0, "switched off" in said) == (True, True)


async def test_a_token_that_is_no_token_opens_nothing(world, ann, app, client_of):
    headers = await authenticate(client_of("ann", account=1), "upload")
    name = "Lfs-Token"
    text = headers[name]
    seal = world.components.seal
    old = LfsToken("SHA256:x", app["id"], "write", now() - timedelta(seconds=1))
    other = seal.close("the password of a remote").decode()
    for false in (
        "x",
        text[:-3],
        text.swapcase(),
        other,
        seal.close(json.dumps({"level": "write"})).decode(),
    ):
        assert (await Caller(world, {name: false}).get()).status_code == 401
    expired = seal.close(json.dumps({**_plain(old), "expires_at": "2020-01-01T00:00:00Z"})).decode()
    assert (await Caller(world, {name: expired}).get()).status_code == 401
    unknown, _ = issue(seal, app["id"], "write", fingerprint="SHA256:nobody")
    assert (await Caller(world, {name: unknown}).get()).status_code == 404


def _plain(token):
    return {"fingerprint": token.fingerprint, "repository_id": token.repository_id, "level": token.level}
