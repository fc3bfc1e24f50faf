"""The composition root: five apps in one process, which reach each other without sockets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litestar import Litestar

import ingot_identity.app
import ingot_identity.settings
from ingot_chassis.bus import Bus
from ingot_chassis.keys import SigningKey
from ingot_chassis.peers import Peers
from ingot_chassis.principal import ServiceIdentity
from ingot_contracts.topology import CALLS
from ingot_standalone.data_folder import DataFolder, Secrets
from ingot_standalone.settings import ForServices, Settings

SCHEMAS: Mapping[str, Path] = {
    "identity": ingot_identity.app.SCRIPTS,
}
"""Where the migrations of each service with a database are."""


class Services:
    """The settings of the five services, read and checked, and the apps made of them."""

    def __init__(self, settings: Settings, folder: DataFolder, *, public_url: str) -> None:
        secrets = folder.secrets()
        self._keys = secrets.service_keys
        reading = ForServices(
            {
                "host": settings.host,
                "public_keys": secrets.public_keys(),
                "public_url": public_url,
                "store_url": "memory://",
                "background": True,
            }
        )
        self._identity = reading.read(
            ingot_identity.settings.Settings,
            "identity",
            **_kept(folder, secrets, "identity"),
            sealing_key=secrets.sealing_keys["identity"],
        )
        reading.check()

    def apps(self, bus: Bus) -> list[Litestar]:
        """In the order in which they may call each other; the gateway is the last. Raises SettingsError."""
        apps: dict[str, Litestar] = {}
        apps["identity"] = ingot_identity.app.create_app(
            self._identity, bus=bus, peers=self._peers("identity", apps)
        )
        return list(apps.values())

    def _peers(self, service: str, apps: Mapping[str, Litestar]) -> Peers:
        own = ServiceIdentity(service, SigningKey.read(self._keys[service]))
        return Peers.in_process({name: apps[name] for name in CALLS[service]}, own)


def _kept(folder: DataFolder, secrets: Secrets, service: str) -> dict[str, Any]:
    """The settings of a service that keeps something."""
    return {
        "database_url": folder.database_url(service),
        "private_key": secrets.service_keys[service],
    }
