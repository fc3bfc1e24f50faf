"""The SSH server: sign-in by public key, and the commands of git. No shell, forwarding, agent or terminal.

A key is looked up when a client signs in. repos looks it up again for each session and decides its access.
"""

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import asyncssh
import structlog
from prometheus_client import Gauge

from ingot_chassis.errors import ApiError, Unavailable
from ingot_chassis.telemetry import set_request_id
from ingot_ssh.commands import Command, parse
from ingot_ssh.limits import Counted, CountedAddresses
from ingot_ssh.patches.bounded_sessions import BoundedSession, bounded_session
from ingot_ssh.patches.ignored_packets import leave_out_ignored_packets
from ingot_ssh.patches.write_limits import WriteLimit
from ingot_ssh.repos import Refused, Repos
from ingot_ssh.sessions import KeyHolder

log = structlog.get_logger()
SESSIONS = Gauge("ingot_ssh_sessions", "Sessions of git over SSH that run now")

AWAY = "the service does not answer; try again later"
MOST_KEYS = 12
"""Keys that a client may try in one connection."""
MOST_CHANNELS = 20
"""Open channels of one connection, with or without a command. Each buffers up to one window of data."""
HANDSHAKES_SHARE = 2
"""One address gets 1 / HANDSHAKES_SHARE of the handshakes of a process, to leave room for others."""
LEAST_BYTES = 16 * 1024
"""Bytes that a client must send within the idle timeout.

One byte a minute does not keep a connection open.
"""
WINDOW = 1024 * 1024
"""Bytes that a client may send before it is told that some were taken."""
PART = 4 * WINDOW
"""Bytes that are taken at once: everything that waits in a channel.

When asyncssh resumes reading, it lets the client send another window, even if data still waits in the
channel. Smaller parts would let the data of a push pile up if the client sends faster than git reads.
"""
RETRY_SECONDS = 1.0
KEEPALIVE_SECONDS = 30
ENCRYPTION = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes256-ctr",
    "aes192-ctr",
    "aes128-ctr",
)


class ServerSettings(Protocol):
    """Settings of the server. repos declares them, with their limits and units."""

    ssh_user: str
    ssh_login_seconds: float
    ssh_idle_seconds: float
    ssh_handshakes: int
    ssh_connections_per_address: int
    ssh_sessions_per_key: int
    drain_seconds: int
    handover_seconds: float
    handover_limit_seconds: float


class SshServer:
    """The state that all connections of the SSH server share."""

    def __init__(
        self, repos: Repos, settings: ServerSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.repos, self.settings, self.clock = repos, settings, clock
        self.addresses = CountedAddresses(settings.ssh_connections_per_address)
        self.handshakes = Counted(settings.ssh_handshakes)
        # Behind a balancer that hides the addresses all clients have the same one.
        shares = settings.ssh_connections_per_address > 0
        share = -(-settings.ssh_handshakes // HANDSHAKES_SHARE) if shares else 0
        self.handshakes_of_address = CountedAddresses(share)
        self.keys = Counted(settings.ssh_sessions_per_key)
        self.connections = set[Connection]()
        self._running = set[asyncio.Task[None]]()
        self._last_session = 0.0

    @asynccontextmanager
    async def served(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve while the block runs. At its end, running sessions get time to drain."""
        beginning = asyncio.create_task(self._listen(listener), name="SSH server")
        try:
            yield
        finally:
            beginning.cancel()
            acceptor = (await asyncio.gather(beginning, return_exceptions=True))[0]
            if isinstance(acceptor, asyncssh.SSHAcceptor):
                acceptor.close()
            listener.close()
            if self._running:
                await asyncio.wait(self._running, timeout=self.settings.drain_seconds)
            for task in self._running:
                task.cancel()

    async def hand_over(self) -> None:
        """Wait until no session has begun for ``handover_seconds``, at most ``handover_limit_seconds``.

        New sessions are still served, as in `http.drain` for requests.
        """
        clock, settings = asyncio.get_running_loop().time, self.settings
        limit = clock() + settings.handover_limit_seconds
        self._last_session = clock()
        while (left := min(self._last_session + settings.handover_seconds, limit) - clock()) > 0:
            await asyncio.sleep(left)

    async def _listen(self, listener: socket.socket) -> asyncssh.SSHAcceptor:
        """Accept connections as soon as repos has returned the host keys."""
        keys: list[str] = []
        while not keys:
            try:
                keys = await self.repos.host_keys()
            except (OSError, ApiError) as error:
                log.warning("no host keys for SSH yet", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
        asyncssh.set_log_level("ERROR")
        acceptor = await asyncssh.listen(
            sock=listener,
            server_factory=lambda: Connection(self),
            server_host_keys=[asyncssh.import_private_key(key) for key in keys],
            server_version="Ingot",
            encoding=None,
            login_timeout=0,  # see Connection.check_time
            keepalive_interval=KEEPALIVE_SECONDS,
            window=WINDOW,
            encryption_algs=ENCRYPTION,
            compression_algs=None,
            public_key_auth=True,
            password_auth=False,
            kbdint_auth=False,
            host_based_auth=False,
            gss_host=None,
            allow_pty=False,
            line_editor=False,
            x11_forwarding=False,
            agent_forwarding=False,
        )
        log.info("listening for SSH", address=listener.getsockname())
        return acceptor

    def run(self, session: "Session") -> "asyncio.Task[None]":
        """Start a session and keep track of it until it ends."""
        self._last_session = asyncio.get_running_loop().time()
        task = asyncio.create_task(session.run(), name="SSH session")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


class Connection(asyncssh.SSHServer):
    """A connection of one client: it signs in with a key, then opens sessions."""

    def __init__(self, server: SshServer) -> None:
        self.server = server
        self.address, self.fingerprint = "", ""
        self._last_use, self.heard = server.clock(), 0
        self.holder: KeyHolder | None = None
        self._holders: dict[str, KeyHolder | None] = {}
        self._acquired = list[tuple[Counted, str]]()
        self._check: asyncio.TimerHandle | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        leave_out_ignored_packets(conn)
        self.write_limit = WriteLimit(conn)
        server, address = self.server, str(conn.get_extra_info("peername", ("",))[0])
        self.address = address
        handshakes = [(server.handshakes, ""), (server.handshakes_of_address, address)]
        for counted, holder in ((server.addresses, address), *handshakes):
            if not counted.acquire(holder):
                log.info("SSH connection refused: too many", address=address)
                conn.abort()
                return
            self._acquired.append((counted, holder))
        server.connections.add(self)
        self.check_time()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name is asyncssh's
        self._release(0)
        self.server.connections.discard(self)
        if self._check is not None:
            self._check.cancel()

    def auth_completed(self) -> None:
        self._release(1)
        self.touch()
        self.check_time()

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """True if the key may sign in.

        Called for each offered key, and again after the client has proved that it owns the key.
        """
        fingerprint = key.get_fingerprint()
        if username != self.server.settings.ssh_user:
            return False
        if fingerprint not in self._holders:
            if len(self._holders) == MOST_KEYS:
                self._connection.disconnect(asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "too many keys")
                return False
            self._holders[fingerprint] = await self._holder(fingerprint)
        self.fingerprint, self.holder = fingerprint, self._holders[fingerprint]
        return self.holder is not None

    async def _holder(self, fingerprint: str) -> KeyHolder | None:
        """Return the owner of the key; None for an unknown or rejected key.

        Raises ServiceNotAvailable if the key cannot be looked up. The error closes the connection.
        """
        try:
            return await self.server.repos.holder(fingerprint, self.address)
        except (OSError, Unavailable) as error:
            log.warning("keys cannot be looked up", error=str(error))
            # The key may be valid: end the connection instead of refusing the key.
            raise asyncssh.ServiceNotAvailable(AWAY) from error
        except ApiError as error:
            log.info("SSH key refused", fingerprint=fingerprint, error=error.message)
        return None

    def session_requested(self) -> "tuple[asyncssh.SSHServerChannel[bytes], Awaitable[BoundedSession]]":
        connection: Any = self._connection  # asyncssh has no public name for its channels
        if len(connection._channels) >= MOST_CHANNELS:  # noqa: SLF001
            reason = "too many sessions in this connection"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, reason)
        return bounded_session(self._connection, self._run)

    async def _run(
        self,
        stdin: "asyncssh.SSHReader[bytes]",
        stdout: "asyncssh.SSHWriter[bytes]",
        stderr: "asyncssh.SSHWriter[bytes]",
    ) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self.server.run(Session(self, stdin, stdout, stderr))

    def touch(self) -> None:
        """Record activity: the connection is not idle."""
        self._last_use, self.heard = self.server.clock(), 0

    def hear(self, size: int) -> None:
        """Count received bytes. LEAST_BYTES of them count as activity."""
        self.heard += size
        if self.heard >= LEAST_BYTES:
            self.touch()

    def check_time(self) -> None:
        """Close the connection if sign-in took too long or it is idle. Else schedule the next check."""
        settings, shakes_hands = self.server.settings, len(self._acquired) > 1
        seconds = settings.ssh_login_seconds if shakes_hands else settings.ssh_idle_seconds
        left = self._last_use + seconds - self.server.clock()
        if self._check is not None:
            self._check.cancel()
        if left <= 0:
            log.info("SSH connection closed: idle", address=self.address, signed_in=not shakes_hands)
            self._connection.abort()
            return
        self._check = asyncio.get_running_loop().call_later(left, self.check_time)

    def _release(self, left: int) -> None:
        """Release the counters except the first ``left``.

        The first counter counts connections per address.
        """
        while len(self._acquired) > left:
            counted, holder = self._acquired.pop()
            counted.release(holder)


class Session:
    """A session of a client, which runs one command."""

    def __init__(
        self,
        connection: Connection,
        stdin: "asyncssh.SSHReader[bytes]",
        stdout: "asyncssh.SSHWriter[bytes]",
        stderr: "asyncssh.SSHWriter[bytes]",
    ) -> None:
        self._connection, self._server = connection, connection.server
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._channel: asyncssh.SSHServerChannel[bytes] = stdout.channel  # type: ignore[assignment]

    async def run(self) -> None:
        """Run the command and send its exit status. The session ends with the channel."""
        set_request_id(secrets.token_hex(16))
        self._connection.write_limit.apply_to(self._channel)
        working = asyncio.create_task(self._status(), name="a command over SSH")
        closing = asyncio.create_task(self._channel.wait_closed(), name="the end of an SSH channel")
        try:
            await asyncio.wait((working, closing), return_when=asyncio.FIRST_COMPLETED)
            if working.done() and not closing.done():
                self._channel.exit(working.result())
                await closing  # the client closes it, too, when it has everything: the process may end then
        except (OSError, asyncssh.Error) as error:
            log.info("SSH session ended early", error=repr(error))
        finally:
            working.cancel()
            closing.cancel()
            await asyncio.gather(working, closing, return_exceptions=True)
            self._channel.close()

    async def _status(self) -> int:
        """Run the command and return its exit status."""
        text = self._channel.get_command()
        if self._channel.get_subsystem() is not None:
            return self._refuse("there are no subsystems here")
        holder = self._connection.holder
        if text is None and holder is not None:
            greeting = (
                f"Hi {holder.name}! The key {holder.title!r} is accepted, but there is no shell here.\r\n"
            )
            self._stdout.write(greeting.encode())
            return 0
        command = parse(text or "")
        if command is None:
            return self._refuse("only the commands of git run here")
        fingerprint = self._connection.fingerprint
        if not self._server.keys.acquire(fingerprint):
            return self._refuse("too many sessions with this key; try again later")
        try:
            with SESSIONS.track_inprogress():
                return await self._run(command, fingerprint)
        finally:
            self._server.keys.release(fingerprint)

    async def _run(self, command: Command, fingerprint: str) -> int:
        started, sent = time.monotonic(), 0
        environment = self._channel.get_environment_bytes()
        try:
            answer = await self._server.repos.begin(
                command,
                fingerprint=fingerprint,
                address=self._connection.address,
                git_protocol=environment.get(b"GIT_PROTOCOL", b"").decode(),
                body=self._said(),
            )
        except Refused as refusal:
            return self._refuse(str(refusal))
        except ConnectionError:
            return self._refuse(AWAY)
        async with answer:
            more = True
            while more:
                part, more = await answer.read_part()
                self._connection.touch()
                self._stdout.write(part)
                await self._stdout.drain()
                sent += len(part)
        log.info(
            "git over SSH",
            program=command.program,
            repository=f"{command.owner}/{command.name}",
            seconds=round(time.monotonic() - started, 3),
            sent=sent,
        )
        return 0

    async def _said(self) -> AsyncIterator[bytes]:
        """Yield the client's input as it arrives. Raises ConnectionError."""
        try:
            while chunk := await self._stdin.read(PART):
                self._connection.hear(len(chunk))
                yield chunk
        except asyncssh.Error as error:
            raise ConnectionResetError("the client disconnected") from error

    def _refuse(self, text: str) -> int:
        self._stderr.write(f"ingot: {text}\n".encode())
        return 1
