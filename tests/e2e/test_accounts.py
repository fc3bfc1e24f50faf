"""A person confirms an address and replaces a forgotten password, by links of real mails."""

import queue
import re
import secrets
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from ingot_testing.processes import free_port

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

OLD, NEW = "what ann knew", "what ann knows now"
SECONDS = 60


class Mailboxes:
    """Takes every mail."""

    def __init__(self) -> None:
        self._mails: queue.SimpleQueue[EmailMessage] = queue.SimpleQueue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        self._mails.put(message_from_bytes(content, policy=policy.default))  # type: ignore[arg-type]
        return "250 OK"

    def next(self, address: str) -> str:
        """The text of the next mail, which is to that address."""
        mail = self._mails.get(timeout=SECONDS)
        assert mail["To"].addresses[0].addr_spec == address
        body = mail.get_body(("plain",))
        assert body is not None
        return str(body.get_content())


@pytest.fixture
def mailboxes() -> Iterator[tuple[Mailboxes, int]]:
    mailboxes, port = Mailboxes(), free_port()
    controller = Controller(mailboxes, hostname="127.0.0.1", port=port)
    controller.start()
    yield mailboxes, port
    controller.stop()


@pytest.fixture(params=[STANDALONE, CLUSTER])
def mailing(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    mailboxes: tuple[Mailboxes, int],
    backing_servers: Callable[[], BackingServers],
) -> Iterator[Deployment]:
    """A deployment with an SMTP server."""
    variables = CHEAP_PASSWORDS | {
        "INGOT_MAIL_SMTP_HOST": "127.0.0.1",
        "INGOT_MAIL_SMTP_PORT": str(mailboxes[1]),
        "INGOT_MAIL_SMTP_SECURITY": "none",
    }
    deployment: Deployment
    if request.param == STANDALONE:
        deployment = Standalone(tmp_path, variables)
    else:
        deployment = Cluster(tmp_path, backing_servers(), variables | {"INGOT_SENDS_MAIL": "true"})
    with running(deployment):
        yield deployment


def link_of(text: str) -> str:
    """Path and query of the link of a mail."""
    (address,) = re.findall(r"http://\S+\?code=\S+", text)
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


async def submit(http: httpx.AsyncClient, page: httpx.Response, **fields: str) -> httpx.Response:
    """Fill in and send the first form of a page."""
    form = re.search(r'<form method="post" action="([^"]*)">(.*?)</form>', page.text, re.DOTALL)
    assert form is not None, page.text
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[2])
    values = {unescape(name): unescape(value) for name, value in hidden}
    return await http.post(unescape(form[1]), data=values | fields)


async def test_a_person_confirms_an_address_and_replaces_a_forgotten_password(mailing, mailboxes):
    mails, _ = mailboxes
    name = f"ann-{secrets.token_hex(3)}"
    work = f"{name}@work.example"
    async with httpx.AsyncClient(base_url=mailing.url, timeout=SECONDS) as http:
        new = {"username": name, "email": f"{name}@example.org", "password": OLD}
        assert (await http.post("api/v1/admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
        own = {"auth": (name, OLD)}
        assert (await http.post("api/v1/user/emails", json={"emails": [work]}, **own)).status_code == 201
        choice = {"email": work}
        assert (await http.patch("api/v1/user/emails", json=choice, **own)).status_code == 422

        page = await http.get(link_of(mails.next(work)), follow_redirects=True)
        signed_in = await submit(http, page, username=name, password=OLD)
        page = await http.get(signed_in.headers["location"])
        assert (await submit(http, page)).status_code == 303
        assert (await http.patch("api/v1/user/emails", json=choice, **own)).status_code == 200
        assert work in mails.next(f"{name}@example.org")

    async with httpx.AsyncClient(base_url=mailing.url, timeout=SECONDS) as http:
        page = await http.get("user/forgot_password")
        assert (await submit(http, page, email=work)).status_code == 200
        page = await http.get(link_of(mails.next(work)))
        assert (await submit(http, page, password=NEW, repeated=NEW)).headers["location"] == "/login"
        assert (await http.get("api/v1/user", auth=(name, NEW))).json()["email"] == work
        assert (await http.get("api/v1/user", auth=(name, OLD))).status_code == 401
