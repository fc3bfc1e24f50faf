"""The OpenAPI description of a service. The gateway merges the descriptions of all services."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_origin

import msgspec
from litestar import HttpMethod, Litestar, MediaType, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.routes import HTTPRoute

from ingot_chassis.http import policy
from ingot_chassis.http.error_responses import bodiless_statuses
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.request import ApiRequest

ERROR = {"$ref": "#/components/responses/Error"}
"""The schema of the error object, which the merged description has."""
NO_BODY = {"description": "The same, without a body: the header `X-Error-Message` has the reason."}
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
    """Return a further response of a route, for its ``responses``.

    It has no example, because Litestar generates random examples with pydantic, which no service has.
    """
    return ResponseSpec(body, generate_examples=False, description=description, media_type=media_type)


class TextForms(NamedTuple):
    """The ``text_forms`` of a GET route that also returns text: at its path plus a dot and one of ``forms``.

    Clients see the text as a separate operation. No route can have this path, because a path parameter ends
    at a slash. ``query`` names parameters of the route that only the text has.
    """

    operation_id: str
    parameter: str
    forms: tuple[str, ...]
    description: str
    query: tuple[str, ...] = ()


@get("/internal/openapi.json", policy=policy.services("gateway"), include_in_schema=False)
async def openapi_document(request: ApiRequest) -> Response[bytes]:
    """Return the description of this service's public routes. It is built once, which blocks for a second."""
    state = request.app.state
    if not hasattr(state, "openapi_document"):
        state.openapi_document = msgspec.json.encode(openapi_description(request.app))
    return Response(state.openapi_document, media_type="application/json")


@get("/internal/operations", policy=policy.services("gateway"), include_in_schema=False)
async def list_operations(request: ApiRequest) -> dict[str, list[str]]:
    """Return the ids of the public operations of this service, by path."""
    return operation_ids(request.app)


def operation_ids(app: Litestar) -> dict[str, list[str]]:
    """Return the operation ids of ``app``, by path.

    This takes a hundredth of the time of building the description.
    """
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
    """Return the OpenAPI description of ``app``.

    Litestar 2.25 adds path parameters that a handler does not take to the handler's own signature while it
    describes it. Later requests would then miss these parameters, so the signatures are restored.
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
        for method in handler.http_methods:
            if (described := paths.get(path, {}).get(method.lower())) is not None:
                described["responses"] = _with_errors(described, route, handler, method)
        operation = paths.get(path, {}).get("get")
        if operation is None or "GET" not in handler.http_methods:
            continue
        if _is_paged(handler):  # handlers read the page from the request, not from parameters of their own
            operation.setdefault("parameters", []).extend(PAGE_PARAMETERS)
        if (text := handler.opt.get("text_forms")) is not None:
            paths[_path_of_text(path, text)] = {"get": _text_operation(text, operation)}
    return description


def _with_errors(
    operation: dict[str, Any], route: HTTPRoute, handler: HTTPRouteHandler, method: str
) -> dict[str, Any]:
    """Return the responses with the errors of this operation by status. Litestar's own errors are dropped."""
    declared: policy.Policy | None = handler.opt.get("policy")
    bodiless = bodiless_statuses(handler)
    statuses = {*bodiless}
    if declared is not None and (declared.scope or declared.caller != "anyone"):
        statuses.add(403)
    if route.path_parameters:
        statuses.add(404)
    if method != "GET" or any(one["in"] == "query" for one in operation.get("parameters", ())):
        statuses.add(handler.opt.get("error_statuses", {}).get(422, 422))
    successes = {code: answer for code, answer in operation["responses"].items() if code[0] in "23"}
    errors = {str(code): NO_BODY if code in bodiless else ERROR for code in sorted(statuses)}
    return {**successes, **errors}


def _handlers(app: Litestar) -> Iterator[tuple[HTTPRoute, HTTPRouteHandler]]:
    """Yield the handlers of an app, once for each route that they serve."""
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                yield route, handler


def _path_of_text(path: str, text: TextForms) -> str:
    return f"{path}.{{{text.parameter}}}"


def _text_operation(text: TextForms, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the text operation of a route. Move the parameters in ``query`` to it from ``operation``."""
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
    """Return whether a response is paged. An unpaged list has no page headers."""
    if handler.opt.get("is_paged"):
        return True
    answer = handler.parsed_fn_signature.return_type.annotation
    return get_origin(answer) is Response and any(get_origin(part) is list for part in get_args(answer))
