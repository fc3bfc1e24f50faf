"""The version, the merged description and its page."""

import re

import aiohttp
import msgspec
import pytest
from gateway_world import client_of_world
from openapi_spec_validator import validate

from ingot_chassis.errors import Unavailable
from ingot_gateway.api.description import PAGE
from ingot_gateway.merging import Merged, merge

SEEN = "#/components/schemas/"


def operation(operation_id: str, *, answers: str = "", tags: tuple[str, ...] = ("thing",)) -> dict:
    answer = {"description": "fine"}
    if answers:
        answer["content"] = {"application/json": {"schema": {"$ref": SEEN + answers}}}
    return {
        "operationId": operation_id,
        "tags": list(tags),
        "responses": {"200": answer, "400": {"description": "x"}},
    }


def described(paths: dict, **schemas: dict) -> dict:
    return {
        "openapi": "3.1.0",
        "info": {"title": "x", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def thing(*fields: str) -> dict:
    return {"type": "object", "properties": {name: {"type": "string"} for name in fields}}


def answer_of(document: dict, path: str) -> str:
    content = document["paths"][path]["get"]["responses"]["200"]["content"]
    return content["application/json"]["schema"]["$ref"].removeprefix(SEEN)


SEARCH = "/api/v1/repos/search"
ORG, REPO, HOOKS = "/api/v1/orgs", "/api/v1/repos/{owner}/{repo}", "/api/v1/repos/{owner}/{repo}/hooks"


def test_the_merged_description_is_valid():
    document = merge(
        {
            "identity": described({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": described({SEARCH: {"get": operation("a", answers="User")}}, User=thing("name")),
        },
        "http://ingot.test/",
    )

    validate(document)
    assert document["servers"] == [{"url": "http://ingot.test"}]
    assert [tag["name"] for tag in document["tags"]] == ["thing"]


def test_schemas_of_one_name_and_shape_are_one():
    document = merge(
        {
            "identity": described({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": described({REPO: {"get": operation("b", answers="User")}}, User=thing("id")),
        },
        "",
    )

    assert set(document["components"]["schemas"]) == {"Error", "User"}


def test_schemas_of_one_name_and_two_shapes_are_two():
    document = merge(
        {
            "identity": described({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": described({REPO: {"get": operation("b", answers="User")}}, User=thing("name")),
        },
        "",
    )

    assert (answer_of(document, ORG), answer_of(document, REPO)) == ("User", "ReposUser")
    assert document["components"]["schemas"]["ReposUser"] == thing("name")


def test_a_schema_that_refers_to_another_of_two_shapes_is_another_as_well():
    lists = {"type": "array", "items": {"$ref": SEEN + "User"}}
    document = merge(
        {
            "identity": described(
                {ORG: {"get": operation("a", answers="List")}}, User=thing("id"), List=lists
            ),
            "repos": described(
                {REPO: {"get": operation("b", answers="List")}}, User=thing("name"), List=lists
            ),
        },
        "",
    )

    schemas = document["components"]["schemas"]
    assert answer_of(document, REPO) == "ReposList"
    assert schemas["ReposList"]["items"]["$ref"] == SEEN + "ReposUser"
    assert schemas["List"]["items"]["$ref"] == SEEN + "User"


def test_operation_ids_are_unique_and_the_first_keeps_its_own():
    document = merge(
        {
            "repos": described({REPO: {"get": operation("list"), "post": operation("list")}}),
            "hooks": described({HOOKS: {"get": operation("list"), "post": operation("create")}}),
        },
        "",
    )

    ids = [entry["operationId"] for item in document["paths"].values() for entry in item.values()]
    assert sorted(ids) == ["create", "hooks_list", "list", "repos_list"]


def test_what_the_gateway_does_not_route_to_a_service_is_not_described():
    document = merge(
        {"identity": described({REPO: {"get": operation("a")}, "/internal/x": {"get": operation("b")}})}, ""
    )

    assert document["paths"] == {}


def test_every_error_is_the_error_object():
    document = merge({"repos": described({REPO: {"get": operation("a")}})}, "")

    assert set(document["paths"][REPO]["get"]["responses"]) == {"200", "default"}


class FakeDescriptions:
    def __init__(self) -> None:
        self.down: set[str] = set()
        self.asked: list[str] = []

    async def of(self, service: str) -> dict:
        self.asked.append(service)
        if service in self.down:
            raise Unavailable("down")
        return described({REPO: {"get": operation("a")}} if service == "repos" else {})


async def paths_of(merged: Merged) -> set[str]:
    return set(msgspec.json.decode(await merged.encoded(described({})))["paths"])


async def test_the_description_is_made_once():
    descriptions = FakeDescriptions()
    merged = Merged(descriptions, "http://ingot.test/", seconds=60)
    for _ in range(3):
        await paths_of(merged)

    assert sorted(descriptions.asked) == ["hooks", "identity", "issues", "repos"]


async def test_a_service_that_is_down_is_described_as_it_was_last():
    descriptions = FakeDescriptions()
    merged = Merged(descriptions, "http://ingot.test/", seconds=0)
    await paths_of(merged)
    descriptions.down = {"repos"}

    assert await paths_of(merged) == {REPO}


async def test_a_service_that_was_never_there_is_left_out():
    descriptions = FakeDescriptions()
    descriptions.down = {"repos"}

    assert await paths_of(Merged(descriptions, "http://ingot.test/", seconds=60)) == set()


@pytest.fixture
async def site():
    async with client_of_world("asgi") as client:
        yield client


@pytest.mark.parametrize("path", ["/api/v1/version", "/api/v1/version/", "/api/v1/api/v1/version"])
async def test_clients_see_a_version_they_accept(site: aiohttp.ClientSession, path):
    async with site.get(path) as answer:
        assert answer.status == 200
        told = (await answer.json())["version"]

    assert re.fullmatch(r"1\.11\.0\+ingot-\d+\.\d+\.\d+\S*", told)


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/swagger.v1.json"])
async def test_the_description_is_served(site: aiohttp.ClientSession, path):
    async with site.get(path) as answer:
        assert answer.content_type == "application/json"
        document = await answer.json()

    validate(document)
    assert document["paths"]["/api/v1/version"]["get"]["operationId"] == "getVersion"


@pytest.mark.parametrize("path", ["/api/v1/swagger", "/api/swagger", "/api/v1/swagger/", "/"])
async def test_the_page_is_served_and_allows_itself_alone(site: aiohttp.ClientSession, path):
    async with site.get(path) as answer:
        assert answer.content_type == "text/html"
        assert await answer.read() == PAGE
        policy = answer.headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_loads_nothing_from_elsewhere():
    assert not re.findall(rb"(?:src|href)=\"(?!/api/v1/openapi\.json)", PAGE)
    assert b"://" not in PAGE
    assert b"innerHTML" not in PAGE
