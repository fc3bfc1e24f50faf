"""The description of an app: what Litestar does not see in its routes."""

from litestar import Litestar, Response, get, post

from ingot_chassis.http.openapi import (
    ERROR,
    NO_BODY,
    TextForms,
    openapi_description,
    operation_ids,
)
from ingot_chassis.http.policy import signed_in

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


@get("/things/{name:str}/checked", operation_id="checkThing", status_code=204, policy=signed_in("read:thing"))
async def check_thing(name: str) -> None:
    return None


@post(
    "/things/{name:str}/counts",
    operation_id="countThing",
    policy=signed_in("write:thing"),
    bodiless=(405,),
    error_statuses={422: 400},
)
async def count_thing(name: str) -> None:
    return None


ROUTES = [list_things, add_thing, get_thing, get_internal_thing, check_thing, count_thing]


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


def test_errors_are_described_each_by_itself():
    paths = described()

    def errors(path, method):
        return {code: answer for code, answer in paths[path][method]["responses"].items() if code[0] == "4"}

    assert errors("/things", "get") == {}
    assert errors("/things", "post") == {"422": ERROR}
    assert errors("/things/{name}", "get") == {"404": ERROR, "422": ERROR}
    assert errors("/things/{name}/checked", "get") == {"403": ERROR, "404": NO_BODY}
    assert errors("/things/{name}/counts", "post") == {
        "400": ERROR,
        "403": ERROR,
        "404": ERROR,
        "405": NO_BODY,
    }
