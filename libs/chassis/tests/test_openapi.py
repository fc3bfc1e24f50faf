"""The description of an app: what Litestar does not see in its routes."""

from litestar import Litestar, Response, get, post

from ingot_chassis.http.openapi import TextForms, openapi_description, operation_ids

TEXT = TextForms("readThing", "form", ("txt", "csv"), "A thing as text.", query=("wide",))


def spelling(_handler, _method, path):
    return f"list{path[-1].capitalize()}"


@get(["/things", "/objects"], operation_id=spelling)
async def list_things() -> Response[list[str]]:
    return Response([])


@post("/things", operation_id="addThing")
async def add_thing() -> Response[list[str]]:
    return Response([])


@get("/things/{name:str}", operation_id="getThing", tags=["thing"], text_forms=TEXT)
async def get_thing(name: str, short: bool = False, wide: bool = False) -> str:
    return name[: short + wide]


@get("/internal/things", operation_id="getInternal", include_in_schema=False)
async def get_internal_thing() -> str:
    return ""


ROUTES = [list_things, add_thing, get_thing, get_internal_thing]


def described():
    return openapi_description(Litestar(ROUTES))["paths"]


def names(operation):
    return [parameter["name"] for parameter in operation.get("parameters", [])]


def test_a_list_is_paged_under_each_of_its_paths():
    paths = described()
    for path, operation_id in (("/things", "listThings"), ("/objects", "listObjects")):
        assert paths[path]["get"]["operationId"] == operation_id
        assert names(paths[path]["get"]) == ["page", "limit"]
    assert names(paths["/things"]["post"]) == []


def test_a_text_is_an_operation_of_its_own():
    paths = described()
    assert set(names(paths["/things/{name}"]["get"])) == {"name", "short"}
    text = paths["/things/{name}.{form}"]["get"]
    assert (text["operationId"], text["tags"]) == ("readThing", ["thing"])
    assert names(text) == ["name", "form", "wide"]
    assert text["parameters"][1]["schema"]["enum"] == ["txt", "csv"]
    assert list(text["responses"]["200"]["content"]) == ["text/plain"]


def test_operations_are_listed_as_they_are_described():
    described_ids = {
        path: {operation["operationId"] for operation in item.values()} for path, item in described().items()
    }
    assert {path: set(ids) for path, ids in operation_ids(Litestar(ROUTES)).items()} == described_ids
    assert described_ids["/things/{name}.{form}"] == {"readThing"}
