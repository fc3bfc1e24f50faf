"""The OpenAPI description of a service, which the gateway joins with the others."""

from typing import Any

import msgspec
from litestar import Litestar, Response, get
from litestar.routes import HTTPRoute

from ingot_chassis.http import policy
from ingot_chassis.http.request import ApiRequest


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
        return app.openapi_schema.to_schema()
    finally:
        for live, before in signatures:
            live.clear()
            live.update(before)
