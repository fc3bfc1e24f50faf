"""Routes for other systems that can sign the caller in."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest

SHOWN = 50
EXTERNAL_ACCOUNTS = "/user/external_accounts"


@get("/user/settings/external_accounts", policy=anyone(), include_in_schema=False)
async def external_accounts(request: WebRequest) -> Response[str]:
    """List the systems that are linked with the caller's account, or can be linked with it."""
    request.require_signed_in()
    return await _page(request)


async def _page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", EXTERNAL_ACCOUNTS, page=request.number, limit=SHOWN)
    return page(
        request,
        "external_accounts",
        "Linked accounts",
        problem=problem,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/user/settings/external_accounts", policy=anyone(), include_in_schema=False)
async def unlink(request: WebRequest) -> Response[Any]:
    """Unlink a system from the caller's account."""
    form = await request.sent_form()
    try:
        await request.forge.send("DELETE", "identity", EXTERNAL_ACCOUNTS + at(form.text("remove")))
    except ApiError as error:
        return await _page(request, error)
    return request.redirect("/user/settings/external_accounts")


routes = [external_accounts, unlink]
