"""Guarantees while NATS is down: access does not grow, and no repository loses its owner."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ingot_testing.plugin import BackendsInUse
from ingot_testing.servers import NatsServer, SessionServers

from .deployments import ADMINISTRATOR, WITH_DATABASE, BackingServers, Cluster, running
from .parts import PATIENCE

PASSWORD = "what ann knows"
POLL = 0.1


@pytest.fixture
def nats(session_servers: SessionServers) -> Iterator[NatsServer]:
    server = session_servers.own_nats()
    yield server
    server.stop()


@pytest.fixture
def cluster(
    nats: NatsServer,
    session_servers: SessionServers,
    database_backends: BackendsInUse,
    worker_id: str,
    tmp_path: Path,
) -> Iterator[Cluster]:
    number = 200 + int(worker_id.removeprefix("gw") if worker_id != "master" else 0)
    backing_servers = BackingServers(
        database_urls={service: database_backends["postgresql"].empty() for service in WITH_DATABASE},
        nats_url=nats.url,
        redis_url=f"{session_servers.redis()}/{number}",
    )
    cluster = Cluster(tmp_path, backing_servers)
    with running(cluster):
        yield cluster


async def answered(http: httpx.AsyncClient, status: int, path: str, **how: object) -> httpx.Response:
    """The answer to a GET once it has that status."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = await http.get(path, **how)  # type: ignore[arg-type]
        if answer.status_code == status:
            return answer
        assert time.monotonic() < end, f"{path}: {answer.status_code} {answer.text}"
        await asyncio.sleep(POLL)


async def test_an_owner_is_not_deleted_though_nats_is_away(cluster, nats):
    names = [f"{name}-{secrets.token_hex(3)}" for name in ("ann", "bob")]
    async with httpx.AsyncClient(base_url=f"{cluster.url}api/v1/", timeout=60) as http:
        for name in names:
            new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
            assert (await http.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
        ann, bob = names
        token = await http.post(f"users/{ann}/tokens", json={"name": "t"}, auth=(ann, PASSWORD))
        headers = {"Authorization": f"token {token.json()['sha1']}"}
        assert (await http.get("user", headers=headers)).status_code == 200
        nats.kill()

        created = await http.post("user/repos", json={"name": "app"}, headers=headers)
        assert created.status_code == 201
        refused = await http.delete(f"admin/users/{ann}", auth=ADMINISTRATOR)
        assert (refused.status_code, "owns repositories" in refused.text) == (422, True)
        moved = await http.post(f"repos/{ann}/app/transfer", json={"new_owner": bob}, auth=ADMINISTRATOR)
        assert moved.status_code == 202
        assert (await http.delete(f"admin/users/{bob}", auth=ADMINISTRATOR)).status_code == 422

        assert (await http.delete(f"admin/users/{ann}", auth=ADMINISTRATOR)).status_code == 204
        await answered(http, 401, "user", headers=headers)
        again = await http.post(f"admin/users/{ann}/repos", json={"name": "late"}, auth=ADMINISTRATOR)
        assert again.status_code == 404

        nats.start()
        assert (await http.delete(f"repos/{bob}/app", auth=ADMINISTRATOR)).status_code == 204
        end = time.monotonic() + PATIENCE
        while (await http.delete(f"admin/users/{bob}", auth=ADMINISTRATOR)).status_code == 422:
            assert time.monotonic() < end, "bob is never deleted"
            await asyncio.sleep(POLL)
        assert (await http.get(f"users/{bob}")).status_code == 404
