"""An application and a browser, as the tests of the OAuth2 provider use them."""

import base64
import hashlib
import re
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx

from .world import PASSWORD

REDIRECT = "https://ci.example.com/cb"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
AUTHORIZE, TOKEN = "/login/oauth/authorize", "/login/oauth/access_token"


class App:
    """A registered application."""

    def __init__(self, world, body):
        self._world = world
        self.id, self.client_id, self.secret = body["id"], body["client_id"], body["client_secret"]

    def query(self, **changes):
        """Of a request for authorization; a change to None leaves the parameter out."""
        values = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "scope": "openid read:user",
            "state": "xyz",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        return {name: value for name, value in (values | changes).items() if value is not None}

    async def exchange(self, code, *, secret=None, headers=None, **changes):
        """Ask for tokens for a code."""
        form = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "client_secret": self.secret if secret is None else secret,
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        } | changes
        return await self.post({name: value for name, value in form.items() if value}, headers)

    async def refresh(self, token, **changes):
        form = {
            "grant_type": "refresh_token",
            "client_id": self.client_id,
            "client_secret": self.secret,
            "refresh_token": token,
        } | changes
        return await self.post({name: value for name, value in form.items() if value})

    async def post(self, form, headers=None, path=TOKEN):
        return await self._world.http.post(path, data=form, headers=headers)


class Person:
    """A user with a browser, who reads pages and fills in forms. It has cookies of its own."""

    def __init__(self, world, name):
        self.name = name
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(world.app), base_url="http://127.0.0.1:3000", follow_redirects=False
        )

    async def get(self, path, query=None):
        return await self._follow(await self.http.get(path, params=query))

    async def submit(self, page, number=0, **fields):
        """Send the form of that number on a page; the page after it, or the answer that leads elsewhere."""
        action, values = forms(page.text)[number]
        return await self._follow(await self.http.post(action, data=values | fields))

    async def sign_in(self, page, password=PASSWORD):
        return await self.submit(page, username=self.name, password=password)

    async def allow(self, app, **changes):
        """Go through all pages; the parameters that the application gets."""
        answer = await self.get(AUTHORIZE, app.query(**changes))
        if "Sign in" in answer.text:
            answer = await self.sign_in(answer)
        if answer.status_code == 200:
            answer = await self.submit(answer, decision="allow")
        return came_back(answer)

    async def _follow(self, answer):
        """As long as it stays here."""
        while answer.is_redirect and answer.headers["location"].startswith("/"):
            location = answer.headers["location"]
            # The home page is of another service; that of the sign-in says who is signed in.
            answer = await self.http.get("/login" if location == "/" else location)
        return answer


async def make_app(world, *, as_="ann", **changes):
    body = {"name": "ci", "redirect_uris": [REDIRECT], "confidential_client": True} | changes
    answer = await world.call("POST", "/user/applications/oauth2", body, as_=as_)
    assert answer.status_code == 201, answer.text
    return App(world, answer.json())


async def get_tokens(world, app, name="bob", **changes):
    """Return the tokens that the application gets in the end."""
    code = (await Person(world, name).allow(app, **changes))["code"]
    answer = await app.exchange(code)
    assert answer.status_code == 200, answer.text
    return answer.json()


def forms(page):
    """Action and fields of each form on a page, in order."""
    pairs = []
    for action, content in re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', page, re.DOTALL):
        hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', content)
        pairs.append((unescape(action), {unescape(name): unescape(value) for name, value in hidden}))
    return pairs


def came_back(answer, to=REDIRECT):
    """The parameters with which a browser is sent to the application."""
    assert answer.status_code == 303, answer.text
    location = urlsplit(answer.headers["location"])
    assert answer.headers["location"].startswith(f"{to}?"), location
    assert all(len(values) == 1 for values in parse_qs(location.query).values())
    return dict(parse_qsl(location.query))


def with_query(path, query):
    return f"{path}?{urlencode(query)}"
