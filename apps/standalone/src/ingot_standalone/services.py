"""The composition root: seven apps in one process, which call each other without sockets."""

from collections.abc import Sequence
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
import ingot_mail.app
import ingot_mail.settings
import ingot_repos.app
import ingot_repos.settings
import ingot_web.app
import ingot_web.settings
from ingot_chassis.events.bus import Bus
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.topology import CALLS
from ingot_gateway.upstreams import AsgiUpstream
from ingot_ssh.repos import Repos
from ingot_ssh.server import SshServer
from ingot_ssh.upstreams import AppUpstream
from ingot_standalone.data_folder import DataFolder, Secrets
from ingot_standalone.schemas import SCHEMAS
from ingot_standalone.settings import ServiceSettingsReader, Settings, is_named
from ingot_standalone.ssh import set_urls


class Services:
    """The settings of the seven services, read and checked, and their apps."""

    def __init__(
        self,
        settings: Settings,
        folder: DataFolder,
        secrets: Secrets,
        *,
        public_url: str,
        ssh_port: int = 0,
    ) -> None:
        """Read the settings. Raises SettingsError.

        git over SSH listens on ``ssh_port``; 0 switches it off.
        """
        self._keys = secrets.service_keys
        service_settings = ServiceSettingsReader(
            {
                "host": settings.host,
                "public_keys": secrets.public_keys(),
                "public_url": public_url,
                "store_url": "memory://",
                "background": True,
                "sends_mail": is_named("INGOT_MAIL_SMTP_HOST"),
            }
        )

        def keys_and_database(service: str) -> dict[str, Any]:
            url = folder.database_url(service) if service in SCHEMAS else ""
            return {"private_key": self._keys[service], "database_url": url}

        self._identity = service_settings.read(
            ingot_identity.settings.Settings,
            "identity",
            **keys_and_database("identity"),
            sealing_key=secrets.sealing_keys["identity"],
            proxy_sign_ins=is_named("INGOT_GATEWAY_PROXY_SIGN_IN_NETWORKS"),
        )
        self._repos = service_settings.read(
            ingot_repos.settings.Settings,
            "repos",
            **keys_and_database("repos"),
            storage_root=str(folder.repositories),
            sealing_key=secrets.sealing_keys["repos"],
        )
        self._issues = service_settings.read(
            ingot_issues.settings.Settings, "issues", **keys_and_database("issues")
        )
        self._hooks = service_settings.read(
            ingot_hooks.settings.Settings,
            "hooks",
            **keys_and_database("hooks"),
            sealing_key=secrets.sealing_keys["hooks"],
        )
        self._mail = service_settings.read(
            ingot_mail.settings.Settings,
            "mail",
            **keys_and_database("mail"),
            sealing_key=secrets.sealing_keys["mail"],
        )
        self._web = service_settings.read(ingot_web.settings.Settings, "web", **keys_and_database("web"))
        self.gateway = service_settings.read(
            ingot_gateway.settings.Settings, "gateway", **keys_and_database("gateway"), port=settings.port
        )
        for settings_with_files in (self._repos, self._issues, self._web, self.gateway):
            settings_with_files.objects_url = settings_with_files.objects_url or folder.files.as_uri()
        service_settings.check()
        set_urls(self._repos, public_url, ssh_port)
        self._repos.drain_seconds = settings.drain_seconds

    def ssh_server(self, apps: Sequence[Litestar]) -> SshServer:
        """Return the SSH server, for the app of repos among ``apps``."""
        repos = next(app for app in apps if app.state.parts.name == "repos")
        identity = ServiceIdentity("repos", SigningKey.read(self._keys["repos"]))
        return SshServer(Repos(AppUpstream(repos), identity), self._repos)

    def apps(self, bus: Bus, *, inner_urls: Sequence[str], public_urls: Sequence[str]) -> list[Litestar]:
        """Return the apps. Each app follows the apps that it calls, so the gateway is the last.

        ``inner_urls`` are internal addresses of this Ingot: no webhook, import or mirror reaches them.
        ``public_urls`` are its public addresses: mirrors may fetch from them, webhooks may not reach them.
        Raises SettingsError.
        """
        apps: dict[str, Litestar] = {}

        def peers(service: str) -> Peers:
            identity = ServiceIdentity(service, SigningKey.read(self._keys[service]))
            return Peers.in_process({name: apps[name] for name in CALLS[service]}, identity)

        apps["identity"] = ingot_identity.app.create_app(
            self._identity, bus=bus, peers=peers("identity"), own_urls=inner_urls
        )
        apps["repos"] = ingot_repos.app.create_app(
            self._repos, bus=bus, peers=peers("repos"), own_urls=inner_urls
        )
        apps["issues"] = ingot_issues.app.create_app(self._issues, bus=bus, peers=peers("issues"))
        apps["hooks"] = ingot_hooks.app.create_app(
            self._hooks, bus=bus, peers=peers("hooks"), own_urls=[*inner_urls, *public_urls]
        )
        apps["mail"] = ingot_mail.app.create_app(self._mail, bus=bus, peers=peers("mail"))
        apps["web"] = ingot_web.app.create_app(self._web, bus=bus, peers=peers("web"))
        upstreams = {name: AsgiUpstream(app) for name, app in apps.items()}
        apps["gateway"] = ingot_gateway.app.create_app(
            self.gateway, bus=bus, peers=peers("gateway"), upstreams=upstreams
        )
        return list(apps.values())
