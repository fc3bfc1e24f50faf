"""The environment of the processes of a cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.fernet import Fernet

from ingot_chassis.security.keys import SigningKey
from ingot_contracts.topology import CALLS, SERVICES

if TYPE_CHECKING:
    from .deployments import BackingServers


def url_of(port: int) -> str:
    return f"http://127.0.0.1:{port}/"


def shard_variables(port: int, ports: list[int], folder: Path) -> dict[str, str]:
    """A process of repos has a folder of its own, and knows who has the others."""
    names = {each: f"shard-{number}" for number, each in enumerate(ports)}
    return {
        "INGOT_REPOS_SHARD": names[port],
        "INGOT_REPOS_SHARDS": ",".join(f"{names[each]}={url_of(each)}" for each in ports if each != port),
        "INGOT_REPOS_STORAGE_ROOT": str(folder / names[port]),
    }


def variables_of(
    backing_servers: "BackingServers", urls: Mapping[str, str], administrator: tuple[str, str]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the variables of all services, and the variables of each service."""
    keys = {service: SigningKey.generate() for service in SERVICES}
    name, password = administrator
    shared = {
        "INGOT_PUBLIC_KEYS": ",".join(f"{service}={key.x}" for service, key in keys.items()),
        "INGOT_NATS_URL": backing_servers.nats_url,
        "INGOT_STORE_URL": backing_servers.redis_url,
        "INGOT_PUBLIC_URL": urls["gateway"],
        "INGOT_HOOKS_ALLOWED_TARGETS": "127.0.0.0/8",
        "INGOT_IDENTITY_ADMIN_USERNAME": name,
        "INGOT_IDENTITY_ADMIN_PASSWORD": password,
    }
    private: dict[str, dict[str, str]] = {}
    for service in SERVICES:
        prefix = f"INGOT_{service.upper()}"
        private[service] = {f"{prefix}_PRIVATE_KEY": keys[service].text(), f"{prefix}_DATABASE_POOL": "4"}
        private[service] |= {f"{prefix}_{called.upper()}_URL": urls[called] for called in CALLS[service]}
        private[service][f"{prefix}_SEALING_KEY"] = Fernet.generate_key().decode()
        if service in backing_servers.database_urls:
            private[service][f"{prefix}_DATABASE_URL"] = backing_servers.database_urls[service]
    return shared, private
