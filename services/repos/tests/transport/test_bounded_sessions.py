"""Memory that a client can use in the SSH server by session requests, which asyncssh would store."""

import tracemalloc

import asyncssh
import pytest

from ingot_ssh.patches.bounded_sessions import Environment

from ..ssh_world import Key, ssh_before

VARIABLES, VALUE = 100, bytes(30_000)
REQUESTS = 1_000
FEW_BYTES = 1_000_000
"""A third of what the variables have, and less than as many requests would take."""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_variables_signals_breaks_and_sizes_fill_no_memory_and_git_goes_on(world, ann, tmp_path):
    await ann.create("app")
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    variables = {b"GIT_PROTOCOL": b"version=2"} | {b"V%d" % number: VALUE for number in range(VARIABLES)}
    async with (
        ssh_before(world) as port,
        asyncssh.connect("127.0.0.1", port, config=None, **login) as connection,
    ):
        assert (await connection.run("git-upload-pack 'ann/app'", input=b"0000")).exit_status == 0
        tracemalloc.start()
        try:
            process = await connection.create_process("git-upload-pack 'ann/app'", env=variables)
            assert (await process.stdout.readuntil(b"0000")).startswith(b"000eversion 2\n")
            with_variables, _ = tracemalloc.get_traced_memory()
            for number in range(REQUESTS):
                process.send_signal("TERM")
                process.channel.send_break(number)
                process.change_terminal_size(80, number)
            process.stdin.write(b"0014command=ls-refs\n0000")
            assert await process.stdout.readuntil(b"0000") == b"0000"
            with_requests, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        process.stdin.write(b"0000")
        assert (await process.wait()).exit_status == 0
    assert with_variables < FEW_BYTES
    assert with_requests < FEW_BYTES


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (b"version=2", {b"GIT_PROTOCOL": b"version=2"}),
        (b"version=2:object-format=sha1", {b"GIT_PROTOCOL": b"version=2:object-format=sha1"}),
        (b"version=2\r\ncontent-length: 0\r\n\r\nGET / HTTP/1.1", {}),
        (b"version=2\n", {}),
        (b"version=2" * 30, {}),
    ],
)
def test_what_a_client_says_of_protocols_is_fit_for_a_header(sent, stored):
    environment = Environment()
    environment[b"GIT_PROTOCOL"] = sent
    environment[b"PATH"] = b"/"
    assert environment == stored
