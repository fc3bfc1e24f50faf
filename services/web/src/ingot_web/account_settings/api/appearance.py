"""Routes for the appearance of pages, stored in the account, or in a cookie for anonymous callers."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_contracts.web import APPEARANCE, CHOICES, Appearance
from ingot_web.account_settings.api.profile import page
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest

OF_ACCOUNT, OF_VISITOR = "/user/settings/appearance", "/-/appearance"
COOKIE_SECONDS = 365 * 24 * 60 * 60


@get(OF_ACCOUNT, policy=anyone(), include_in_schema=False)
async def appearance(request: WebRequest) -> Response[str]:
    """Show the appearance of pages for the account."""
    request.require_signed_in()
    return _page(request, request.appearance)


@post(OF_ACCOUNT, policy=anyone(), include_in_schema=False)
async def edit_appearance(request: WebRequest) -> Response[Any]:
    """Change the appearance of pages for the account."""
    chosen = _chosen(await request.sent_form())
    body = {"theme": chosen.theme, "density": chosen.density, "tab_width": chosen.tab_width}
    try:
        await request.forge.send("PATCH", "identity", "/user/settings", body)
    except ApiError as error:
        return _page(request, chosen, error)
    return request.redirect_with_outcome(OF_ACCOUNT, "saved")


@get(OF_VISITOR, policy=anyone(), include_in_schema=False)
async def visitor_appearance(request: WebRequest) -> Response[Any]:
    """Show the appearance of pages for an anonymous caller.

    A signed-in user is redirected to account settings.
    """
    if request.principal.signed_in:
        return request.redirect(OF_ACCOUNT)
    template = "account_settings/visitor_appearance.html"
    return request.render(template, title="Appearance", chosen=request.appearance)


@post(OF_VISITOR, policy=anyone(), include_in_schema=False)
async def edit_visitor_appearance(request: WebRequest) -> Response[Any]:
    """Store the appearance of pages in a cookie. Accounts do not use it."""
    chosen = _chosen(await request.visitor_form())
    response = request.redirect(OF_VISITOR)
    response.set_cookie(
        APPEARANCE,
        chosen.text,
        max_age=COOKIE_SECONDS,
        path=request.root or "/",
        secure=request.public_url.startswith("https:"),
        httponly=True,
        samesite="lax",
    )
    return response


def _page(request: WebRequest, chosen: Appearance, problem: ApiError | None = None) -> Response[str]:
    return page(request, "appearance", "Appearance", problem=problem, chosen=chosen)


def _chosen(form: Form) -> Appearance:
    return Appearance.of(*(form[name] for name in CHOICES))


routes = [appearance, edit_appearance, visitor_appearance, edit_visitor_appearance]
