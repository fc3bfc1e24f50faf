"""Rights by keys of SSH: of a person, of one who left, and of a repository."""

import asyncio
import json
import time
from contextlib import suppress
from functools import partial

import asyncssh

from .parts import PATIENCE
from .rights import LIST_REFS, Right, Use, collaborator, new_repository, status_of


async def ssh_uses(people, key, full_name):
    """Return uses of a key over SSH: a new connection, an open one with a command and a session, and LFS."""
    port = people.deployment.serve_ssh()
    login = {"username": "git", "client_keys": [key], "known_hosts": None, "config": None}

    async def runs(connection):
        process = await connection.create_process(f"git-upload-pack '{full_name}'", encoding=None)
        with suppress(BrokenPipeError):  # refused before it was said
            process.stdin.write(b"0000")
            process.stdin.write_eof()
        return (await process.wait()).exit_status == 0

    async def is_let_in():
        try:
            async with asyncssh.connect("127.0.0.1", port, **login) as connection:
                return await runs(connection)
        except asyncssh.PermissionDenied:
            return False

    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection = await people.stack.enter_async_context(asyncssh.connect("127.0.0.1", port, **login))
            break
        except OSError:  # the SSH server of a cluster is about to start
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
    session = await connection.create_process(
        f"git-upload-pack '{full_name}'", encoding=None, env={"GIT_PROTOCOL": "version=2"}
    )
    await read_packets(session.stdout)

    async def lists_refs():
        try:
            session.stdin.write(LIST_REFS)
            await read_packets(session.stdout)
        except (asyncio.IncompleteReadError, OSError):
            return False
        return True

    answer = await connection.run(f"git-lfs-authenticate '{full_name}' download", check=True)
    lfs = json.loads(answer.stdout)
    client = await people.connect(headers=lfs["header"])

    async def opens_lfs():
        return await status_of(client, f"{lfs['href']}/objects/batch") == 200

    return (
        Use("connection", is_let_in),
        Use("next command", partial(runs, connection)),
        Use("session", lists_refs),
        Use("token of LFS", opens_lfs),
    )


async def read_packets(reader):
    """Read those of git until a flush."""
    while size := int(await reader.readexactly(4), 16):
        await reader.readexactly(max(0, size - 4))


async def key_at(client, path):
    """A new key that is added there, and its URL."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    body = {"title": "laptop", "key": key.export_public_key().decode()}
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return key, f"{path}/{answer.json()['id']}"


async def removed_ssh_key(people):
    ann = await people.person("ann")
    full_name = await new_repository(ann)
    key, url = await key_at(ann, "api/v1/user/keys")
    return Right([], lambda: ann.delete(url), uses=await ssh_uses(people, key, full_name))


async def ssh_key_of_who_left(people):
    full_name, _, bob, remove = await collaborator(people, "write")
    key, _ = await key_at(bob, "api/v1/user/keys")
    return Right([], remove, uses=await ssh_uses(people, key, full_name))


async def removed_deploy_key(people):
    ann = await people.person("ann")
    full_name = await new_repository(ann)
    key, url = await key_at(ann, f"api/v1/repos/{full_name}/keys")
    return Right([], lambda: ann.delete(url), uses=await ssh_uses(people, key, full_name))


RIGHTS_OF_KEYS = [removed_ssh_key, ssh_key_of_who_left, removed_deploy_key]
