"""Putting the parts of a service together, the same way for each."""

from collections.abc import Mapping

from sqlalchemy import MetaData
from sqlalchemy.exc import SQLAlchemyError

from ingot_chassis.app import Parts
from ingot_chassis.bus import Bus
from ingot_chassis.database import Database
from ingot_chassis.inbox import Subscriptions
from ingot_chassis.keys import Jwks, SigningKey
from ingot_chassis.outbox import Relay
from ingot_chassis.peers import Peers
from ingot_chassis.principal import FetchKeys, PrincipalVerifier, ServiceIdentity, ServiceVerifier
from ingot_chassis.settings import ServiceSettings, SettingsError


def assemble(
    name: str,
    settings: ServiceSettings,
    *,
    metadata: MetaData | None = None,
    urls: Mapping[str, str] | None = None,
    peers: Peers | None = None,
    bus: Bus | None = None,
    subscriptions: Subscriptions | None = None,
    fetch_keys: FetchKeys | None = None,
) -> Parts:
    """The parts of the service ``name``: database and relay if it has tables, peers at ``urls`` unless given.

    ``fetch_keys`` gets the keys of principals; by default the peer identity is asked. Raises SettingsError.
    """
    if not settings.private_key:
        raise SettingsError([f"INGOT_{name.upper()}_PRIVATE_KEY is not set; see docs/settings.md"])
    if metadata is not None and not settings.database_url:
        raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL is not set; see docs/settings.md"])
    own = ServiceIdentity(name, SigningKey.read(settings.private_key))
    peers = peers if peers is not None else Peers.over_http(urls or {}, own)
    known = peers

    async def from_identity() -> Jwks:
        return await known["identity"].get("/internal/jwks", Jwks)

    parts = Parts(
        name=name,
        settings=settings,
        principal_verifier=PrincipalVerifier(name, fetch_keys or from_identity),
        service_verifier=ServiceVerifier(name, settings.public_keys),
        peers=peers,
        bus=bus or Bus(settings.nats_url, name=name, stream_replicas=settings.stream_replicas),
        owns_bus=bus is None,
    )
    if metadata is not None and parts.bus is not None:
        try:
            parts.database = Database(settings.database_url, metadata, pool=settings.database_pool)
        except (SQLAlchemyError, ImportError, TypeError) as error:
            told = str(error).split("\n", 1)[0]
            raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL cannot be used: {told}"]) from error
        parts.loops.append((f"{name} relay", Relay(name, parts.database, parts.bus).run))
        if subscriptions:
            parts.subscribe(subscriptions)
    return parts
