"""Routes for the administration of mails: the history, and sending mails again."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest

SHOWN = 50
STATES = ("failed", "pending", "sent", "cancelled")


@get("/admin/mails", policy=anyone(), include_in_schema=False)
async def mails(request: WebRequest) -> Response[str]:
    """List mails of one state, latest first."""
    request.require_signed_in()
    return await _mails_page(request)


async def _mails_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    state = request.query_params.get("state", "")
    state = state if state in STATES else STATES[0]
    listing = await request.forge.listing(
        "mail", "/admin/mails", page=request.number, limit=SHOWN, status=state
    )
    return request.render(
        "administration/mails.html",
        title="Mails",
        part="mails",
        error=problem,
        state=state,
        tabs=[
            (each, each.capitalize(), f"{request.root}/admin/mails?state={each}", None, each == state)
            for each in STATES
        ],
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/mails", policy=anyone(), include_in_schema=False)
async def send_mail_again(request: WebRequest) -> Response[Any]:
    """Send a mail again."""
    form = await request.sent_form()
    try:
        await request.forge.send("POST", "mail", f"/admin/mails{at(form.text('id'), 'attempts')}")
    except ApiError as error:
        return await _mails_page(request, error)
    return request.redirect("/admin/mails?state=pending")


routes = [mails, send_mail_again]
