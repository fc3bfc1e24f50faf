"""The API description as it is served, and its page."""

import re

import pytest
from openapi_spec_validator import validate

from ingot_contracts.web import PageFrame
from ingot_gateway.api.viewer_files import FILES, page

from .world import open_client


@pytest.fixture
async def client():
    async with open_client("asgi") as client:
        yield client


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/swagger.v1.json"])
async def test_the_description_is_served(client, path):
    async with client.get(path) as answer:
        assert answer.content_type == "application/json"
        document = await answer.json()

    validate(document)
    assert document["paths"]["/api/v1/version"]["get"]["operationId"] == "getVersion"


@pytest.mark.parametrize("path", ["/api/v1/swagger", "/api/swagger", "/api/v1/swagger/"])
async def test_the_page_allows_only_what_comes_from_here(client, path):
    async with client.get(path) as answer:
        assert answer.content_type == "text/html"
        assert await answer.read() == page(PageFrame("", "Ingot"))
        policy = answer.headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


async def test_the_page_finds_its_files(client):
    async with client.get("/api/v1/swagger") as answer:
        files = re.findall(r'(?:src|href)="(/api/v1/swagger/[^"]+)"', await answer.text())
    assert len(files) == 4
    for file in files:
        async with client.get(file) as answer:
            assert answer.status == 200
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("encoding", ["gzip", "identity", "gzip;q=0"])
async def test_a_file_is_compressed_for_those_who_take_it(client, encoding):
    headers = {"Accept-Encoding": encoding}
    async with client.get("/api/v1/swagger/swagger-ui.css", headers=headers) as answer:
        assert answer.headers.get("Content-Encoding") == ("gzip" if encoding == "gzip" else None)
        assert await answer.read() == FILES["swagger-ui.css"].plain


@pytest.mark.parametrize("name", ["LICENSE", "index.html", "..", "%2e%2e%2fdescription.py"])
async def test_there_are_no_other_files(client, name):
    async with client.get(f"/api/v1/swagger/{name}") as answer:
        assert answer.status == 404 or answer.url.path == "/api/v1/"
