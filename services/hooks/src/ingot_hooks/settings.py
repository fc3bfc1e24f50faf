"""Settings of hooks; the only reader of its environment."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of hooks in addition to those of every service."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8084
    identity_url: Annotated[str, msgspec.Meta(description="Where identity listens.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos listens.")] = "http://127.0.0.1:8082"
    sealing_key: Annotated[
        str,
        msgspec.Meta(description="Fernet key (32 bytes, base64url) that seals the secrets of hooks at rest."),
    ] = ""
    allowed_targets: Annotated[
        list[str],
        msgspec.Meta(
            description="Targets that hooks may reach: networks (10.0.0.0/8), addresses, host names, "
            "or names below a domain (*.svc.cluster.local), by comma; at any port, or at the one behind a colon "
            "(127.0.0.1:8080). Public addresses need an entry only for other ports than 80 and 443."
        ),
    ] = msgspec.field(default_factory=list)
    refused_targets: Annotated[
        list[str],
        msgspec.Meta(
            description="Servers that hooks never reach, whatever else is allowed: host:port, by comma. The database, "
            "NATS, the store, identity, repos and hooks itself are always among them; name the gateway, web and issues."
        ),
    ] = msgspec.field(default_factory=list)
    delivery_seconds: Annotated[
        int, msgspec.Meta(ge=1, le=60, description="Time that an endpoint gets to answer one delivery.")
    ] = 10
    delivery_workers: Annotated[
        int, msgspec.Meta(ge=1, le=1000, description="Deliveries under way at once in this process.")
    ] = 200
    endpoint_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=100, description="Deliveries under way at once to one host and port.")
    ] = 4
    retention_days: Annotated[
        int, msgspec.Meta(ge=1, description="Age at which finished deliveries are dropped.")
    ] = 30
    rotation_hours: Annotated[
        int,
        msgspec.Meta(
            ge=0, description="Time that a replaced secret of a hook goes on signing beside the new one."
        ),
    ] = 24
    failing_days: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            description="A hook that fails for so long without one success is switched off when a delivery fails "
            "for good.",
        ),
    ] = 5
