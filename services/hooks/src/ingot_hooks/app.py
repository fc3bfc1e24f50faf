"""Creates the app of hooks and connects its parts."""

from collections.abc import Sequence

from litestar import Litestar, Router

from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.egress import Egress
from ingot_chassis.security.own_servers import own_servers, read_servers
from ingot_chassis.security.sealing import Seal
from ingot_chassis.service import assemble
from ingot_contracts.hooks.events import DeliveryRequested
from ingot_hooks.catalog.api import ORGANIZATION, ORGANIZATION_ALIAS, OWN_ACCOUNT, REPOSITORY, SERVER
from ingot_hooks.catalog.request import HooksRequest
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup, PermissionWakeup
from ingot_hooks.catalog.store.tables import metadata
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos
from ingot_hooks.deliveries import api as deliveries
from ingot_hooks.deliveries.jobs.lag import LagMonitor, examine_deliveries
from ingot_hooks.deliveries.jobs.permissions import PermissionChecker
from ingot_hooks.deliveries.jobs.retention import Retention
from ingot_hooks.deliveries.jobs.sending import DeliveryWorker
from ingot_hooks.endpoints.clients.pool import Endpoints
from ingot_hooks.hooks import api as hooks
from ingot_hooks.hooks.events import EventSubscriptions
from ingot_hooks.settings import Settings

ROUTES = [
    Router(
        REPOSITORY,
        tags=["repository"],
        route_handlers=[*hooks.repository_routes, *deliveries.repository_routes],
    ),
    Router(
        ORGANIZATION,
        tags=["organization"],
        route_handlers=[*hooks.organization_routes, *deliveries.organization_routes],
    ),
    Router(OWN_ACCOUNT, tags=["user"], route_handlers=[*hooks.own_routes, *deliveries.own_routes]),
    Router(SERVER, tags=["admin"], route_handlers=[*hooks.server_routes, *deliveries.server_routes]),
    Router(ORGANIZATION_ALIAS, tags=["organization"], route_handlers=hooks.organization_alias_routes),
]


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    own_urls: Sequence[str] | None = None,
) -> Litestar:
    """Return the app of hooks. It calls identity and repos.

    ``own_urls`` are addresses of Ingot; None takes them from the settings.
    """
    delivery_wakeup, permission_wakeup = DeliveryWakeup(), PermissionWakeup()
    seal = Seal(settings.sealing_key, "INGOT_HOOKS_SEALING_KEY")
    egress = Egress(settings.allowed_targets, "INGOT_HOOKS_ALLOWED_TARGETS")
    parts = assemble(
        "hooks",
        settings,
        metadata=metadata,
        urls={"identity": settings.identity_url, "repos": settings.repos_url},
        peers=peers,
        bus=bus,
    )
    identity, repos = HttpIdentity(parts.peers["identity"]), HttpRepos(parts.peers["repos"])
    components = Parts(identity, repos, seal, delivery_wakeup, permission_wakeup)
    parts.subscribe(EventSubscriptions(delivery_wakeup, permission_wakeup).subscriptions())
    parts.wake_on([DeliveryRequested], delivery_wakeup.notified)
    database = parts.require_database()
    refused = read_servers(settings.refused_targets, "INGOT_HOOKS_REFUSED_TARGETS")
    own = own_servers(settings, (settings.identity_url, settings.repos_url), own_urls, refused)
    endpoints = Endpoints(egress, own, settings.delivery_seconds)
    permissions = PermissionChecker(database, identity, repos, permission_wakeup)
    parts.close.append(endpoints.close)
    parts.examinations.append(lambda _repair: examine_deliveries(database))
    retention = Retention(database, settings)
    parts.tasks.append(PeriodicTask("hooks_delete_old_deliveries", CLEANUP, retention.step))
    parts.loops += [
        (
            "hooks deliveries",
            DeliveryWorker(database, settings, seal, delivery_wakeup, endpoints, permissions).run,
        ),
        ("hooks permissions", permissions.run),
        ("hooks lag", LagMonitor(database).run),
    ]
    return service_app(parts, routes=ROUTES, request_class=HooksRequest, state={PARTS: components})
