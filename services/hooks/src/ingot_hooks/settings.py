"""Settings of hooks. No other module reads its environment variables."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of hooks, in addition to the settings of every service."""

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
            "or names below a domain (*.svc.cluster.local), by comma. An entry is for all ports, or for one "
            "(127.0.0.1:8080). Public addresses need an entry only for ports other than 80 and 443."
        ),
    ] = msgspec.field(default_factory=list)
    refused_targets: Annotated[
        list[str],
        msgspec.Meta(
            description="Servers that hooks never reach, even if another rule allows them: host:port, by "
            "comma. Add the gateway, web and issues. The database, NATS, the store, identity, repos and "
            "hooks itself are always refused."
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
            ge=0, description="Time for which a replaced secret of a hook signs together with the new one."
        ),
    ] = 24
    failing_days: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            description="Time without one success after which a hook is switched off when a delivery uses "
            "up its attempts.",
        ),
    ] = 5
