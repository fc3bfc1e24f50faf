"""Data that waits in the SSH server while git reads a push more slowly than the client sends it."""

import asyncio

import asyncssh
import pytest

from ingot_ssh.server import PART, WINDOW
from ingot_ssh.upstreams import AppUpstream

from ..ssh_world import Key, ssh_before

PUSH = 24 * WINDOW


class SlowUpstream:
    """An upstream that reads the next part of a push when the client is blocked. It records the buffered
    bytes."""

    def __init__(self, world):
        self.app = AppUpstream(world.app)
        self.sent = self.taken = self.most_waiting = 0

    async def request(self, method, target, headers, body):
        if method != "POST":
            return await self.app.request(method, target, headers, body)
        async for part in body:
            self.taken += len(part)
            before = -1
            while before != self.sent:
                before = self.sent
                for _ in range(40):
                    await asyncio.sleep(0)
            self.most_waiting = max(self.most_waiting, self.sent - self.taken)
        raise ConnectionError("enough")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_push_does_not_pile_up(world, ann, tmp_path):
    await ann.create("app")
    key, upstream = Key(tmp_path, "ann"), SlowUpstream(world)
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with (
        ssh_before(world, upstream=upstream) as port,
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        process = await ssh.create_process("git-receive-pack 'ann/app'")
        process.stdin.channel.set_write_buffer_limits(0)
        for _ in range(PUSH // 65536):
            process.stdin.write(bytes(65536))
            await process.stdin.drain()
            upstream.sent += 65536
        process.stdin.write_eof()
        await process.wait()
    assert upstream.taken == PUSH
    assert upstream.most_waiting <= 2 * WINDOW + PART
