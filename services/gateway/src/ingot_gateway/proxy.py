"""Forwards a sanitized request: finds its route, authenticates its caller and streams it to the service."""

from collections.abc import Iterable, Mapping

import msgspec
import structlog
from litestar.types import HTTPScope, Message, Receive, Send

from ingot_chassis.errors import NO_OPERATION, ApiError, NotFound, TooLarge
from ingot_chassis.security.principal import PRINCIPAL_HEADER
from ingot_chassis.telemetry import are_spans_recorded, client_span, request_id, trace_context
from ingot_contracts.rate_limits import RATE_LIMITS_HEADER, RateLimits
from ingot_contracts.web import APPEARANCE
from ingot_gateway.auth import ANONYMOUS, Authenticator, Caller
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.credentials import (
    NO_COOKIES,
    Cookies,
    Credential,
    Query,
    credential_of,
    split_cookies,
    split_query,
)
from ingot_gateway.errors import ErrorPages, ErrorWriter, Reader
from ingot_gateway.head_filter import SanitizedRequest
from ingot_gateway.proxy_sign_ins import ProxiedUser, ProxySignIns
from ingot_gateway.rate_limits import UNKNOWN_CREDENTIAL, RateLimiter, cost_of
from ingot_gateway.route_limits import ClientDisconnected, ProxiedExchange, RouteLimits
from ingot_gateway.routes import Route, RouteClass, RouteTable
from ingot_gateway.upstreams import Upstream, UpstreamRequest
from ingot_wire.framing import Headers
from ingot_wire.zero_copy import EXTENSION

log = structlog.get_logger()

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
LFS_TOKEN = b"lfs-token"
"""The header from which repos reads its LFS tokens."""
_PRINCIPAL, _RATE_LIMITS = PRINCIPAL_HEADER.encode(), RATE_LIMITS_HEADER.encode()
_APPEARANCE = APPEARANCE.encode()


class Proxy:
    """All services behind the gateway as one ASGI app."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        authenticator: Authenticator,
        limits: Mapping[RouteClass, RouteLimits],
        trusted_proxies: TrustedProxies,
        rate_limiter: RateLimiter,
        errors: ErrorWriter,
        proxy_sign_ins: ProxySignIns,
        *,
        session_cookie: str,
        is_secure: bool,
    ) -> None:
        self._upstreams, self._authenticator, self._rate_limiter = upstreams, authenticator, rate_limiter
        self._limits, self._trusted_proxies, self._errors = limits, trusted_proxies, errors
        self._proxy_sign_ins = proxy_sign_ins
        self._session_cookie, self._is_secure = session_cookie.encode(), is_secure
        self._table = RouteTable()

    def _headers_of_pages(self, caller: Caller) -> Headers:
        """Return the headers for web: the rate limits, and for an account its appearance of pages."""
        limiter = self._rate_limiter
        limits = msgspec.json.encode(RateLimits(*limiter.limits, refusals=limiter.refusals))
        appearance = [(_APPEARANCE, caller.appearance.encode())] if caller.user_id else []
        return [(_RATE_LIMITS, limits), *appearance]

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = False
        own_headers: Headers = []

        async def send_with_own(message: Message) -> None:
            nonlocal started
            started = True
            if own_headers and message["type"] == "http.response.start":
                message["headers"] = _with_own(message["headers"], own_headers)
            await send(message)

        try:
            await self._forward(scope, receive, send_with_own, own_headers)
        except ClientDisconnected:
            log.info("the client disconnected", path=scope["path"])
        except ApiError as error:
            if started:
                # The server closes the connection of an unfinished answer, so the client notices.
                log.warning("the answer was cut", path=scope["path"], error=error.message)
            else:
                reader = _reader(self._table.find(scope["path"]), scope["headers"])
                await self._errors.write(send_with_own, error, reader=reader)

    async def _forward(self, scope: HTTPScope, receive: Receive, send: Send, own_headers: Headers) -> None:
        sanitized: SanitizedRequest = scope["sanitized_request"]  # type: ignore[typeddict-item]
        if sanitized.error is not None:
            raise sanitized.error
        route = self._table.find(scope["path"])
        if route is None:
            raise NotFound(NO_OPERATION)
        scope["path_template"] = route.pattern
        limits = self._limits[route.kind]
        if limits.body is not None and sanitized.length is not None and sanitized.length > limits.body:
            raise TooLarge
        peer, port = scope["client"] or ("", 0)
        address = self._trusted_proxies.client(peer, sanitized.forwarded_for)
        of_browser = route.signs_in or route.pages
        query = Query(scope["query_string"]) if of_browser else split_query(scope["query_string"])
        has_session = route.pages or (route.linked and scope["method"] in SAFE_METHODS)
        cookies = split_cookies(sanitized.cookies, self._session_cookie) if has_session else NO_COOKIES
        credential = _credential(sanitized, route, query, cookies)
        reads_session = has_session or route.signs_in
        proxied = self._proxy_sign_ins.user_of(peer, sanitized.proxied) if reads_session else None
        sanitized = await self._without_session_of_others(sanitized, route, proxied, address)
        caller = await self._caller(credential, proxied, address)
        caller = await self._signed_in(caller, route, proxied, scope, address, own_headers)
        if self._rate_limiter.on:
            cost = cost_of(scope["method"], scope["path"], scope["query_string"], route)
            if credential and not caller.user_id:
                cost += UNKNOWN_CREDENTIAL
            token = credential.token_digest if credential else ""
            buckets = self._rate_limiter.buckets_of(caller.user_id, token, address)
            await self._rate_limiter.take(buckets, cost, own_headers)
        changes_account = _may_change_account(scope["method"], route)

        def drop_after_success(status: int) -> None:
            if changes_account and status < 400:
                self._authenticator.drop(caller.user_id)

        is_fetch = route.kind == "git" and scope["path"].endswith("/git-upload-pack")
        try:
            async with ProxiedExchange(
                receive,
                self._send_for_reader(send, scope, route, caller, query),
                limits,
                has_body=sanitized.length != 0,
                on_status=drop_after_success,
            ) as exchange:
                with client_span(lambda: f"{scope['method']} {route.service}"):
                    headers = _upstream_headers(_client_headers(sanitized, route, cookies), caller, address)
                    if route.pages:
                        headers += self._headers_of_pages(caller)
                    request = UpstreamRequest(
                        method=scope["method"],
                        path=scope["path"],
                        raw_path=scope["raw_path"],
                        query=query.rest,
                        headers=headers,
                        length=sanitized.length,
                        client=(address, port if address == peer else 0),
                        takes_pipes=is_fetch and EXTENSION in (scope.get("extensions") or {}),
                    )
                    await self._upstreams[route.service].forward(request, exchange)
        except (ApiError, ClientDisconnected):
            drop_after_success(200)  # the answer is lost, but the change may have happened
            raise

    async def _caller(
        self, credential: Credential | None, proxied: ProxiedUser | None, address: str
    ) -> Caller:
        """Return the caller of a credential. A session must belong to the ``proxied`` user, if any."""
        if credential is None:
            return ANONYMOUS
        if proxied and credential.session:
            credential = credential._replace(proxy_user=proxied.user)
        return await self._authenticator.caller(credential, address)

    async def _without_session_of_others(
        self, sanitized: SanitizedRequest, route: Route, proxied: ProxiedUser | None, address: str
    ) -> SanitizedRequest:
        """Return the request without its session cookie, unless the session belongs to the ``proxied`` user.

        The request is not changed if ``proxied`` is None, or if the service does not authenticate callers
        itself. Such a service would accept any session, because it does not know the proxied user.
        """
        if proxied is None or not route.signs_in:
            return sanitized
        cookies = split_cookies(sanitized.cookies, self._session_cookie)
        parts = [cookies.rest]
        if cookies.session:
            caller = await self._caller(cookies.session, proxied, address)
            if caller.user_id or caller.enrols:
                parts.append(self._session_cookie + b"=" + cookies.session.session.encode())
        return sanitized._replace(cookies=b"; ".join(filter(None, parts)))

    async def _signed_in(
        self,
        caller: Caller,
        route: Route,
        proxied: ProxiedUser | None,
        scope: HTTPScope,
        address: str,
        own_headers: Headers,
    ) -> Caller:
        """Return ``caller``, or the caller of a new session for a user of the reverse proxy.

        A session is started only if ``caller`` is anonymous and a browser opens a page. Its cookie is added
        to ``own_headers``. If the user may not sign in, the caller is anonymous.
        """
        headers = dict(scope["headers"])
        is_opened = scope["method"] == "GET" and b"text/html" in headers.get(b"accept", b"")
        if proxied is None or route.signs_in or not is_opened or caller.user_id or caller.enrols:
            return caller
        user_agent = headers.get(b"user-agent", b"").decode("latin-1")
        session = await self._proxy_sign_ins.start(proxied, address, user_agent)
        if not session.secret:
            return ANONYMOUS
        secure = b"; Secure" if self._is_secure else b""
        value = f"={session.secret}; Path=/; Max-Age={session.seconds}; HttpOnly; SameSite=lax".encode()
        own_headers.append((b"set-cookie", self._session_cookie + value + secure))
        return await self._caller(Credential(session=session.secret), proxied, address)

    def _send_for_reader(
        self, send: Send, scope: HTTPScope, route: Route, caller: Caller, query: Query
    ) -> Send:
        """Return ``send``, or a writer of error pages if a browser opens a route that pages link to.

        Below the API all clients are treated as programs.
        """
        is_for_people = (route.linked or route.signs_in) and not route.pattern.startswith("/api/")
        if not is_for_people or scope["method"] != "GET" or _reader(route, scope["headers"]) != "browser":
            return send
        may_sign_in = route.linked and not caller.user_id
        sign_in = self._errors.sign_in(scope["path"], query.rest) if may_sign_in else ""
        return ErrorPages(send, self._errors, sign_in)


def _with_own(headers: Iterable[tuple[bytes, bytes]], own: Headers) -> Headers:
    """Return the headers of a response and the gateway's own headers.

    If the gateway sets a cookie, ``Cache-Control`` is replaced: no cache may store the response.
    """
    if not any(name == b"set-cookie" for name, _ in own):
        return [*headers, *own]
    others = [header for header in headers if header[0].lower() != b"cache-control"]
    return [*others, *own, (b"cache-control", b"private, no-store")]


def _reader(route: Route | None, headers: Iterable[tuple[bytes, bytes]]) -> Reader:
    """Return the kind of client that reads an error. A browser accepts HTML and opens routes for people."""
    if route is not None and route.kind == "git":
        return "lfs" if "/info/lfs/" in route.pattern else "git"
    accepts_html = any(name == b"accept" and b"text/html" in value for name, value in headers)
    is_for_people = route is not None and (route.pages or route.linked or route.signs_in)
    return "browser" if is_for_people and accepts_html else "program"


def _may_change_account(method: str, route: Route) -> bool:
    """True if a request may change accounts: a write to identity, or a form of a page.

    The next page must show the changes of a form.
    """
    return (route.service == "identity" or route.pages) and method not in SAFE_METHODS


def _credential(
    sanitized: SanitizedRequest, route: Route, query: Query, cookies: Cookies
) -> Credential | None:
    """Return the credential of the caller.

    Return None for an anonymous caller, and for services that authenticate callers themselves.
    """
    if route.signs_in:
        return None
    if route.pages:
        return cookies.session
    return credential_of(query, sanitized.authorization, sanitized.sudo, sanitized.code) or cookies.session


def _client_headers(sanitized: SanitizedRequest, route: Route, cookies: Cookies) -> Headers:
    """Return the client's headers for a service.

    A service that authenticates callers itself also gets the credentials. A service with pages gets all
    cookies except the session. LFS gets its own token.
    """
    if "/info/lfs/" in route.pattern:
        return _with_lfs_token(sanitized)
    if route.pages and cookies.rest:
        return [*sanitized.headers, (b"cookie", cookies.rest)]
    if not route.signs_in:
        return sanitized.headers
    credentials = [(b"authorization", sanitized.authorization), (b"cookie", sanitized.cookies)]
    return [*sanitized.headers, *((name, value) for name, value in credentials if value)]


def _with_lfs_token(sanitized: SanitizedRequest) -> Headers:
    """Return the headers, with an LFS token of repos moved from ``Authorization`` to ``LFS_TOKEN``."""
    scheme, _, token = sanitized.authorization.strip().partition(b" ")
    if scheme.lower() != b"lfs" or any(name == LFS_TOKEN for name, _ in sanitized.headers):
        return sanitized.headers
    return [*sanitized.headers, (LFS_TOKEN, token.strip())]


def _upstream_headers(client_headers: Headers, caller: Caller, address: str) -> Headers:
    """Return the headers for a service: the client's sanitized headers and the gateway's own."""
    if are_spans_recorded():
        own: dict[str, str] = {}
        trace_context.inject(own)
        client_headers = [header for header in client_headers if header[0].decode("latin-1") not in own]
        client_headers += [(name.encode(), value.encode()) for name, value in own.items()]
    headers = [header for header in client_headers if header[0] != b"x-request-id"]
    headers.append((b"x-request-id", request_id().encode("latin-1")))
    headers.append((b"x-forwarded-for", address.encode()))
    if caller.principal_token:
        headers.append((_PRINCIPAL, caller.principal_token.encode()))
    return headers
