"""The version that clients read."""

import asyncio
import re

import pytest

from ingot_gateway.openapi_merge import MergedDescription

from .world import PUBLIC_URL, open_client

OWN = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {}}


@pytest.mark.parametrize("path", ["/api/v1/version", "/api/v1/version/", "/api/v1/api/v1/version"])
async def test_the_version_is_one_that_clients_accept(path):
    async with open_client("asgi") as client, client.get(path) as answer:
        assert answer.status == 200
        version = (await answer.json())["version"]

    assert re.fullmatch(r"1\.11\.0\+ingot-\d+\.\d+\.\d+\S*", version)


class SlowDescriptions:
    """Every service describes one operation; ``answered`` lets them."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    async def description(self, service: str) -> dict:
        await self.answered.wait()
        operation = {"operationId": "repoSearch", "responses": {}}
        paths = {"/api/v1/repos/search": {"get": operation}} if service == "repos" else {}
        return {**OWN, "paths": paths}


async def test_services_that_become_slow_to_describe_themselves_are_not_waited_for():
    descriptions = SlowDescriptions()
    merged = MergedDescription(descriptions, PUBLIC_URL, seconds=0)  # type: ignore[arg-type]
    first = asyncio.create_task(merged.operations(lambda: OWN))
    await asyncio.sleep(0)
    descriptions.answered.set()

    assert await first == {"repoSearch"}
    descriptions.answered.clear()
    async with asyncio.timeout(5):
        assert await merged.operations(lambda: OWN) == {"repoSearch"}
    descriptions.answered.set()
