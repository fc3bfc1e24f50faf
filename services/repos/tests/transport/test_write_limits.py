"""Clients of SSH that read nothing or stall a key exchange: their buffers are bounded, and they can go on."""

import asyncio
import contextlib
import inspect
import socket

import asyncssh
import pytest
from asyncssh.constants import MSG_GLOBAL_REQUEST, MSG_KEXINIT, MSG_REQUEST_FAILURE
from asyncssh.packet import Boolean, String

from ingot_ssh.patches import write_limits
from ingot_ssh.patches.bounded_sessions import LEAST_PACKET
from ingot_ssh.patches.write_limits import MOST_UNSENT
from ingot_ssh.upstreams import AppUpstream

from ..ssh_world import Key, served

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
PART, PARTS = 128 * 1024, 192
ANSWER = PART * PARTS
"""More bytes than sockets buffer while the client reads nothing."""
WINDOW = 4 * ANSWER
ANSWERS = 512 * 1024
"""More bytes than the answers to what the server reads at once, which is half of that."""
COMMAND = "git-upload-pack 'ann/app'"
PATIENCE = 60


class LongAnswer:
    """A long response of git, which begins after ``may_begin``."""

    status = 200

    def __init__(self, may_begin):
        self.may_begin, self.left = may_begin, PARTS

    async def read_part(self):
        await self.may_begin.wait()
        self.left -= 1
        return bytes(PART), self.left > 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass


class Upstream:
    """Answers each session in the same way; remembers the answers."""

    def __init__(self, world):
        self.app, self.answers = AppUpstream(world.app), []
        self.may_begin = asyncio.Event()

    async def request(self, method, target, headers, body):
        if method != "POST":
            return await self.app.request(method, target, headers, body)
        self.answers.append(LongAnswer(self.may_begin))
        return self.answers[-1]


class Reader(asyncssh.SSHClientSession):
    """Counts what it gets."""

    def __init__(self):
        self.size = 0

    def data_received(self, data, datatype):
        self.size += len(data)


@pytest.fixture
def login(world, tmp_path):
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    return {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "config": None}


@pytest.fixture
async def upstream(world, ann):
    return Upstream(world)


async def begin(ssh, **options):
    """A session that the client lets send all: its channel and its reader."""
    return await ssh.create_session(Reader, COMMAND, encoding=None, window=WINDOW, **options)


async def whole_answer(port, login):
    """Return the whole response, as another client reads it."""
    async with asyncssh.connect("127.0.0.1", port, **login) as ssh:
        channel, reader = await begin(ssh)
        await channel.wait_closed()
    assert reader.size == ANSWER


def of_server(server, ssh):
    """The server's side of a connection."""
    name = ssh.get_extra_info("sockname")
    sides = [one._connection for one in server.connections]
    return next(one for one in sides if one.get_extra_info("peername") == name)


async def until(happens):
    while not happens():
        await asyncio.sleep(0.001)


async def test_a_client_that_reads_nothing_is_waited_for_in_bounded_memory(world, login, upstream):
    async with (
        asyncio.timeout(PATIENCE),
        served(world, upstream=upstream) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        side = of_server(server, ssh)
        sessions = [await begin(ssh) for _ in range(2)]
        ssh._transport.pause_reading()
        upstream.may_begin.set()
        await until(lambda: not side._transport.is_reading())
        await whole_answer(port, login)
        unsent = side._transport.get_write_buffer_size()
        unsent += sum(channel.get_write_buffer_size() for channel in side._channels.values())
        assert unsent < MOST_UNSENT + 4 * PART
        assert all(answer.left for answer in upstream.answers[:2])
        ssh._transport.resume_reading()
        for channel, reader in sessions:
            await channel.wait_closed()
            assert reader.size == ANSWER


async def test_a_server_that_ends_waits_until_a_client_has_read_all(world, login, upstream, monkeypatch):
    """The output of git fits into buffers, and git has ended long ago."""
    monkeypatch.setitem(globals(), "PARTS", 4)
    async with asyncio.timeout(PATIENCE), contextlib.AsyncExitStack() as server:
        _, port = await server.enter_async_context(served(world, upstream=upstream, drain_seconds=PATIENCE))
        async with asyncssh.connect("127.0.0.1", port, **login) as ssh:
            channel, reader = await begin(ssh)
            ssh._transport.pause_reading()
            upstream.may_begin.set()
            await until(lambda: upstream.answers and not upstream.answers[0].left)
            ending = asyncio.create_task(server.aclose())
            for _ in range(100):
                await asyncio.sleep(0)
            assert not ending.done()
            ssh._transport.resume_reading()
            await ending
            assert reader.size == 4 * PART
            await channel.wait_closed()


async def test_a_client_that_reads_no_answers_is_not_read_either(world, login, upstream, monkeypatch):
    monkeypatch.setattr(write_limits, "MOST_UNSENT", 4096)
    async with (
        asyncio.timeout(PATIENCE),
        served(world, upstream=upstream) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        side = of_server(server, ssh)
        side._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        ssh._transport.pause_reading()
        ssh._packet_handlers = {**ssh._packet_handlers, MSG_REQUEST_FAILURE: lambda *_: True}
        while side._transport.is_reading():
            for _ in range(100):
                ssh.send_packet(MSG_GLOBAL_REQUEST, String("x@ingot"), Boolean(True))
            await asyncio.sleep(0)
        assert side._transport.get_write_buffer_size() < ANSWERS
        ssh._transport.resume_reading()
        await until(side._transport.is_reading)
        assert (await ssh.run()).stdout.startswith("Hi ann!")


class StalledKeys:
    """An agreement on keys that a client has begun, and does not go on with until `end`."""

    def __init__(self, ssh):
        self._ssh, handlers, self._pending = ssh, ssh._packet_handlers, None

        def put_off(*packet):
            ssh._packet_handlers = handlers
            self._pending = packet
            return True

        self._process = handlers[MSG_KEXINIT]
        ssh._packet_handlers = {**handlers, MSG_KEXINIT: put_off}
        ssh._send_kexinit()
        ssh._kexinit_sent = True

    async def begun(self):
        await until(lambda: self._pending is not None)

    @contextlib.contextmanager
    def sent_all_the_same(self):
        """Let the client send inside the block without waiting for the keys."""
        self._ssh._kex_complete = True
        yield
        self._ssh._kex_complete = False

    async def end(self):
        result = self._process(*self._pending)
        if inspect.isawaitable(result):
            await result


async def test_a_client_that_holds_up_an_agreement_on_keys_fills_no_memory(world, login, upstream):
    async with (
        asyncio.timeout(PATIENCE),
        served(world, upstream=upstream) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        side = of_server(server, ssh)
        channel, reader = await begin(ssh)
        keys = StalledKeys(ssh)
        await keys.begun()
        upstream.may_begin.set()
        await whole_answer(port, login)
        assert (side._deferred_packets, reader.size) == ([], 0)
        assert upstream.answers[0].left > PARTS - 4
        await keys.end()
        await channel.wait_closed()
        assert reader.size == ANSWER


async def test_a_channel_that_is_closed_meanwhile_disturbs_no_other(world, login, upstream):
    async with (
        asyncio.timeout(PATIENCE),
        served(world, upstream=upstream) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        side = of_server(server, ssh)
        (closed, _), (channel, reader) = [await begin(ssh) for _ in range(2)]
        keys = StalledKeys(ssh)
        await keys.begun()
        upstream.may_begin.set()
        await until(lambda: all(one._send_paused for one in side._channels.values()))
        with keys.sent_all_the_same():
            closed.close()
        await until(lambda: len(side._channels) == 1)
        await keys.end()
        await channel.wait_closed()
        assert reader.size == ANSWER


async def test_a_client_that_goes_on_to_ask_meanwhile_is_cut_off(world, login, upstream, monkeypatch):
    monkeypatch.setattr(write_limits, "MOST_DEFERRED", 20)
    async with asyncio.timeout(PATIENCE), served(world, upstream=upstream) as (server, port):
        ssh = await asyncssh.connect("127.0.0.1", port, **login)
        keys = StalledKeys(ssh)
        await keys.begun()
        with keys.sent_all_the_same():
            for _ in range(21):
                ssh.send_packet(MSG_GLOBAL_REQUEST, String("x@ingot"), Boolean(True))
        await ssh.wait_closed()
        await until(lambda: not server.connections)


async def test_packets_have_a_least_size(world, login, upstream):
    async with (
        asyncio.timeout(PATIENCE),
        served(world, upstream=upstream) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as ssh,
    ):
        with pytest.raises(asyncssh.ChannelOpenError, match="must have room for 1024 bytes"):
            await begin(ssh, max_pktsize=LEAST_PACKET - 1)
        await until(lambda: not of_server(server, ssh)._channels)
        assert (await ssh.run(max_pktsize=LEAST_PACKET)).stdout.startswith("Hi ann!")
