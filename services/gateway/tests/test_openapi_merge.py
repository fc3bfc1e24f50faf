"""Joined API documents of the services, also while services are unavailable."""

from typing import Any

import msgspec
from openapi_spec_validator import validate

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_gateway.clients.descriptions import HttpDescriptions
from ingot_gateway.openapi_merge import SCHEMAS, MergedDescription, merge_documents

from .world import PUBLIC_URL, SERVICES, answer


def operation(operation_id: str, *, answers: str = "", tags: tuple[str, ...] = ("thing",)) -> dict:
    answer = {"description": "fine"}
    if answers:
        answer["content"] = {"application/json": {"schema": {"$ref": SCHEMAS + answers}}}
    return {
        "operationId": operation_id,
        "tags": list(tags),
        "responses": {"200": answer, "400": {"description": "x"}},
    }


def document_of(paths: dict, **schemas: dict) -> dict:
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
    return content["application/json"]["schema"]["$ref"].removeprefix(SCHEMAS)


SEARCH = "/api/v1/repos/search"
ORG, REPO, HOOKS = "/api/v1/orgs", "/api/v1/repos/{owner}/{repo}", "/api/v1/repos/{owner}/{repo}/hooks"


def test_the_merged_description_is_valid():
    document = merge_documents(
        {
            "identity": document_of({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": document_of({SEARCH: {"get": operation("a", answers="User")}}, User=thing("name")),
        },
        "http://ingot.test/",
    )

    validate(document)
    assert document["servers"] == [{"url": "http://ingot.test"}]
    assert [tag["name"] for tag in document["tags"]] == ["thing"]


def test_routes_of_the_gateway_that_need_the_caller_are_described():
    cron = document_of({"/api/v1/admin/cron/{task}": {"post": operation("run")}})
    document = merge_documents({"gateway": cron, "identity": cron}, "")
    assert document["paths"]["/api/v1/admin/cron/{task}"]["post"]["operationId"] == "run"


def test_schemas_of_one_name_and_shape_are_one():
    document = merge_documents(
        {
            "identity": document_of({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": document_of({REPO: {"get": operation("b", answers="User")}}, User=thing("id")),
        },
        "",
    )

    assert set(document["components"]["schemas"]) == {"Error", "User"}


def test_schemas_of_one_name_and_two_shapes_are_two():
    document = merge_documents(
        {
            "identity": document_of({ORG: {"get": operation("a", answers="User")}}, User=thing("id")),
            "repos": document_of({REPO: {"get": operation("b", answers="User")}}, User=thing("name")),
        },
        "",
    )

    assert (answer_of(document, ORG), answer_of(document, REPO)) == ("User", "ReposUser")
    assert document["components"]["schemas"]["ReposUser"] == thing("name")


def test_a_schema_that_refers_to_another_of_two_shapes_is_another_as_well():
    lists = {"type": "array", "items": {"$ref": SCHEMAS + "User"}}
    document = merge_documents(
        {
            "identity": document_of(
                {ORG: {"get": operation("a", answers="List")}}, User=thing("id"), List=lists
            ),
            "repos": document_of(
                {REPO: {"get": operation("b", answers="List")}}, User=thing("name"), List=lists
            ),
        },
        "",
    )

    schemas = document["components"]["schemas"]
    assert answer_of(document, REPO) == "ReposList"
    assert schemas["ReposList"]["items"]["$ref"] == SCHEMAS + "ReposUser"
    assert schemas["List"]["items"]["$ref"] == SCHEMAS + "User"


def test_operation_ids_are_unique_and_the_first_keeps_its_own():
    document = merge_documents(
        {
            "repos": document_of({REPO: {"get": operation("list"), "post": operation("list")}}),
            "hooks": document_of({HOOKS: {"get": operation("list"), "post": operation("create")}}),
        },
        "",
    )

    ids = [entry["operationId"] for item in document["paths"].values() for entry in item.values()]
    assert sorted(ids) == ["create", "hooks_list", "list", "repos_list"]


def test_what_the_gateway_does_not_route_to_a_service_is_not_document_of():
    document = merge_documents(
        {"identity": document_of({REPO: {"get": operation("a")}, "/internal/x": {"get": operation("b")}})}, ""
    )

    assert document["paths"] == {}


def test_an_operation_keeps_its_errors_and_may_have_others_and_a_repository_may_have_moved():
    paths = {REPO: {"get": operation("a"), "put": operation("b")}, SEARCH: {"get": operation("c")}}
    paths = merge_documents({"repos": document_of(paths)}, "")["paths"]

    assert set(paths[REPO]["get"]["responses"]) == {"200", "302", "400", "4XX", "5XX"}
    assert set(paths[REPO]["put"]["responses"]) == {"200", "307", "400", "4XX", "5XX"}
    assert set(paths[SEARCH]["get"]["responses"]) == {"200", "400", "4XX", "5XX"}


def test_an_answer_without_content_is_described_without():
    check = operation("a", answers="User")
    check["responses"] = {"204": check["responses"]["200"]}
    document = merge_documents({"identity": document_of({ORG: {"get": check}}, User=thing("id"))}, "")

    validate(document)
    assert document["paths"][ORG]["get"]["responses"]["204"] == {"description": "fine"}


class FakeServices:
    """Every service, as one app for each. Repos describes one operation, the others none."""

    def __init__(self) -> None:
        self.unavailable: set[str] = set()
        self.calls: list[str] = []

    def merged(self, *, seconds: float) -> MergedDescription:
        own = ServiceIdentity("gateway", SigningKey.generate())
        peers = Peers.in_process({name: self._app(name) for name in SERVICES}, own)
        return MergedDescription(HttpDescriptions(peers), PUBLIC_URL, seconds)

    def _app(self, service: str) -> Any:
        async def describe(_scope: Any, _receive: Any, send: Any) -> None:
            self.calls.append(service)
            document = document_of({REPO: {"get": operation("a")}} if service == "repos" else {})
            status = 422 if service in self.unavailable else 200
            await answer(send, status, msgspec.json.encode(document))

        return describe


async def paths_of(merged: MergedDescription) -> set[str]:
    return set(msgspec.json.decode(await merged.encoded(lambda: document_of({})))["paths"])


async def test_the_description_is_cached():
    services = FakeServices()
    merged = services.merged(seconds=60)
    for _ in range(3):
        await paths_of(merged)

    assert sorted(services.calls) == ["hooks", "identity", "issues", "mail", "repos"]


async def test_a_service_that_is_down_is_described_as_it_was_last():
    services = FakeServices()
    merged = services.merged(seconds=0)
    await paths_of(merged)
    services.unavailable = {"repos"}

    assert await paths_of(merged) == {REPO}


async def test_a_service_that_never_answered_is_left_out():
    services = FakeServices()
    services.unavailable = {"repos"}

    assert await paths_of(services.merged(seconds=60)) == set()
