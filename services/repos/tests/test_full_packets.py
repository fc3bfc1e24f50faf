"""How the SSH server fills the window of a client."""

import asyncssh
import pytest
from asyncssh.constants import MSG_CHANNEL_WINDOW_ADJUST
from asyncssh.packet import UInt32

from ingot_repos.ssh import full_packets
from ingot_repos.ssh.upstreams import AppUpstream

from .ssh_world import Key, ssh_before

PACKET, OPENED = 32 * 1024, 8 * 1024
ANSWER = 1024 * 1024


class LongAnswer:
    """What git says, in parts of 128 KiB."""

    status = 200

    def __init__(self):
        self.left = ANSWER

    async def read_part(self):
        self.left -= 4 * PACKET
        return bytes(4 * PACKET), self.left > 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass


class Upstream:
    """Answers each session in the same way."""

    def __init__(self, world):
        self.app = AppUpstream(world.app)

    async def request(self, method, target, headers, body):
        return LongAnswer() if method == "POST" else await self.app.request(method, target, headers, body)


class Reader(asyncssh.SSHClientSession):
    """Notes the sizes of packets, and opens its window as ``open_window`` says."""

    def __init__(self, open_window=None):
        self.open_window, self.sizes = open_window, []

    def connection_made(self, chan):
        self.channel = chan

    def session_started(self):
        self.channel._recv_window = 1 << 40  # it opens nothing by itself

    def data_received(self, data, datatype):
        self.sizes.append(len(data))
        for count in self.open_window(sum(self.sizes)):
            self.channel.send_packet(MSG_CHANNEL_WINDOW_ADJUST, UInt32(count))


async def sizes_of_packets(world, tmp_path, *, window, open_window):
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None}
    async with (
        ssh_before(world, upstream=Upstream(world)) as port,
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        channel, client = await ssh.create_session(
            lambda: Reader(open_window), "git-upload-pack 'ann/app'", encoding=None, window=window
        )
        await channel.wait_closed()
    return client.sizes


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_packets_are_full_although_the_window_opens_bit_by_bit(world, ann, tmp_path):
    opened = 0

    def open_window(taken):
        nonlocal opened
        while opened + OPENED <= taken:
            opened += OPENED
            yield OPENED

    sizes = await sizes_of_packets(world, tmp_path, window=ANSWER // 2, open_window=open_window)
    assert (sum(sizes), set(sizes)) == (ANSWER, {PACKET})


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_client_that_opens_its_window_when_it_is_shut_gets_everything(
    world, ann, tmp_path, monkeypatch
):
    monkeypatch.setattr(full_packets, "PATIENCE", 0.001)
    window = 100_000

    def open_window(taken):
        if taken % window == 0:
            yield window

    sizes = await sizes_of_packets(world, tmp_path, window=window, open_window=open_window)
    assert sum(sizes) == ANSWER
