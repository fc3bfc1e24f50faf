"""A person confirms an address and replaces a forgotten password, by links of real mails."""

import re
import secrets
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from .conftest import CLUSTER, STANDALONE
from .deployments import (
    ADMINISTRATOR,
    CHEAP_PASSWORDS,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)
from .mailboxes import SECONDS, Mailboxes, link_of, serve_mailboxes

OLD, NEW = "what ann knew", "what ann knows now"


@pytest.fixture
def mailboxes() -> Iterator[Mailboxes]:
    with serve_mailboxes() as mailboxes:
        yield mailboxes


@pytest.fixture(params=[STANDALONE, CLUSTER])
def mailing(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    mailboxes: Mailboxes,
    backing_servers: Callable[[], BackingServers],
) -> Iterator[Deployment]:
    """A deployment with an SMTP server."""
    variables = CHEAP_PASSWORDS | mailboxes.variables
    deployment: Deployment
    if request.param == STANDALONE:
        deployment = Standalone(tmp_path, variables)
    else:
        deployment = Cluster(tmp_path, backing_servers(), variables | {"INGOT_SENDS_MAIL": "true"})
    with running(deployment):
        yield deployment


async def submit(http: httpx.AsyncClient, page: httpx.Response, **fields: str) -> httpx.Response:
    """Fill in and send the first form of a page."""
    form = re.search(r'<form method="post" action="([^"]*)">(.*?)</form>', page.text, re.DOTALL)
    assert form is not None, page.text
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[2])
    values = {unescape(name): unescape(value) for name, value in hidden}
    return await http.post(unescape(form[1]), data=values | fields)


async def test_a_person_confirms_an_address_and_replaces_a_forgotten_password(mailing, mailboxes):
    name = f"ann-{secrets.token_hex(3)}"
    work = f"{name}@work.example"
    async with httpx.AsyncClient(base_url=mailing.url, timeout=SECONDS) as http:
        new = {"username": name, "email": f"{name}@example.org", "password": OLD}
        assert (await http.post("api/v1/admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
        own = {"auth": (name, OLD)}
        assert (await http.post("api/v1/user/emails", json={"emails": [work]}, **own)).status_code == 201
        choice = {"email": work}
        assert (await http.patch("api/v1/user/emails", json=choice, **own)).status_code == 422

        page = await http.get(link_of(mailboxes.next(work)), follow_redirects=True)
        signed_in = await submit(http, page, username=name, password=OLD)
        page = await http.get(signed_in.headers["location"])
        assert (await submit(http, page)).status_code == 303
        assert (await http.patch("api/v1/user/emails", json=choice, **own)).status_code == 200
        assert work in mailboxes.next(f"{name}@example.org")

    async with httpx.AsyncClient(base_url=mailing.url, timeout=SECONDS) as http:
        page = await http.get("user/forgot_password")
        assert (await submit(http, page, email=work)).status_code == 200
        page = await http.get(link_of(mailboxes.next(work)))
        assert (await submit(http, page, password=NEW, repeated=NEW)).headers["location"] == "/login"
        assert (await http.get("api/v1/user", auth=(name, NEW))).json()["email"] == work
        assert (await http.get("api/v1/user", auth=(name, OLD))).status_code == 401
