"""The parts of a service, and their assembly. All services use this module."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ingot_chassis.events.bus import Bus
from ingot_chassis.events.envelope import event_type, subject
from ingot_chassis.jobs.loops import Loop
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.peers.doctor import examine_peers
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import Jwks, SigningKey
from ingot_chassis.security.principal import FetchKeys, PrincipalVerifier, ServiceIdentity, ServiceVerifier
from ingot_chassis.settings import ServiceSettings, SettingsError
from ingot_wire.client import Origin

if TYPE_CHECKING:
    from sqlalchemy import MetaData

    from ingot_chassis.db.database import Database
    from ingot_chassis.events.consumers import Consumers, Subscriptions

Examination = Callable[[bool], Awaitable[list[str]]]
"""A function that returns problems in a service's data, as lines for an operator. True: also repair."""
ReadinessCheck = Callable[[], Awaitable[str]]
"""A function that returns the reason why the service is not ready; empty if it is ready."""


WARM_SECONDS = 0.5
WARM_CONNECTIONS = 1
"""Connections opened in advance, for reads and as many for transactions.

All processes together must stay far below PostgreSQL's limit.
"""


@dataclass
class ServiceParts:
    """The parts of a service.

    ``start`` runs before the first request and ``close`` after the last request. ``listeners``, ``loops`` and
    ``tasks`` run in parallel to requests. ``listeners`` update the caches of this process. ``loops`` and
    ``tasks`` are background work that another process may do instead; ``signals`` then wake that process.
    """

    name: str
    settings: ServiceSettings
    principal_verifier: PrincipalVerifier
    service_verifier: ServiceVerifier
    bus: Bus
    database: "Database | None" = None
    owns_bus: bool = True
    peers: Peers = field(default_factory=Peers)
    start: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    listeners: list[tuple[str, Loop]] = field(default_factory=list)
    loops: list[tuple[str, Loop]] = field(default_factory=list)
    signals: list[tuple[str, Loop]] = field(default_factory=list)
    tasks: list[PeriodicTask] = field(default_factory=list)
    checks: list[ReadinessCheck] = field(default_factory=list)
    examinations: list[Examination] = field(default_factory=list)
    close: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    consumers: "Consumers | None" = None

    def subscribe(self, subscriptions: "Subscriptions") -> None:
        """Apply events of other services as background work. The service must have a database."""
        from ingot_chassis.events.consumers import Consumers

        self.consumers = Consumers(self.name, self.require_database(), self.bus, subscriptions)
        self.loops += self.consumers.loops()
        self.tasks.append(
            PeriodicTask(f"{self.name}_forget_applied_events", CLEANUP, self.consumers.forget_old)
        )

    async def examine(self, *, repair: bool) -> list[str]:
        """Return problems in the service's data, as lines for an operator. ``repair``: also repair them."""
        return [line for examination in self.examinations for line in await examination(repair)]

    async def warm_up(self) -> None:
        """Prepare resources for the first requests.

        Errors and delays are ignored; requests will report them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(WARM_SECONDS):
                await asyncio.gather(
                    self.principal_verifier.fetch_keys(),
                    self.require_database().open_ahead(WARM_CONNECTIONS),
                    return_exceptions=True,
                )

    def wake_on(self, events: Iterable[type[msgspec.Struct]], waiting: asyncio.Event) -> None:
        """Set ``waiting`` when one of ``events`` arrives, which another process may have committed.

        On SQLite nothing is needed: its only process wakes its workers itself.
        """
        if not self.require_database().is_sqlite:
            self.loops += [
                (
                    f"{self.name} wakes workers on {event_type(event)}",
                    partial(self.bus.wake, subject(event_type(event)), waiting),
                )
                for event in events
            ]

    def running(self) -> list[tuple[str, Loop]]:
        """Return the loops of this process. Background work is included if the settings enable it."""
        return [*self.listeners, *(self.background() if self.settings.background else self.signals)]

    def background(self) -> list[tuple[str, Loop]]:
        """Return the background work: ``loops``, and one loop for each of ``tasks``."""
        return [*self.loops, *((task.name, task.run) for task in self.tasks)]

    def require_database(self) -> "Database":
        """Return the database of a service that has one. Raises LookupError."""
        if self.database is None:
            raise LookupError(f"{self.name} has no database")
        return self.database


def assemble(
    name: str,
    settings: ServiceSettings,
    *,
    metadata: "MetaData | None" = None,
    urls: Mapping[str, str] | None = None,
    peers: Peers | None = None,
    bus: Bus | None = None,
    subscriptions: "Subscriptions | None" = None,
    fetch_keys: FetchKeys | None = None,
) -> ServiceParts:
    """Assemble the service ``name``: with database and relay if it has tables, and with its peers.

    Without ``peers``, the peers are reached over HTTP at ``urls``. ``fetch_keys`` fetches the keys of
    principals, by default from the peer identity. Raises SettingsError, KeyUnreadable.
    """
    if not settings.private_key:
        raise SettingsError([f"INGOT_{name.upper()}_PRIVATE_KEY is not set; see docs/reference/settings.md"])
    if metadata is not None and not settings.database_url:
        raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL is not set; see docs/reference/settings.md"])
    own = ServiceIdentity(name, SigningKey.read(settings.private_key))
    peers = peers if peers is not None else Peers.over_http(origins(settings, urls or {}), own)
    all_peers = peers

    async def from_identity() -> Jwks:
        return await all_peers["identity"].get("/internal/jwks", Jwks)

    parts = ServiceParts(
        name=name,
        settings=settings,
        principal_verifier=PrincipalVerifier(name, fetch_keys or from_identity),
        service_verifier=ServiceVerifier(name, settings.public_keys),
        peers=peers,
        bus=bus or Bus(settings.nats_url, name=name, stream_replicas=settings.stream_replicas),
        owns_bus=bus is None,
    )
    if metadata is not None:
        _add_database(parts, metadata)
        parts.start.append(parts.warm_up)
        if subscriptions:
            parts.subscribe(subscriptions)
    else:
        parts.examinations.append(lambda _repair: examine_peers(name, all_peers))
    return parts


def _add_database(parts: ServiceParts, metadata: "MetaData") -> None:
    """Add the database of ``metadata``, and the background work for its tables. Raises SettingsError."""
    # A service without a database starts faster and needs less memory without these imports.
    from sqlalchemy.exc import SQLAlchemyError

    from ingot_chassis.db import audit
    from ingot_chassis.db.database import Database
    from ingot_chassis.events.relay import Relay

    name, settings = parts.name, parts.settings
    try:
        database = parts.database = Database(settings.database_url, metadata, pool=settings.database_pool)
    except (SQLAlchemyError, ImportError, TypeError) as error:
        reason = str(error).split("\n", 1)[0]
        raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL cannot be used: {reason}"]) from error
    relay = Relay(name, database, parts.bus)
    parts.loops.append((f"{name} relay", relay.run))
    if not database.is_sqlite:  # SQLite has one process
        parts.loops.append((f"{name} hears of commits", relay.wait_for_signals))
        parts.signals.append((f"{name} signals commits", relay.signal_commits))
    parts.tasks.append(PeriodicTask(f"{name}_forget_sent_events", CLEANUP, relay.forget_old))
    if audit.TABLE in metadata.tables:
        delete_old = partial(audit.delete_entries, database, older_than=timedelta(days=settings.audit_days))
        parts.tasks.append(PeriodicTask(f"{name}_delete_old_audit_entries", CLEANUP, delete_old))


def origins(settings: ServiceSettings, urls: Mapping[str, str]) -> dict[str, Origin]:
    """Return clients of the servers at ``urls``. The settings limit the time that they wait for a server."""
    return {
        name: Origin(url, patience=settings.connect_seconds, max_waiting=settings.waiting_requests)
        for name, url in urls.items()
    }
