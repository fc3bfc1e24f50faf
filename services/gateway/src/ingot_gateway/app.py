"""Creates the app of the gateway and connects its parts."""

from collections.abc import Mapping
from functools import partial

from litestar import Litestar

from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.middleware import RequestTelemetry
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.peers.peers import Peers
from ingot_chassis.service import assemble, origins
from ingot_contracts.identity.credentials import session_cookie
from ingot_contracts.web import PageFrame
from ingot_gateway.api import audit, description, periodic_tasks, server_settings, version
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.auth import TOPIC, Authenticator
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.clients.audit import HttpAudit
from ingot_gateway.clients.descriptions import HttpDescriptions
from ingot_gateway.clients.identity import HttpIdentity
from ingot_gateway.clients.tasks import HttpTasks
from ingot_gateway.compression import Compressed
from ingot_gateway.cors import Cors, CorsRules
from ingot_gateway.errors import ErrorWriter
from ingot_gateway.head_filter import HeadFilter, HeadLimits
from ingot_gateway.openapi_merge import MergedDescription
from ingot_gateway.proxy import Proxy
from ingot_gateway.proxy_sign_ins import ProxyHeaders, ProxySignIns
from ingot_gateway.rate_limits import Limits, RateLimiter, open_buckets
from ingot_gateway.route_limits import RouteLimits
from ingot_gateway.routes import RouteClass
from ingot_gateway.served_operations import ServedOperations
from ingot_gateway.settings import Settings
from ingot_gateway.upstreams import AsgiUpstream, HttpUpstream, OwnRoutes, Upstream


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    upstreams: Mapping[str, Upstream] | None = None,
) -> Litestar:
    """Return the app of the gateway. Raises SettingsError.

    ``upstreams`` are the services by name, by default the services at the URLs of the settings.
    """
    trusted_proxies = TrustedProxies(settings.trusted_proxies)
    cors = CorsRules(
        settings.cors_origins,
        methods=settings.cors_methods,
        headers=settings.cors_headers,
        credentials=settings.cors_credentials,
        max_age=settings.cors_max_age,
    )
    parts = assemble("gateway", settings, urls=settings.urls(), peers=peers, bus=bus)
    identity = HttpIdentity(parts.peers["identity"])
    authenticator = Authenticator(identity, settings.credential_seconds)
    parts.listeners.append(
        ("gateway listens to identity", partial(parts.bus.listen, TOPIC, authenticator.on_event))
    )
    if upstreams is None:
        upstreams = {
            name: HttpUpstream(origin) for name, origin in origins(settings, settings.urls()).items()
        }
    parts.close += [upstream.close for upstream in upstreams.values()]
    limits: dict[RouteClass, RouteLimits] = {
        "api": RouteLimits(settings.api_body_limit, settings.api_seconds, settings.client_seconds),
        "file": RouteLimits(settings.api_body_limit, settings.file_seconds, settings.client_seconds),
        "upload": RouteLimits(None, settings.file_seconds, settings.client_seconds),
        "git": RouteLimits(None, settings.git_seconds, settings.client_seconds),
    }
    descriptions = HttpDescriptions(parts.peers)
    components = Parts(
        MergedDescription(descriptions, settings.public_url, settings.description_seconds),
        ServedOperations(descriptions, settings.description_seconds),
        HttpTasks(parts.peers),
        HttpAudit(parts.peers),
    )
    app = service_app(
        parts,
        routes=[
            *audit.routes,
            *description.routes,
            *periodic_tasks.routes,
            *server_settings.routes,
            *version.routes,
        ],
        request_class=GatewayRequest,
        state={PARTS: components},
    )
    upstreams = {**upstreams, "gateway": AsgiUpstream(OwnRoutes(app))}
    points = Limits(settings.rate_limit_account, settings.rate_limit_token, settings.rate_limit_address)
    rate_limiter = RateLimiter(open_buckets(settings.store_url), points)
    parts.close.append(rate_limiter.close)
    parts.examinations.append(rate_limiter.examine)
    proxy_headers = ProxyHeaders.of(
        settings.proxy_user_header, settings.proxy_email_header, settings.proxy_name_header
    )
    errors = ErrorWriter(settings.public_url, PageFrame.of(settings))
    proxy = Proxy(
        upstreams,
        authenticator,
        limits,
        trusted_proxies,
        rate_limiter,
        errors,
        ProxySignIns(settings.proxy_sign_in_networks, proxy_headers, identity),
        session_cookie=session_cookie(settings.public_url),
        is_secure=settings.public_url.startswith("https:"),
    )
    app.asgi_handler = Compressed(
        HeadFilter(
            HeadLimits(settings.header_limit, settings.header_bytes_limit, settings.url_bytes_limit),
            proxy_headers,
            own=app.asgi_handler,
            proxy=RequestTelemetry(proxy, "gateway"),  # type: ignore[arg-type]
        )
    )
    if settings.cors_origins:
        app.asgi_handler = Cors(cors, app.asgi_handler)
    return app
