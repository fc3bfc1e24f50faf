"""Routes for preferences of notifications by mail."""

from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.pages.api.request import WebRequest

REASONS = ("mentions", "participating", "watching")
PATH = "/user/mail-preferences"


@get("/user/settings/mail", policy=anyone(), include_in_schema=False)
async def mail(request: WebRequest) -> Response[str]:
    """Show the preferences for mail about all repositories."""
    request.require_signed_in()
    return await _mail_page(request)


async def _mail_page(
    request: WebRequest, problem: ApiError | None = None, refused: Mapping[str, Any] | None = None
) -> Response[str]:
    """Return the page of mail preferences. ``refused`` has the preferences of a rejected form."""
    preferences = {**await request.forge.get("mail", PATH), **(refused or {})}
    return page(request, "mail", "Mail", problem=problem, preferences=preferences)


@post("/user/settings/mail", policy=anyone(), include_in_schema=False)
async def edit_mail(request: WebRequest) -> Response[Any]:
    """Change the mail preferences of the caller."""
    form = await request.sent_form()
    body = {name: form.text(name) for name in REASONS} | {"own": form.has("own")}
    try:
        await request.forge.send("PATCH", "mail", PATH, body)
    except ApiError as error:
        return await _mail_page(request, error, body)
    return request.redirect_with_outcome("/user/settings/mail", "saved")


routes = [mail, edit_mail]
