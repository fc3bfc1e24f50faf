"""Slow and greedy clients of SSH: limits bound their number and their time. The clock is the test's own."""

import asyncio
import contextlib
from contextlib import asynccontextmanager

import asyncssh
import pytest

from ingot_ssh.limits import Counted, CountedAddresses
from ingot_ssh.server import LEAST_BYTES, MOST_CHANNELS

from ..ssh_world import Key, served

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
MINUTE = 60


class Clock:
    """It stands still until a test moves it."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def settings():
    return {"git_concurrency_per_caller": 0}  # sessions are to be bounded by SSH alone


@pytest.fixture
async def login(world, ann, tmp_path):
    """Return the login of a user with a key, who owns ann/app."""
    await ann.create("app")
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    return {
        "username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None,
        "config": None,
    }  # fmt: skip


async def until(happens):
    async with asyncio.timeout(20):
        while not happens():
            await asyncio.sleep(0.001)


def pass_time(server, clock, seconds):
    """The clock goes on, and the timers of all connections look at it."""
    clock.seconds += seconds
    for connection in list(server.connections):
        connection.check_time()


def sessions_of_git():
    return [task for task in asyncio.all_tasks() if task.get_name() == "a request of the SSH server"]


def command(number):
    """Of a push: a line that creates a branch."""
    line = f"{'0' * 40} {'1' * 40} refs/heads/b{number}\0report-status"
    return f"{len(line) + 4:04x}{line}".encode()


@asynccontextmanager
async def pushing(port, login):
    """Begin a push, and read the advertised refs."""
    async with asyncssh.connect("127.0.0.1", port, **login) as connection:
        process = await connection.create_process("git-receive-pack 'ann/app'")
        await process.stdout.read(4)
        yield connection, process


async def test_a_handshake_in_which_a_byte_comes_now_and_then_ends_in_time(world, login):
    clock = Clock()
    async with served(world, clock=clock, ssh_login_seconds=30, ssh_handshakes=1) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await reader.readline()).startswith(b"SSH-2.0-")
        for letter in b"SSH-2":
            writer.write(bytes([letter]))
            await writer.drain()
            pass_time(server, clock, 5)
        assert len(server.connections) == 1
        pass_time(server, clock, 5)
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        await until(lambda: not server.connections)
        writer.close()
        async with asyncssh.connect("127.0.0.1", port, **login):  # there is room again
            pass


async def test_slow_handshakes_of_one_address_leave_room_for_others(world, login):
    async with served(world, ssh_handshakes=4) as (server, port):
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, _ in slow:
            assert await reader.readline()
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        await until(lambda: len(server.connections) == 2)
        async with asyncssh.connect("127.0.0.1", port, local_addr=("127.0.0.2", 0), **login):
            assert len(server.connections) == 3
        for _, writer in slow:
            writer.close()


async def test_where_a_balancer_hides_the_addresses_all_handshakes_are_of_one(world):
    async with served(world, ssh_handshakes=8, ssh_connections_per_address=0) as (_, port):
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        for reader, writer in slow:
            assert await reader.readline()
            writer.close()


async def test_a_push_of_a_byte_a_minute_is_ended_and_holds_nothing(world, login):
    clock = Clock()
    async with (
        served(world, clock=clock, ssh_idle_seconds=10 * MINUTE, ssh_sessions_per_key=1) as (server, port),
        pushing(port, login) as (connection, process),
    ):
        (of_server,) = server.connections
        for minute in range(10):
            assert len(server.connections) == 1, f"ended after {minute} minutes"
            before = of_server.heard
            process.stdin.write(command(1)[minute : minute + 1])
            await until(lambda: of_server.heard > before)  # noqa: B023 - it is awaited at once
            pass_time(server, clock, MINUTE)
        await connection.wait_closed()
        await until(lambda: not server.connections and not sessions_of_git())
        async with pushing(port, login) as (_, again):  # the only session of the key
            again.stdin.write(b"0000")
            assert (await again.wait()).exit_status == 0
    assert await world.rows("push") == []


async def test_a_push_that_goes_on_stays(world, login):
    clock = Clock()
    async with (
        served(world, clock=clock, ssh_idle_seconds=10 * MINUTE) as (server, port),
        pushing(port, login) as (_, process),
    ):
        (of_server,) = server.connections
        commands = b"".join(command(number) for number in range(1000))
        part = LEAST_BYTES // 4
        for number in range(1, 12):
            process.stdin.write(commands[(number - 1) * part : number * part])
            await until(lambda: of_server.heard == number % 4 * part)  # noqa: B023 - it is awaited at once
            pass_time(server, clock, 2 * MINUTE)
        assert len(server.connections) == 1


async def test_a_connection_without_a_command_ends(world, login):
    clock = Clock()
    async with (
        served(world, clock=clock, ssh_idle_seconds=10 * MINUTE) as (server, port),
        asyncssh.connect("127.0.0.1", port, **login) as connection,
    ):
        pass_time(server, clock, 9 * MINUTE)
        assert len(server.connections) == 1
        pass_time(server, clock, MINUTE)
        await connection.wait_closed()


async def test_a_connection_has_a_bounded_number_of_channels(world, login):
    async with (
        served(world, ssh_sessions_per_key=0) as (_, port),
        asyncssh.connect("127.0.0.1", port, **login) as connection,
    ):
        running = [
            await connection.create_process("git-receive-pack 'ann/app'") for _ in range(MOST_CHANNELS)
        ]
        for process in running:
            await process.stdout.read(4)
        with pytest.raises(asyncssh.ChannelOpenError, match="too many sessions in this connection"):
            await connection.create_process("git-receive-pack 'ann/app'")
        running[0].stdin.write(b"0000")
        await running[0].wait()
        assert (await connection.run("git-receive-pack 'ann/app'", input=b"0000")).exit_status == 0


def test_what_is_counted_is_counted_by_holder(database_backend):
    counted = Counted(1)
    assert [counted.acquire(one) for one in ("a", "a", "b")] == [True, False, True]
    counted.release("a")
    assert counted.acquire("a")
    assert all(Counted(0).acquire("a") for _ in range(3))


def test_the_addresses_of_one_customer_are_one(database_backend):
    counted = CountedAddresses(1)
    addresses = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1", "192.0.2.1", "192.0.2.2"]
    assert [counted.acquire(one) for one in addresses] == [True, False, True, True, True]
    counted.release(addresses[1])
    assert counted.acquire(addresses[0])
