"""Packets that open the window of a client, taken together by the SSH server; and OpenSSH with new keys in large transfers."""

import asyncio
import contextlib
import os

import asyncssh
import pytest
from asyncssh.constants import MSG_CHANNEL_WINDOW_ADJUST
from asyncssh.packet import UInt32

from ingot_repos.ssh import cheap_ciphers, window_adjustments, write_limits
from ingot_repos.ssh.ignored_packets import leave_out_ignored_packets

from .ssh_world import Client, Key, ssh_before
from .test_full_packets import ANSWER, PACKET, Reader, Upstream
from .world import commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
OPENED = 4096


class Sender(Reader):
    """Opens its window for what it has got by many packets in one write."""

    def data_received(self, data, datatype):
        self.sizes.append(len(data))
        connection, packets = self.channel.get_connection(), []
        connection._send = packets.append
        for _ in range(len(data) // OPENED):
            self.channel.send_packet(MSG_CHANNEL_WINDOW_ADJUST, UInt32(OPENED))
        del connection._send
        connection._send(b"".join(packets))


@contextlib.asynccontextmanager
async def in_pieces(port):
    """A port that passes on to ``port``, what clients send in pieces of all sizes."""

    async def serve(reader, writer):
        answer, request = await asyncio.open_connection("127.0.0.1", port)

        async def copy(source, target, sizes):
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65536):
                    while data:
                        size = next(sizes)
                        target.write(data[:size])
                        await target.drain()
                        await asyncio.sleep(0)
                        data = data[size:]
            target.close()

        pieces = (1 + number % 97 for number in range(10**9))
        whole = (65536 for _ in range(10**9))
        await asyncio.gather(copy(reader, request, pieces), copy(answer, writer, whole))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def taken(monkeypatch):
    """How often channels were filled, and how many bytes of packets were taken together for that."""
    take, noted = window_adjustments._take, []

    def note(connection):
        before = len(connection._inpbuf)
        channels = take(connection)
        if channels:
            noted.append(before - len(connection._inpbuf))
        return channels

    monkeypatch.setattr(window_adjustments, "_take", note)
    return noted


@pytest.fixture
def login(world, tmp_path):
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    return {"username": "git", "client_keys": [str(key.file)], "known_hosts": None}


@pytest.mark.parametrize("is_in_pieces", [False, True])
async def test_packets_behind_each_other_fill_the_window_once(world, ann, login, taken, is_in_pieces):
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(ssh_before(world, upstream=Upstream(world)))
        if is_in_pieces:
            port = await stack.enter_async_context(in_pieces(port))
        ssh = await stack.enter_async_context(asyncssh.connect("127.0.0.1", port, **login))
        leave_out_ignored_packets(ssh)
        channel, client = await ssh.create_session(
            Sender, "git-upload-pack 'ann/app'", encoding=None, window=ANSWER // 2
        )
        await channel.wait_closed()
        assert (await ssh.run()).stdout.startswith("Hi ann!")  # the next packets are read as ever
    assert (sum(client.sizes), set(client.sizes)) == (ANSWER, {PACKET})
    assert all(count % 36 == 0 for count in taken)
    assert is_in_pieces or max(taken) > 36


class Trickler(Reader):
    """Opens its window for what it has got by a packet in each turn of the loop."""

    def data_received(self, data, datatype):
        self.sizes.append(len(data))
        self.open_bit_by_bit(len(data) // OPENED)

    def open_bit_by_bit(self, left):
        self.channel.send_packet(MSG_CHANNEL_WINDOW_ADJUST, UInt32(OPENED))
        if left > 1:
            asyncio.get_running_loop().call_soon(self.open_bit_by_bit, left - 1)


async def test_packets_of_many_turns_are_read_together_while_the_window_is_full(
    world, ann, login, taken, monkeypatch
):
    monkeypatch.setattr(write_limits, "WIDE", ANSWER // 2)
    monkeypatch.setattr(write_limits, "REST", 0.2)
    async with (
        ssh_before(world, upstream=Upstream(world)) as port,
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        leave_out_ignored_packets(ssh)
        channel, client = await ssh.create_session(
            Trickler, "git-upload-pack 'ann/app'", encoding=None, window=ANSWER // 2
        )
        await channel.wait_closed()
    assert sum(client.sizes) == ANSWER
    sent_in_a_turn = ANSWER // 2 // PACKET
    assert max(taken) > 3 * sent_in_a_turn * 36


@pytest.mark.parametrize(("channel", "reason"), [(99, "Invalid channel number 99"), (None, "MAC")])
async def test_what_is_wrong_with_such_a_packet_ends_the_connection(
    world, ann, login, taken, channel, reason
):
    end = asyncio.get_running_loop().create_future()

    class Ended(asyncssh.SSHClient):
        def connection_lost(self, exc):
            end.set_result(str(exc))

    async with (
        ssh_before(world, upstream=Upstream(world)) as port,
        asyncssh.connect("127.0.0.1", port, client_factory=Ended, **login) as ssh,
    ):
        leave_out_ignored_packets(ssh)
        packets = []
        ssh._send = packets.append
        ssh.send_packet(MSG_CHANNEL_WINDOW_ADJUST, UInt32(channel or 0), UInt32(1))
        del ssh._send
        packet = bytearray(packets[-1])
        if channel is None:
            packet[-1] ^= 1
        ssh._send(bytes(packet))
        assert reason in await end
    assert taken == []


async def test_openssh_gets_and_sends_much_while_the_keys_change(
    world, ann, login, questions, tmp_path, monkeypatch
):
    begin, ciphers = cheap_ciphers.Gcm.__init__, []

    def note(self, cipher):
        ciphers.append(self)
        begin(self, cipher)

    monkeypatch.setattr(cheap_ciphers.Gcm, "__init__", note)
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "large.txt", os.urandom(9_000_000).hex())
    key = Key(tmp_path, "other")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "other laptop")
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key, "-o", "RekeyLimit=1M")
        for command in (
            ("push", "-q", client.url("ann/app"), "master"),
            ("clone", "-q", client.url("ann/app"), "copy"),
        ):
            ciphers.clear()
            code, said = await client.git(*command, cwd=work)
            assert code == 0, said
            assert len(ciphers) > 4  # two for each agreement on keys
    await git("fsck", "--full", cwd=work / "copy")
    assert (work / "copy" / "large.txt").read_bytes() == (work / "large.txt").read_bytes()
