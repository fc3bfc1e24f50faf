"""The SSH server before a world, and the real git with the real ssh as its clients."""

import asyncio
import os
import shlex
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh
import msgspec
import pytest

from ingot_chassis.security import ssh_keys
from ingot_chassis.security.principal import ServiceIdentity
from ingot_ssh.repos import Repos
from ingot_ssh.server import SshServer
from ingot_ssh.upstreams import AppUpstream, Upstream

from .world import REPOS_KEY, World


class Key:
    """A key of a client, in a file as ssh reads it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / f"key-{name}"
        key = asyncssh.generate_private_key("ssh-ed25519")
        self.file.write_bytes(key.export_private_key())
        self.file.chmod(0o600)
        self.public = ssh_keys.read(key.export_public_key().decode())


class Client:
    """A client with ssh and git."""

    def __init__(self, folder: Path, port: int, key: Key, *options: str) -> None:
        self.folder, self.port, self.key, self.options = folder, port, key, options

    def ssh(self, *options: str) -> list[str]:
        """The command line of ssh, without what it reads by itself."""
        if shutil.which("ssh") is None:
            pytest.skip("there is no ssh here")
        hosts = self.folder / "known_hosts"
        return [
            *(
                "ssh",
                "-F",
                "none",
                "-i",
                str(self.key.file),
                "-p",
                str(self.port),
                "-o",
                "IdentitiesOnly=yes",
            ),
            *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new"),
            *("-o", f"UserKnownHostsFile={hosts}", "-o", "LogLevel=ERROR"),
            *self.options,
            *options,
        ]

    async def git(self, *args: str, cwd: Path, protocol: int = 2) -> tuple[int, str]:
        """Exit code, and all that git prints."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_SSH_COMMAND": shlex.join(self.ssh()),
            "GIT_SSH_VARIANT": "ssh",
        }
        return await _run("git", "-c", f"protocol.version={protocol}", *args, cwd=cwd, env=environment)

    async def run(self, *args: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
        """A command over ssh: exit code and output."""
        return await _run(
            *self.ssh(*options), "git@127.0.0.1", *args, cwd=self.folder, env={"PATH": os.defpath}
        )

    def url(self, path: str) -> str:
        return f"ssh://git@127.0.0.1:{self.port}/{path}"


async def _run(*command: str, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def ssh_server(
    world: World,
    *,
    upstream: Upstream | None = None,
    clock: Callable[[], float] = time.monotonic,
    **settings: Any,
) -> SshServer:
    changed = msgspec.structs.replace(world.settings, **{"drain_seconds": 0} | settings)
    repos = Repos(upstream or AppUpstream(world.app), ServiceIdentity("repos", REPOS_KEY))
    return SshServer(repos, changed, clock)


@asynccontextmanager
async def ssh_before(world: World, **options: Any) -> AsyncIterator[int]:
    """Serve SSH for a world; gives the port."""
    async with served(world, **options) as (_, port):
        yield port


@asynccontextmanager
async def served(world: World, **options: Any) -> AsyncIterator[tuple[SshServer, int]]:
    """The same; gives also the server."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = ssh_server(world, **options)
    async with server.served(listener):
        yield server, listener.getsockname()[1]
