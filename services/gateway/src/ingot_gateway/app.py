"""Wiring of the gateway."""

from collections.abc import Mapping
from functools import partial

from litestar import Litestar

from ingot_chassis.app import Edge, service_app
from ingot_chassis.assembly import assemble
from ingot_chassis.bus import Bus
from ingot_chassis.peers import Peers
from ingot_gateway.admission import Limits
from ingot_gateway.api import description, version
from ingot_gateway.auth import TOPIC, Authenticator
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.clients.descriptions import DescriptionsOfPeers
from ingot_gateway.clients.identity import IdentityOverPeer
from ingot_gateway.errors import ErrorWriter
from ingot_gateway.exchange import Bounds
from ingot_gateway.merging import Merged
from ingot_gateway.proxy import Door, Proxy
from ingot_gateway.routes import RouteClass
from ingot_gateway.settings import Settings
from ingot_gateway.upstreams import HttpUpstream, Upstream


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    upstreams: Mapping[str, Upstream] | None = None,
) -> Litestar:
    """The app of the gateway. ``upstreams`` are where requests go, by default the URLs of the settings.

    Raises SettingsError.
    """
    proxies = TrustedProxies(settings.trusted_proxies)
    parts = assemble("gateway", settings, urls=settings.urls(), peers=peers, bus=bus)
    authenticator = Authenticator(IdentityOverPeer(parts.peers["identity"]), settings.credential_seconds)
    if parts.bus is not None:
        parts.listeners.append(
            ("gateway hears identity", partial(parts.bus.listen, TOPIC, authenticator.on_event))
        )
    if upstreams is None:
        upstreams = {
            name: HttpUpstream(url, patience=settings.connect_seconds)
            for name, url in settings.urls().items()
        }
    parts.close += [upstream.close for upstream in upstreams.values()]
    bounds: dict[RouteClass, Bounds] = {
        "api": Bounds(settings.api_body_limit, settings.api_seconds),
        "file": Bounds(settings.api_body_limit, settings.file_seconds),
        "git": Bounds(None, settings.git_seconds),
    }
    app = service_app(
        parts,
        routes=[*description.routes, *version.routes],
        state={
            "merged": Merged(
                DescriptionsOfPeers(parts.peers), settings.public_url, settings.description_seconds
            )
        },
    )
    proxy = Proxy(upstreams, authenticator, bounds, proxies, ErrorWriter(settings.public_url))
    app.asgi_handler = Door(
        Limits(settings.header_limit, settings.header_bytes_limit, settings.url_bytes_limit),
        own=app.asgi_handler,
        services=Edge(proxy, "gateway"),  # type: ignore[arg-type]
    )
    return app
