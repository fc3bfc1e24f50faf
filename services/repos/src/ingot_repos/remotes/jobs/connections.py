"""Connections of jobs to remotes, opened through the proxy and watched during a run."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_chassis.settings import SettingsError
from ingot_git.process.errors import GitError, StorageFull
from ingot_git.refs.refs import BRANCHES
from ingot_git.remote.remote import FetchProgress, Remote, RemoteFailed, RemoteRefs
from ingot_remotes.connections.socks_proxy import SocksProxy, Ticket
from ingot_repos.catalog.rules.names import LONGEST_BRANCH
from ingot_repos.remotes.rules import credentials
from ingot_repos.remotes.rules.urls import PORTS
from ingot_repos.settings import Settings

WATCH_SECONDS = 1.0
_T = TypeVar("_T")


@dataclass(frozen=True)
class RemoteConnection:
    """A connection to a remote. ``ticket`` is None for a local folder."""

    remote: Remote
    progress: FetchProgress
    ticket: Ticket | None

    @property
    def active_at(self) -> float:
        return max(self.progress.at, self.ticket.at if self.ticket else 0.0)

    @property
    def received(self) -> int:
        return self.progress.received + (self.ticket.received if self.ticket else 0)


class RemoteAddress(Protocol):
    """A row with the address of a remote and sealed credentials."""

    @property
    def url(self) -> str: ...
    @property
    def sealed(self) -> bytes | None: ...


class RemoteConnector:
    """A factory of connections with the stored credentials and the limits of the settings."""

    def __init__(self, seal: Seal, proxy: SocksProxy, settings: Settings) -> None:
        self._seal, self._proxy, self._settings = seal, proxy, settings

    @asynccontextmanager
    async def open(self, row: RemoteAddress) -> AsyncIterator[RemoteConnection]:
        """Yield a connection to the remote of ``row`` for one run. Raises RemoteFailed."""
        try:
            login = credentials.open_credentials(self._seal, row.sealed)
        except Unreadable:
            raise RemoteFailed("secrets") from None
        progress = FetchProgress()
        if row.url.startswith("/"):
            yield RemoteConnection(Remote(row.url, "file"), progress, None)
            return
        parts = urlsplit(row.url)
        scheme: Any = parts.scheme
        port = parts.port or PORTS[scheme]
        async with self._proxy.ticket(parts.hostname or "", port, self._settings.max_remote_bytes) as (
            ticket,
            proxy_port,
        ):
            settings = self._settings
            remote = Remote(
                row.url,
                scheme,
                login,
                proxy=(proxy_port, ticket.name, ticket.token),
                host_keys=settings.known_hosts,
                authorities=settings.remote_authorities,
            )
            try:
                yield RemoteConnection(remote, progress, ticket)
            except RemoteFailed as error:
                if error.reason in ("cancelled", "idle"):
                    raise
                if ticket.refusal:
                    raise RemoteFailed("address") from None
                if ticket.exceeded:
                    raise RemoteFailed("too-large") from None
                raise

    async def watch(
        self,
        connection: RemoteConnection,
        work: Coroutine[Any, Any, _T],
        is_needed: Callable[[], Awaitable[bool]],
    ) -> _T:
        """Return the result of ``work``. Raises RemoteFailed.

        ``work`` is cancelled when ``is_needed`` returns False, or when the remote sends nothing for
        ``remote_idle_seconds``.
        """
        task = asyncio.create_task(work)
        pause = min(WATCH_SECONDS, self._settings.remote_idle_seconds / 2)
        try:
            while not (await asyncio.wait({task}, timeout=pause))[0]:
                if not await is_needed():
                    raise RemoteFailed("cancelled")
                if time.monotonic() - connection.active_at > self._settings.remote_idle_seconds:
                    raise RemoteFailed("idle")
            try:
                return task.result()
            except RemoteFailed:
                raise
            except GitError as error:
                raise RemoteFailed("room" if isinstance(error, StorageFull) else "failed") from error
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def default_branch_of(remote_refs: RemoteRefs) -> str | None:
    """Return the default branch of a remote, or None without branches.

    If HEAD names none, it is ``main``, ``master`` or any other branch. Branches with too long names are
    ignored.
    """
    names = [name.removeprefix(BRANCHES) for name in remote_refs.refs if name.startswith(BRANCHES)]
    fitting = [name for name in names if len(name) <= LONGEST_BRANCH]
    likely = [name for name in (remote_refs.head, "main", "master") if name in fitting]
    return next(iter((*likely, *fitting)), None)


def require_files_of_remotes(settings: Settings) -> None:
    """Raise SettingsError for missing files in the settings.

    Git and ssh read these files later, where a wrong path would look like an error of the remote.
    """
    for name, file in (
        ("KNOWN_HOSTS", "" if settings.known_hosts == "any" else settings.known_hosts),
        ("REMOTE_AUTHORITIES", settings.remote_authorities),
    ):
        if file and not (Path(file).is_absolute() and Path(file).is_file()):
            raise SettingsError([f"INGOT_REPOS_{name} does not name a file by its absolute path"])
    if settings.remote_authorities:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(settings.remote_authorities)
        except OSError as error:
            raise SettingsError([f"INGOT_REPOS_REMOTE_AUTHORITIES holds no certificates: {error}"]) from error
