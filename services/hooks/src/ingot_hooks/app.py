"""Wiring of hooks."""

from pathlib import Path

from litestar import Litestar, Router

from ingot_chassis.app import service_app
from ingot_chassis.assembly import assemble
from ingot_chassis.bus import Bus
from ingot_chassis.egress import Egress
from ingot_chassis.peers import Peers
from ingot_chassis.sealing import Seal
from ingot_hooks import consumers
from ingot_hooks.api import deliveries, hooks
from ingot_hooks.api.call import Call, enter_organization, enter_repository
from ingot_hooks.api.paths import ORGANIZATION, ORGANIZATION_OF_CLIENTS, REPOSITORY
from ingot_hooks.bell import Bell
from ingot_hooks.clients.endpoints import HttpEndpoints
from ingot_hooks.clients.identity import PeerIdentity
from ingot_hooks.clients.repos import PeerRepos
from ingot_hooks.rights import Rights
from ingot_hooks.settings import Settings
from ingot_hooks.store.tables import metadata
from ingot_hooks.workers import Deliverer, Lag, Retention

SCRIPTS = Path(__file__).parent / "store" / "migrations"
ALIKE = [*hooks.routes, *deliveries.routes]
ROUTES = [
    Router(REPOSITORY, guards=[enter_repository], tags=["repository"], route_handlers=ALIKE),
    Router(ORGANIZATION, guards=[enter_organization], tags=["organization"], route_handlers=ALIKE),
    Router(
        ORGANIZATION_OF_CLIENTS,
        guards=[enter_organization],
        tags=["organization"],
        route_handlers=[hooks.delete_hook],
    ),
]


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of hooks; calls identity and repos."""
    bell, bell_of_rights, seal, egress = (
        Bell(),
        Bell(),
        Seal(settings.sealing_key, "INGOT_HOOKS_SEALING_KEY"),
        Egress(settings.allowed_targets, "INGOT_HOOKS_ALLOWED_TARGETS"),
    )
    parts = assemble(
        "hooks",
        settings,
        metadata=metadata,
        urls={"identity": settings.identity_url, "repos": settings.repos_url},
        peers=peers,
        bus=bus,
        subscriptions=consumers.subscriptions(bell.ring, bell_of_rights.ring),
    )
    database = parts.require_database()
    endpoints = HttpEndpoints(egress.refusal, settings.delivery_seconds)
    identity, repos = PeerIdentity(parts.peers["identity"]), PeerRepos(parts.peers["repos"])
    rights = Rights(database, identity, repos, bell_of_rights)
    deliverer = Deliverer(database, settings, endpoints, seal, bell, rights)
    parts.close.append(endpoints.close)
    parts.loops += [
        ("hooks delivers", deliverer.run),
        ("hooks settles doubts", rights.run),
        ("hooks forgets deliveries", Retention(database, settings).run),
        ("hooks measures deliveries", Lag(database).run),
    ]
    return service_app(
        parts,
        routes=ROUTES,
        request_class=Call,
        state={
            "identity": identity,
            "repos": repos,
            "seal": seal,
            "bell": bell,
            "deliverer": deliverer,
            "rights": rights,
            "endpoints": endpoints,
        },
    )
