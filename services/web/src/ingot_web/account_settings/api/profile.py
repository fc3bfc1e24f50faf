"""Routes for the profile and picture of the caller, and the frame of all settings pages."""

from asyncio import gather
from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.pages.api.avatars import send_avatar
from ingot_web.pages.api.request import WebRequest

PROFILE = ("full_name", "description", "location", "website")


def page(
    request: WebRequest,
    part: str,
    title: str,
    *,
    problem: ApiError | None = None,
    template: str = "",
    **values: Any,
) -> Response[str]:
    """Return a page of settings. The default template has the name of the part."""
    return request.render(
        template or f"account_settings/{part}.html",
        title=title,
        part=part,
        error=problem,
        **values,
    )


@get("/user/settings", policy=anyone(), include_in_schema=False)
async def profile(request: WebRequest) -> Response[str]:
    """Show the public data of the account."""
    request.require_signed_in()
    return await _profile_page(request)


async def _profile_page(
    request: WebRequest, problem: ApiError | None = None, refused: Mapping[str, Any] | None = None
) -> Response[str]:
    """Return the profile page. ``refused`` has the settings of a rejected form."""
    settings, account = await gather(
        request.forge.get("identity", "/user/settings"), request.forge.get("identity", "/user")
    )
    shown = {**settings, **(refused or {})}
    return page(request, "profile", "Profile", problem=problem, settings=shown, account=account)


@post("/user/settings", policy=anyone(), include_in_schema=False)
async def edit_profile(request: WebRequest) -> Response[Any]:
    """Change the profile."""
    form = await request.sent_form()
    body = {name: form.text(name) for name in PROFILE} | {"hide_email": form.has("hide_email")}
    try:
        await request.forge.send("PATCH", "identity", "/user/settings", body)
    except ApiError as error:
        return await _profile_page(request, error, body)
    return request.redirect_with_outcome("/user/settings", "saved")


@post("/user/settings/avatar", policy=anyone(), include_in_schema=False)
async def change_avatar(request: WebRequest) -> Response[Any]:
    """Upload a picture, or restore the generated picture."""
    form = await request.sent_form()
    try:
        await send_avatar(request.forge, "identity", "/user/avatar", form)
    except ApiError as error:
        return await _profile_page(request, error)
    return request.redirect_with_outcome("/user/settings", "saved")


routes = [profile, edit_profile, change_avatar]
