"""The OpenAPI description of a service, which the gateway joins with the others."""

from collections.abc import Iterable
from typing import Any, get_args, get_origin

import msgspec
from litestar import Litestar, Response, get
from litestar.handlers import HTTPRouteHandler
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


@get("/internal/openapi.json", policy=policy.services("gateway"), include_in_schema=False)
async def openapi_document(request: ApiRequest) -> Response[bytes]:
    """The description of the public routes of this service."""
    return Response(msgspec.json.encode(openapi_description(request.app)), media_type="application/json")


def openapi_description(app: Litestar) -> dict[str, Any]:
    """The OpenAPI description of ``app``.

    Litestar 2.25 enters path parameters that a handler does not take into the handler's own signature while it
    describes it; later requests would then miss them. So signatures are put back.
    """
    handlers = {
        handler for route in app.routes if isinstance(route, HTTPRoute) for handler in route.route_handlers
    }
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
    _describe_pages(description, handlers)
    return description


def _describe_pages(description: dict[str, Any], handlers: Iterable[HTTPRouteHandler]) -> None:
    """Handlers read the page from the request, not as parameters of their own."""
    paged = {handler.operation_id for handler in handlers if _is_paged(handler)}
    for operations in description["paths"].values():
        operation = operations.get("get")
        if operation is not None and operation["operationId"] in paged:
            operation.setdefault("parameters", []).extend(PAGE_PARAMETERS)


def _is_paged(handler: HTTPRouteHandler) -> bool:
    """A list that is whole has no headers of a page, so it is returned as it is; other answers are marked."""
    if handler.opt.get("is_paged"):
        return True
    answer = handler.parsed_fn_signature.return_type.annotation
    return get_origin(answer) is Response and any(get_origin(part) is list for part in get_args(answer))
