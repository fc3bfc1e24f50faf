"""A change of Litestar at run time: a handler of GET that takes the request alone is called without what it does not use.

Litestar makes an exit stack, a converted struct of arguments, a response and an ASGI response for each request. For a
handler whose only argument is the request, and whose answer is a struct, they cost a third of a short request. ADR 14 has
the figures, and says when this module may go.
"""

from typing import Any

import msgspec
from litestar.enums import MediaType
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.serialization import encode_json
from litestar.types import HTTPScope, Receive, Send

_handle = HTTPRoute.handle
IS_PLAIN = "is_plain"
"""Where a handler remembers it; a cache of handlers would keep every app of the process."""
_JSON = (b"content-type", b"application/json")


def call_plain_handlers_directly() -> None:
    """Replace Litestar's handling of a request, for all apps of this process."""
    HTTPRoute.handle = _handle_leanly  # type: ignore[assignment,method-assign]


async def _handle_leanly(route: HTTPRoute, scope: HTTPScope, receive: Receive, send: Send) -> None:
    handler, _ = route.route_handler_map[scope["method"]]
    is_plain = handler.opt.get(IS_PLAIN)
    if is_plain is None:
        is_plain = handler.opt[IS_PLAIN] = handler.http_methods == {"GET"} and _is_plain(handler)
    if not is_plain:
        await _handle(route, scope, receive, send)
        return
    request: Any = handler.resolve_request_class()(scope, receive, send)
    await handler.authorize_connection(request)
    answer = await handler.fn(request=request)
    if not isinstance(answer, msgspec.Struct):
        response = await handler.to_response(app=scope["litestar_app"], data=answer, request=request)
        await response(scope, receive, send)
        return
    body = encode_json(answer)
    headers = [_JSON, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": handler.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _is_plain(handler: HTTPRouteHandler) -> bool:
    """Whether nothing but the guards and the handler has to do with a request."""
    return (
        handler.parsed_fn_signature.parameters.keys() == {"request"}
        and not handler.has_sync_callable
        and handler.media_type == MediaType.JSON
        and not handler.cache
        and not handler.background
        and not any(
            (
                handler.resolve_before_request(),
                *(layer.after_request for layer in handler.ownership_layers),
                handler.resolve_after_response(),
                handler.resolve_return_dto(),
                handler.resolve_dependencies(),
                handler.resolve_response_headers(),
                handler.resolve_response_cookies(),
            )
        )
    )
