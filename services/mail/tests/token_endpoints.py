"""An authorization server of OAuth2: a token endpoint, and introspection (RFC 7662) for mail servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


class TokenServer:
    """Gives out ``token``, and says that it belongs to ``user`` while it is ``active``.

    With ``rotates`` each answer has a new refresh token, which has the number of the request.
    """

    def __init__(self, user: str) -> None:
        self.user, self.token, self.active = user, "token-1", True
        self.forms: list[dict[str, object]] = []
        self.answer: dict[str, object] = {"expires_in": 3600}
        self.origin, self.status, self.rotates = "", 200, False
        self.has_request, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    @property
    def url(self) -> str:
        return f"{self.origin}/token"

    @property
    def introspection(self) -> str:
        return f"{self.origin}/introspection"

    async def give(self, request: web.Request) -> web.Response:
        self.forms.append(dict(await request.post()))
        number = len(self.forms)
        self.has_request.set()
        await self.may_answer.wait()
        following = {"refresh_token": f"refresh-{number}"} if self.rotates else {}
        return web.json_response({"access_token": self.token} | following | self.answer, status=self.status)

    async def introspect(self, request: web.Request) -> web.Response:
        form = await request.post()
        is_valid = self.active and form.get("token") == self.token
        return web.json_response({"active": is_valid, "username": self.user, "scope": "mail"})


@asynccontextmanager
async def serve_tokens(user: str = "forge") -> AsyncIterator[TokenServer]:
    server = TokenServer(user)
    app = web.Application()
    app.router.add_post("/token", server.give)
    app.router.add_post("/introspection", server.introspect)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()
