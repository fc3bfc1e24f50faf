"""The description of the API for programs, and the page that shows it to people."""

import base64
import hashlib
import re
from pathlib import Path

from litestar import Response, get
from litestar.response import Redirect

from ingot_chassis.app import described
from ingot_chassis.body import ApiRequest
from ingot_chassis.policy import anyone

PAGE = Path(__file__).with_name("page.html").read_bytes()


def _allowed(tag: bytes) -> str:
    """The one inline ``tag`` of the page as a source of a Content-Security-Policy."""
    found = re.search(rb"<%b>(.*?)</%b>" % (tag, tag), PAGE, re.DOTALL)
    digest = hashlib.sha256(found[1] if found else b"").digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_allowed(b'script')}; style-src {_allowed(b'style')}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@get(
    "/api/v1/openapi.json",
    policy=anyone(),
    operation_id="getDescription",
    tags=["miscellaneous"],
    media_type="application/json",
)
async def describe(request: ApiRequest) -> bytes:
    """The description of this API (OpenAPI 3.1)."""
    return await request.app.state.merged.encoded(described(request.app))  # type: ignore[no-any-return]


@get("/swagger.v1.json", policy=anyone(), include_in_schema=False, media_type="application/json")
async def describe_at_old_place(request: ApiRequest) -> bytes:
    """The same, where clients of 2017 look for it."""
    return await request.app.state.merged.encoded(described(request.app))  # type: ignore[no-any-return]


@get(["/api/v1/swagger", "/api/swagger"], policy=anyone(), include_in_schema=False)
async def show_page() -> Response[bytes]:
    """The page: it reads the description and lists its operations."""
    return Response(PAGE, media_type="text/html", headers=PAGE_HEADERS)


@get("/", policy=anyone(), include_in_schema=False)
async def lead_to_page() -> Redirect:
    """There is no other page for people yet."""
    return Redirect("/api/v1/swagger")


routes = [lead_to_page, describe, describe_at_old_place, show_page]
