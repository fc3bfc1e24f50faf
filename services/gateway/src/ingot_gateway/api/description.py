"""The description of the API: an OpenAPI document for programs, and a page to try the API."""

from functools import cache, partial

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.http.policy import anyone
from ingot_contracts.web import PageFrame
from ingot_gateway.api import viewer_files
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.compression import takes_gzip
from ingot_gateway.openapi_merge import MergedDescription

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
FILE_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
}

_page = cache(viewer_files.page)


@get(
    "/api/v1/openapi.json",
    policy=anyone(),
    operation_id="getDescription",
    tags=["miscellaneous"],
    media_type="application/json",
)
async def describe(request: GatewayRequest) -> bytes:
    """Get the description of this API (OpenAPI 3.1)."""
    return await request.part(MergedDescription).encoded(partial(openapi_description, request.app))


@get("/swagger.v1.json", policy=anyone(), include_in_schema=False, media_type="application/json")
async def describe_at_old_path(request: GatewayRequest) -> bytes:
    """Get the API description at the path that old clients use."""
    return await request.part(MergedDescription).encoded(partial(openapi_description, request.app))


@get(["/api/v1/swagger", "/api/swagger"], policy=anyone(), include_in_schema=False)
async def show_page(request: GatewayRequest) -> Response[bytes]:
    """Get a page that shows the description and sends requests with a credential that the user enters."""
    page = _page(PageFrame.of(request.settings))
    return Response(page, media_type="text/html", headers=PAGE_HEADERS)


@get("/api/v1/swagger/{name:str}", policy=anyone(), include_in_schema=False)
async def show_file(request: GatewayRequest, name: str) -> Response[bytes]:
    """Get a file of the API page."""
    file = viewer_files.FILES.get(name)
    if file is None:
        raise NotFound
    if takes_gzip(request.headers.get("accept-encoding", "").encode("latin-1")):
        headers = FILE_HEADERS | {"Content-Encoding": "gzip"}
        return Response(file.packed, media_type=file.media_type, headers=headers)
    return Response(file.plain, media_type=file.media_type, headers=FILE_HEADERS)


routes = [describe, describe_at_old_path, show_page, show_file]
