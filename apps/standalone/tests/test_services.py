"""The six services in one process: webhooks reach local servers that the operator names, never Ingot."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from ingot_testing.processes import free_port

from .ingot_command import RunningIngot

PATIENCE = 60.0


class Endpoint(BaseHTTPRequestHandler):
    """Answers every POST."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def endpoint() -> Iterator[str]:
    """The URL of an endpoint on this machine."""
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def first_delivery(client: httpx.Client, url: str) -> dict[str, Any]:
    """The first delivery to a new hook with that URL, after its first attempt."""
    hooks = "/api/v1/repos/root/demo/hooks"
    body = {"type": "gitea", "active": True, "config": {"url": url, "content_type": "json"}}
    created = client.post(hooks, json=body)
    assert created.status_code == 201, created.text
    hook = f"{hooks}/{created.json()['id']}"
    assert client.post(f"{hook}/tests").status_code == 204
    deadline = time.monotonic() + PATIENCE
    while not (delivery := client.get(f"{hook}/deliveries").json()[0])["attempted_at"] or (
        delivery["state"] == "running"
    ):
        assert time.monotonic() < deadline, delivery
        time.sleep(0.05)
    return dict(delivery)


def client_of(ingot: RunningIngot) -> httpx.Client:
    client = httpx.Client(base_url=ingot.url, auth=("root", ingot.password), timeout=20)
    assert client.post("/api/v1/user/repos", json={"name": "demo"}).status_code == 201
    return client


def test_webhooks_do_not_reach_this_machine_unless_the_operator_names_it(running):
    with endpoint() as url:
        delivery = first_delivery(client_of(running), url)
    assert (delivery["state"], delivery["status_code"]) == ("pending", 0)
    assert "INGOT_HOOKS_ALLOWED_TARGETS" in delivery["error"]


def test_webhooks_reach_the_port_that_is_named_and_never_ingot(start):
    with endpoint() as url:
        ssh_port = free_port()
        running = start(
            *("--ssh-port", str(ssh_port)),
            INGOT_HOOKS_ALLOWED_TARGETS=f"127.0.0.1:{urlsplit(url).port},127.0.0.0/8,localhost",
        ).wait_ready()
        nats = msgspec.json.decode((running.folder / "nats" / "running.json").read_bytes())["url"]
        client = client_of(running)
        assert first_delivery(client, url)["state"] == "delivered"
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"):
            for own in (running.url, nats):
                delivery = first_delivery(client, f"http://{host}:{urlsplit(own).port}/api/v1/version")
                assert delivery["status_code"] == 0, host
                assert "one of Ingot's own" in delivery["error"], host
        delivery = first_delivery(client, f"http://127.0.0.1:{ssh_port}/")
        assert (delivery["status_code"], "one of Ingot's own" in delivery["error"]) == (0, True)
