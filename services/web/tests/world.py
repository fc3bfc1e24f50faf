"""The service under test: the real app, with fakes of identity and repos as its peers."""

from functools import partial

import httpx

from ingot_chassis.http.parts import PARTS
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import Principal, ServiceIdentity
from ingot_contracts.testing.forms import form_of
from ingot_contracts.testing.identity import FakeIdentity
from ingot_contracts.testing.repos import FakeRepos
from ingot_testing.service import Callers
from ingot_web.app import create_app
from ingot_web.forms.rules.tokens import FormTokens
from ingot_web.settings import Settings

ANN = Principal(id=1, name="ann", via="session", session_id=11)
ROOT = Principal(id=9, name="root", admin=True, via="session", session_id=19)
BOB = Principal(id=2, name="bob", via="session", session_id=12)


class World:
    """One running service. ``caller`` requests its pages; with a ``forge`` it stands for all peers."""

    def __init__(self, forge=None, *, callers=None, **settings) -> None:
        self.callers = callers or Callers("web")
        key = self.callers.identity_key.jwk()
        self.identity, self.repos = FakeIdentity(kid=key.kid, x=key.x), FakeRepos()
        own_settings = {
            "private_key": SigningKey.generate().text(),
            "public_url": "http://forge/",
            "objects_url": "file:///files",
        }
        configuration = Settings(background=False, **own_settings | settings)
        own = ServiceIdentity("web", SigningKey.read(configuration.private_key))
        peers = {"identity": self.identity} | dict.fromkeys(("repos", "issues", "hooks", "mail"), self.repos)
        if forge is not None:
            peers = {name: partial(forge, service=name) for name in peers}
            forge.identity = self.identity
        self.app = create_app(configuration, peers=Peers.in_process(peers, own))
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge")

    async def close(self):
        await self.client.aclose()
        for close in self.app.state.parts.close:
            await close()

    async def get(self, path, caller=None):
        return await self.client.get(path, headers=self._headers(caller))

    async def post(self, path, form, caller=None, **headers):
        return await self.client.post(path, data=form, headers=self._headers(caller) | headers)

    async def submit(self, page, button, *, to="", caller=ANN, **values):
        """Fill in and send a form as a browser does; ``page`` is a path or the text of a page."""
        html = page if page.startswith("<!doctype") else (await self.get(page, caller)).text
        form = form_of(html, to, button)
        path = form.action or page
        return await self.post(path, form.press(button, **values), caller)

    def form_token(self, caller, *, at):
        """As a page for ``caller`` carries it that was made at the time ``at``."""
        tokens = self.app.state[PARTS][FormTokens]
        return tokens.token(f"{caller.id} {caller.session_id}", int(at))

    def _headers(self, caller):
        return self.callers.headers(caller) if caller else {}
