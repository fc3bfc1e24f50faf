"""Routes for the caller's access tokens, and for OAuth2 applications that the caller owns or authorized."""

from asyncio import gather
from datetime import timedelta
from typing import Any

from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.pages.api.request import WebRequest

SHOWN = 50
GROUPS = {
    "repository": "Repositories and pull requests",
    "issue": "Issues and notifications",
    "user": "Your account",
    "organization": "Organizations and teams",
    "hook": "Webhooks",
    "admin": "Administration of the site",
    "misc": "Anything else",
}
"""Groups of scopes and their labels. A token can have each group to read, or to read and change."""
LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "A year"), ("", "For ever"))
APPLICATIONS = "/user/applications/oauth2"
OWN_PAGE = "own"
"""The query parameter for the page of the caller's own applications."""


@get("/user/settings/applications", policy=anyone(), include_in_schema=False)
async def tokens(request: WebRequest) -> Response[str]:
    """Show the access tokens of the caller."""
    request.require_signed_in()
    return await _tokens_page(request, Form())


async def _tokens_page(
    request: WebRequest, form: Form, problem: ApiError | None = None, *, secret: str = ""
) -> Response[str]:
    """Return the page of tokens. ``secret`` is the secret of a new token, shown only once."""
    path = at("users", request.principal.name, "tokens")
    listing = await request.forge.listing("identity", path, page=request.number, limit=SHOWN)
    return page(
        request,
        "applications",
        "Access tokens",
        problem=problem,
        listing=listing,
        form=form,
        secret=secret,
        groups={
            group: words for group, words in GROUPS.items() if group != "admin" or request.principal.admin
        },
        lifetimes=LIFETIMES,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/user/settings/applications", policy=anyone(), include_in_schema=False)
async def change_tokens(request: WebRequest) -> Response[Any]:
    """Create or delete a token."""
    form = await request.sent_form()
    path = at("users", request.principal.name, "tokens")
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", path + at(form.text("remove")))
            return request.redirect("/user/settings/applications")
        token = await request.forge.send("POST", "identity", path, _new_token(form))
    except ApiError as error:
        return await _tokens_page(request, form, error)
    return await _tokens_page(request, Form(), secret=token["sha1"])


def _new_token(form: Form) -> dict[str, Any]:
    """Return the API request for a token.

    Raises Invalid if no scope is chosen or the expiry is not a number of days.
    """
    chosen = ((form.text(group), group) for group in GROUPS)
    body: dict[str, Any] = {
        "name": form.text("name"),
        "scopes": [f"{act}:{group}" for act, group in chosen if act in ("read", "write")],
    }
    if not body["scopes"]:
        raise Invalid("choose what the token may do")
    if repositories := form.text("repositories").split():
        body["repositories"] = repositories
    days = whole_number(form.text("days"), 4)
    if days is None and form.text("days"):
        raise Invalid.field("days", "number", "is no number of days")
    if days is not None:
        body["expires_at"] = (now() + timedelta(days=days)).isoformat()
    return body


@get("/user/settings/oauth2", policy=anyone(), include_in_schema=False)
async def applications(request: WebRequest) -> Response[str]:
    """Show applications that may act for the caller, and applications that the caller has registered."""
    request.require_signed_in()
    return await _applications_page(request, Form())


async def _applications_page(
    request: WebRequest, form: Form, problem: ApiError | None = None, *, registration: Any = None
) -> Response[str]:
    """Return the page of applications. ``form`` is a rejected form.

    ``registration`` was just created or changed; its secret is shown only once.
    """
    grants, own = await gather(
        request.forge.listing("identity", "/user/oauth2_grants", page=request.number, limit=SHOWN),
        request.forge.listing("identity", APPLICATIONS, page=request.number_of(OWN_PAGE), limit=SHOWN),
    )
    return page(
        request,
        "oauth2",
        "Applications",
        problem=problem,
        grants=grants.rows,
        grant_pages=request.pages_of(grants.total, SHOWN),
        own=own.rows,
        own_pages=request.pages_of(own.total, SHOWN, OWN_PAGE),
        registration=registration,
        form=form,
    )


@post("/user/settings/oauth2", policy=anyone(), include_in_schema=False)
async def change_applications(request: WebRequest) -> Response[Any]:
    """Register, change or remove an application, replace its secret, or revoke its access."""
    form = await request.sent_form()
    own = APPLICATIONS + at(form.text("id"))
    try:
        match form.text("do"):
            case "revoke":
                await request.forge.send("DELETE", "identity", at("user", "oauth2_grants", form.text("id")))
                return request.redirect("/user/settings/oauth2")
            case "remove":
                await request.forge.send("DELETE", "identity", own)
                return request.redirect("/user/settings/oauth2")
            case "secret":
                registration = await request.forge.send("PATCH", "identity", own)
            case "edit":
                registration = await request.forge.send("PATCH", "identity", own, _application_of(form))
            case _:
                registration = await request.forge.send(
                    "POST", "identity", APPLICATIONS, _application_of(form)
                )
    except ApiError as error:
        return await _applications_page(request, form, error)
    return await _applications_page(request, Form(), registration=registration)


def _application_of(form: Form) -> dict[str, Any]:
    """Return the API request for the form of an application."""
    return {
        "name": form.text("name"),
        "redirect_uris": form.lines("redirect_uris").split(),
        "confidential_client": form.has("confidential"),
    }


routes = [tokens, change_tokens, applications, change_applications]
