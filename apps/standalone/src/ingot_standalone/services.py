"""The composition root: five apps in one process, which reach each other without sockets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litestar import Litestar

import ingot_gateway.app
import ingot_gateway.settings
import ingot_hooks.app
import ingot_hooks.settings
import ingot_identity.app
import ingot_identity.settings
import ingot_issues.app
import ingot_issues.settings
import ingot_repos.app
import ingot_repos.settings
from ingot_chassis.bus import Bus
from ingot_chassis.keys import SigningKey
from ingot_chassis.peers import Peers
from ingot_chassis.principal import ServiceIdentity
from ingot_contracts.topology import CALLS
from ingot_gateway.upstreams import AsgiUpstream
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.settings import ForServices, Settings

SCHEMAS: Mapping[str, Path] = {
    "identity": ingot_identity.app.SCRIPTS,
    "repos": ingot_repos.app.SCRIPTS,
    "issues": ingot_issues.app.SCRIPTS,
    "hooks": ingot_hooks.app.SCRIPTS,
}
"""Where the migrations of each service with a database are."""

OWN_MACHINE = ["127.0.0.0/8", "::1", "localhost"]
"""Webhooks may reach what runs beside a standalone Ingot."""


class Services:
    """The settings of the five services, read and checked, and the apps made of them."""

    def __init__(self, settings: Settings, folder: DataFolder, *, public_url: str) -> None:
        """Raises SettingsError, and CannotStart for secrets that cannot be used."""
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

        def own(service: str) -> dict[str, Any]:
            url = folder.database_url(service) if service in SCHEMAS else ""
            return {"private_key": self._keys[service], "database_url": url}

        self._identity = reading.read(
            ingot_identity.settings.Settings,
            "identity",
            **own("identity"),
            sealing_key=secrets.sealing_keys["identity"],
        )
        self._repos = reading.read(
            ingot_repos.settings.Settings,
            "repos",
            **own("repos"),
            storage_root=str(folder.repositories),
            sealing_key=secrets.sealing_keys["repos"],
        )
        self._issues = reading.read(ingot_issues.settings.Settings, "issues", **own("issues"))
        self._hooks = reading.read(
            ingot_hooks.settings.Settings,
            "hooks",
            **own("hooks"),
            sealing_key=secrets.sealing_keys["hooks"],
        )
        self._hooks.allowed_targets = [*OWN_MACHINE, *self._hooks.allowed_targets]
        self._gateway = reading.read(ingot_gateway.settings.Settings, "gateway", **own("gateway"))
        reading.check()

    def apps(self, bus: Bus) -> list[Litestar]:
        """In the order in which they may call each other; the gateway is the last. Raises SettingsError."""
        apps: dict[str, Litestar] = {}

        def peers(service: str) -> Peers:
            own = ServiceIdentity(service, SigningKey.read(self._keys[service]))
            return Peers.in_process({name: apps[name] for name in CALLS[service]}, own)

        apps["identity"] = ingot_identity.app.create_app(self._identity, bus=bus, peers=peers("identity"))
        apps["repos"] = ingot_repos.app.create_app(self._repos, bus=bus, peers=peers("repos"))
        apps["issues"] = ingot_issues.app.create_app(self._issues, bus=bus, peers=peers("issues"))
        apps["hooks"] = ingot_hooks.app.create_app(self._hooks, bus=bus, peers=peers("hooks"))
        upstreams = {name: AsgiUpstream(app) for name, app in apps.items()}
        apps["gateway"] = ingot_gateway.app.create_app(
            self._gateway, bus=bus, peers=peers("gateway"), upstreams=upstreams
        )
        return list(apps.values())
