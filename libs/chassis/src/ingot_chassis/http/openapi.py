"""The OpenAPI description of a service, which the gateway joins with the others."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_origin

import msgspec
from litestar import HttpMethod, Litestar, MediaType, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.routes import HTTPRoute

from ingot_chassis.http import policy
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.request import ApiRequest

PAGE_PARAMETERS = [
    {
        "name": name,
        "in": "query",
        "required": False,
        "description": text,
        "schema": {"type": "integer", **bounds},
    }
    for name, text, bounds in (
        ("page", "Number of the page, from 1.", {"minimum": 1}),
        ("limit", f"Entries on a page, at most {MAX_LIMIT}.", {"minimum": 1, "maximum": MAX_LIMIT}),
    )
]


def response_spec(
    body: type | None, description: str, *, media_type: MediaType | str = MediaType.JSON
) -> ResponseSpec:
    """A further answer of a route, for its ``responses``.

    Without an example: Litestar makes them at random, and needs pydantic for it, which no service has.
    """
    return ResponseSpec(body, generate_examples=False, description=description, media_type=media_type)


class TextForms(NamedTuple):
    """``text_forms`` of a GET route that also answers a text, where a dot and one of ``forms`` follow its path.

    Clients know it as an operation of its own, which no route can have: a parameter of a path ends at a slash. ``query``
    names the parameters of the route that only the text has.
    """

    operation_id: str
    parameter: str
    forms: tuple[str, ...]
    description: str
    query: tuple[str, ...] = ()


@get("/internal/openapi.json", policy=policy.services("gateway"), include_in_schema=False)
async def openapi_document(request: ApiRequest) -> Response[bytes]:
    """The description of the public routes of this service, made once: it takes a second in which nothing else is done."""
    state = request.app.state
    if not hasattr(state, "openapi_document"):
        state.openapi_document = msgspec.json.encode(openapi_description(request.app))
    return Response(state.openapi_document, media_type="application/json")


@get("/internal/operations", policy=policy.services("gateway"), include_in_schema=False)
async def list_operations(request: ApiRequest) -> dict[str, list[str]]:
    """The ids of the public operations of this service, by path."""
    return operation_ids(request.app)


def operation_ids(app: Litestar) -> dict[str, list[str]]:
    """The ids in the description of ``app``, by path. To make the description takes a hundred times as long."""
    ids: dict[str, list[str]] = defaultdict(list)
    for route, handler in _handlers(app):
        if handler.resolve_include_in_schema():
            ids[route.path_format] += _ids_of_methods(route, handler)
            if (text := handler.opt.get("text_forms")) is not None:
                ids[_path_of_text(route.path_format, text)].append(text.operation_id)
    return ids


def _ids_of_methods(route: HTTPRoute, handler: HTTPRouteHandler) -> list[str]:
    named: Any = handler.operation_id
    if not callable(named):
        return [named] if named else []
    return [named(handler, HttpMethod(method), route.path_components) for method in handler.http_methods]


def openapi_description(app: Litestar) -> dict[str, Any]:
    """The OpenAPI description of ``app``.

    Litestar 2.25 enters path parameters that a handler does not take into the handler's own signature while it
    describes it; later requests would then miss them. So signatures are put back.
    """
    handlers = {handler for _, handler in _handlers(app)}
    signatures = [
        (handler.parsed_fn_signature.parameters, dict(handler.parsed_fn_signature.parameters))
        for handler in handlers
    ]
    try:
        description = app.openapi_schema.to_schema()
    finally:
        for live, before in signatures:
            live.clear()
            live.update(before)
    paths = description["paths"]
    for route, handler in list(_handlers(app)):
        path = route.path_format
        operation = paths.get(path, {}).get("get")
        if operation is None or "GET" not in handler.http_methods:
            continue
        if _is_paged(handler):  # handlers read the page from the request, not as parameters of their own
            operation.setdefault("parameters", []).extend(PAGE_PARAMETERS)
        if (text := handler.opt.get("text_forms")) is not None:
            paths[_path_of_text(path, text)] = {"get": _text_operation(text, operation)}
    return description


def _handlers(app: Litestar) -> Iterator[tuple[HTTPRoute, HTTPRouteHandler]]:
    """The handlers of an app, each with every route under which it is served."""
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                yield route, handler


def _path_of_text(path: str, text: TextForms) -> str:
    return f"{path}.{{{text.parameter}}}"


def _text_operation(text: TextForms, operation: dict[str, Any]) -> dict[str, Any]:
    """The operation that gives the text, beside the ``operation`` that the route itself is, which loses ``query``."""
    parameters = operation.get("parameters", [])
    in_path = [one for one in parameters if one["in"] == "path"]
    in_query = [one for one in parameters if one["name"] in text.query]
    operation["parameters"] = [one for one in parameters if one not in in_query]
    schema = {"type": "string", "enum": list(text.forms)}
    form = {"name": text.parameter, "in": "path", "required": True, "schema": schema}
    answer = {"description": "The text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "tags": operation.get("tags", []),
        "description": text.description,
        "operationId": text.operation_id,
        "parameters": [*in_path, form, *in_query],
        "responses": operation["responses"] | {"200": answer},
    }


def _is_paged(handler: HTTPRouteHandler) -> bool:
    """A list that is whole has no headers of a page, so it is returned as it is; other answers are marked."""
    if handler.opt.get("is_paged"):
        return True
    answer = handler.parsed_fn_signature.return_type.annotation
    return get_origin(answer) is Response and any(get_origin(part) is list for part in get_args(answer))
