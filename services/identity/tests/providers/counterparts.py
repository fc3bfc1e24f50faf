"""Providers of OpenID Connect for tests: a certified one on Node.js, and one that lies with real keys."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import RSAKey

from ingot_testing.openid import OpenIdProvider, serve_openid

CLIENT = {"client_id": "ingot", "client_secret": "a secret of the client"}
PUBLIC_URL = "http://127.0.0.1:3000/"
CALLBACK = f"{PUBLIC_URL}login/oidc/corp/callback"
ANN = {
    "name": "Ann Example",
    "preferred_username": "ann",
    "email": "ann@corp.example",
    "email_verified": True,
    "groups": ["developers"],
}


class RealProvider:
    """``know`` takes the claims of each person by their id; they may change at any time."""

    def __init__(self, provider: OpenIdProvider, logout_tokens: asyncio.Queue[str]) -> None:
        self.issuer, self.know, self.logout_tokens = provider.issuer, provider.know, logout_tokens
        self.browser = httpx.AsyncClient()

    async def sign_in(self, location: str, person: str) -> str:
        """Sign in as a person at the address that Ingot leads to; the address that leads back."""
        answer = await self.browser.get(location)
        for _ in range(12):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["location"])
                if target.startswith(PUBLIC_URL):
                    return target
                answer = await self.browser.get(target)
                continue
            action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
            assert action, answer.text
            prompt = "login" if 'name="login"' in answer.text else "consent"
            form = {"prompt": prompt} | ({"login": person, "password": "any"} if prompt == "login" else {})
            answer = await self.browser.post(urljoin(str(answer.url), action[1]), data=form)
        raise AssertionError(f"the provider did not lead back: {answer.status_code} {answer.text[:500]}")

    async def end_session(self, location: str) -> None:
        """End the session there, at the address that Ingot leads to."""
        page = await self.browser.get(location)
        action = re.search(r'action="([^"]+)"', page.text)
        secret = re.search(r'name="xsrf" value="([^"]+)"', page.text)
        assert action, page.text
        assert secret, page.text
        answer = await self.browser.post(action[1], data={"xsrf": secret[1], "logout": "yes"})
        assert answer.is_redirect, answer.text


@asynccontextmanager
async def real_provider(folder: Path) -> AsyncIterator[RealProvider]:
    received = asyncio.Queue[str]()
    async with served(
        {("POST", "/logout"): lambda form: received.put_nowait(form["logout_token"])}
    ) as listener:
        client = CLIENT | {
            "redirect_uris": [CALLBACK],
            "post_logout_redirect_uris": [PUBLIC_URL],
            "backchannel_logout_uri": f"{listener}/logout",
            "backchannel_logout_session_required": True,
        }
        async with serve_openid(folder, client) as started:
            provider = RealProvider(started, received)
            provider.know(ann=ANN)
            async with provider.browser:
                yield provider


@asynccontextmanager
async def served(handlers: dict[tuple[str, str], Any]) -> AsyncIterator[str]:
    """A server on loopback; a handler takes the form and returns a JSON value, or a response."""

    async def answer(request: web.Request) -> web.StreamResponse:
        handler = handlers.get((request.method, request.path))
        if handler is None:
            return web.Response(status=404)
        value = handler(dict(await request.post()))
        return value if isinstance(value, web.StreamResponse) else web.json_response(value)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


class LyingProvider:
    """Signs whatever a test wants with a real key, and counts how often its keys are read."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = RSAKey.generate_key(2048, {"kid": "first", "alg": "RS256", "use": "sig"})
        self.published: list[RSAKey] = [self.key]
        self.claims = dict[str, Any]()
        self.token: str | None = None
        self.userinfo = dict[str, Any]()
        self.metadata = dict[str, Any]()
        self.code_verifiers = list[str]()
        self.key_reads = 0

    def handlers(self) -> dict[tuple[str, str], Any]:
        return {
            ("GET", "/.well-known/openid-configuration"): lambda _form: self._discovery(),
            ("GET", "/jwks"): lambda _form: self._keys(),
            ("POST", "/token"): self._tokens,
            ("GET", "/userinfo"): lambda _form: self.userinfo,
        }

    def signed(self, key: RSAKey | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        key = key or self.key
        return jwt.encode({"alg": "RS256", "kid": key.kid} | (header or {}), claims, key)

    def id_token(self, **changes: Any) -> str:
        """A token for this client; None removes a claim."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": "ingot", "sub": "person-1", "iat": now, "exp": now + 300}
        claims = usual | self.claims | changes
        return self.signed(**{name: value for name, value in claims.items() if value is not None})

    def logout_token(self, **changes: Any) -> str:
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": "ingot",
            "sub": "person-1",
            "iat": now,
            "exp": now + 120,
            "jti": f"logout-{time.monotonic_ns()}",
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        }
        claims = usual | changes
        return self.signed(
            header={"typ": "logout+jwt"},
            **{name: value for name, value in claims.items() if value is not None},
        )

    def _discovery(self) -> dict[str, Any]:
        endpoints = {
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
        }
        return {"issuer": self.issuer, **endpoints, **self.metadata}

    def _keys(self) -> dict[str, Any]:
        self.key_reads += 1
        return {"keys": [key.as_dict(private=False) for key in self.published]}

    def _tokens(self, form: dict[str, str]) -> dict[str, Any]:
        self.code_verifiers.append(form["code_verifier"])
        token = self.token if self.token is not None else self.id_token()
        return {"access_token": "an access token", "token_type": "Bearer", "id_token": token}


class Visitor:
    """A browser at Ingot."""

    def __init__(self, app: Any) -> None:
        transport = httpx.ASGITransport(app)
        self.http = httpx.AsyncClient(transport=transport, base_url=PUBLIC_URL.rstrip("/"))

    async def begin(self, name: str = "corp", **query: str) -> dict[str, str]:
        """The query with which Ingot leads to the provider."""
        location = (await self.http.get(f"/login/oidc/{name}", params=query)).headers["location"]
        return {key: values[0] for key, values in parse_qs(urlsplit(location).query).items()}

    async def begin_at(self, name: str = "corp", **query: str) -> str:
        return (await self.http.get(f"/login/oidc/{name}", params=query)).headers["location"]

    async def come_back(self, name: str = "corp", **query: str) -> httpx.Response:
        return await self.http.get(f"/login/oidc/{name}/callback", params=query)

    async def submit(self, page: httpx.Response, **fields: str) -> httpx.Response:
        """Send the first form of a page with these fields."""
        action = re.search(r'<form method="post" action="([^"]+)"', page.text)
        assert action, page.text
        form = page.text[action.start() : page.text.index("</form>", action.start())]
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form))
        return await self.http.post(action[1], data=hidden | fields)

    async def password_sign_in(self, name: str, password: str) -> httpx.Response:
        return await self.submit(await self.http.get("/login"), username=name, password=password)

    @property
    def session(self) -> str:
        return self.http.cookies.get("ingot-session", "") or ""
