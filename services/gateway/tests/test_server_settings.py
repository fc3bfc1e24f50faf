"""Settings that clients read first."""

import json
from pathlib import Path

import pytest

from .world import open_client

SHAPES = json.loads((Path(__file__).parent / "settings_shapes.json").read_text())
"""The fields of the later interface, by path."""


@pytest.mark.parametrize("path", sorted(SHAPES))
async def test_every_field_is_there(path):
    async with open_client("asgi") as client, client.get(path) as answer:
        assert answer.status == 200
        assert sorted(await answer.json()) == sorted(SHAPES[path])


async def test_sizes_of_pages_are_those_of_the_settings():
    async with open_client("asgi", page_size=17) as client, client.get("/api/v1/settings/api") as answer:
        sizes = await answer.json()

    assert (sizes["default_paging_num"], sizes["max_response_items"]) == (17, 50)


@pytest.mark.parametrize("enabled", [True, False])
async def test_large_files_are_off_where_the_setting_says_so(enabled):
    path = "/api/v1/settings/repository"
    async with open_client("asgi", lfs_enabled=enabled) as client, client.get(path) as answer:
        assert (await answer.json())["lfs_disabled"] is not enabled


async def test_the_software_names_itself():
    schema = "http://nodeinfo.diaspora.software/ns/schema/2.1"
    async with open_client("asgi") as client:
        async with client.get("/.well-known/nodeinfo") as answer:
            (link,) = (await answer.json())["links"]
        async with client.get("/api/v1/nodeinfo") as answer:
            info, kind = await answer.json(), answer.headers["Content-Type"]
    assert (link["rel"], link["href"][-16:]) == (schema, "/api/v1/nodeinfo")
    assert kind == f'application/json; profile="{schema}#"'

    assert (info["version"], info["software"]["name"]) == ("2.1", "ingot")
    assert info["openRegistrations"] is False


async def test_files_of_issues_are_there_where_a_storage_is_set():
    path = "/api/v1/settings/attachment"
    async with open_client("asgi") as client, client.get(path) as answer:
        assert (await answer.json())["enabled"] is False
    limits = {"max_attachment_bytes": 5 * 2**20, "max_attachments": 3, "attachment_types": [".png", ".log"]}
    async with (
        open_client("asgi", objects_url="file:///files", **limits) as client,
        client.get(path) as answer,
    ):
        shown = await answer.json()
    assert shown == {"enabled": True, "allowed_types": ".png,.log", "max_size": 5, "max_files": 3}
    async with open_client("asgi", objects_url="file:///files") as client, client.get(path) as answer:
        assert await answer.json() == {
            "enabled": True, "allowed_types": "*/*", "max_size": 100, "max_files": 5,
        }  # fmt: skip
