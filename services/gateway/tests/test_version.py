"""The version that clients read."""

import asyncio
import re
from typing import Any

import msgspec
import pytest

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_gateway.clients.descriptions import HttpDescriptions
from ingot_gateway.served_operations import ServedOperations

from .world import SERVICES, answer, open_client


@pytest.mark.parametrize("path", ["/api/v1/version", "/api/v1/version/", "/api/v1/api/v1/version"])
async def test_the_version_is_one_that_clients_accept(path):
    async with open_client("asgi") as client, client.get(path) as answer:
        assert answer.status == 200
        version = (await answer.json())["version"]

    assert re.fullmatch(r"1\.11\.0\+ingot-\d+\.\d+\.\d+\S*", version)


SEARCH = "/api/v1/repos/search"


class SlowDescriptions:
    """Repos has one operation, the others none; ``answered`` lets them say so."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    async def operation_ids(self, service: str) -> dict:
        await self.answered.wait()
        return {SEARCH: ["repoSearch"]} if service == "repos" else {}


async def test_services_that_become_slow_to_list_their_operations_are_not_waited_for():
    descriptions = SlowDescriptions()
    operations = ServedOperations(descriptions, seconds=0)  # type: ignore[arg-type]
    first = asyncio.create_task(operations.ids(dict))
    await asyncio.sleep(0)
    descriptions.answered.set()

    assert await first == {"repoSearch"}
    descriptions.answered.clear()
    async with asyncio.timeout(5):
        assert await operations.ids(dict) == {"repoSearch"}
    descriptions.answered.set()


class Services:
    """Services: only repos has operations, a search and an internal one. ``old`` ones do not list them."""

    def __init__(self, *, old: bool = False) -> None:
        self.old, self.unavailable = old, False
        self.requests: set[str] = set()

    def operations(self, *, seconds: float) -> ServedOperations:
        own = ServiceIdentity("gateway", SigningKey.generate())
        peers = Peers.in_process({name: self._app(name) for name in SERVICES}, own)
        return ServedOperations(HttpDescriptions(peers), seconds)

    def _app(self, service: str) -> Any:
        ids = {SEARCH: ["repoSearch"], "/internal/x": ["getInner"]} if service == "repos" else {}
        described = {path: {"get": {"operationId": of_path[0]}} for path, of_path in ids.items()}
        answers = {
            "/internal/operations": (404, {"message": "no"}) if self.old else (200, ids),
            "/internal/openapi.json": (200, {"paths": described}),
        }

        async def app(scope: Any, _receive: Any, send: Any) -> None:
            self.requests.add(scope["path"])
            status, body = (422, {}) if self.unavailable else answers[scope["path"]]
            await answer(send, status, msgspec.json.encode(body))

        return app


def own_operations() -> dict[str, list[str]]:
    return {"/api/v1/version": ["getVersion"], SEARCH: ["getAnotherSearch"]}


@pytest.mark.parametrize("old", [False, True])
async def test_operations_are_those_that_the_gateway_leads_to_also_of_an_older_service(old):
    services = Services(old=old)
    assert await services.operations(seconds=60).ids(own_operations) == {"repoSearch", "getVersion"}
    assert ("/internal/openapi.json" in services.requests) is old


async def test_a_service_that_is_down_has_the_operations_that_it_had_last():
    services = Services()
    operations = services.operations(seconds=0)
    before = await operations.ids(own_operations)
    services.unavailable = True

    assert await operations.ids(own_operations) == before == {"repoSearch", "getVersion"}
