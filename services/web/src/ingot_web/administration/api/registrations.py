"""Administration of registrations that wait for approval."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest

SHOWN = 50


@get("/admin/registrations", policy=anyone(), include_in_schema=False)
async def registrations(request: WebRequest) -> Response[str]:
    """List registrations that wait for approval, oldest first."""
    request.require_signed_in()
    return await _registrations_page(request)


async def _registrations_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing(
        "identity", "/admin/registrations", page=request.number, limit=SHOWN
    )
    return request.render(
        "administration/registrations.html",
        title="Registrations",
        part="registrations",
        error=problem,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/registrations", policy=anyone(), include_in_schema=False)
async def decide_about_registration(request: WebRequest) -> Response[Any]:
    """Approve or refuse a registration."""
    form = await request.sent_form()
    path = f"/admin/registrations{at(form.text('id'))}"
    try:
        match form.text("do"):
            case "approve":
                await request.forge.send("POST", "identity", f"{path}/approval")
            case "refuse":
                await request.forge.send("DELETE", "identity", path)
            case _:
                raise Invalid.field("do", "unknown", "is nothing that is done here")
    except ApiError as error:
        return await _registrations_page(request, error)
    return request.redirect_with_outcome("/admin/registrations", "saved")


routes = [registrations, decide_about_registration]
