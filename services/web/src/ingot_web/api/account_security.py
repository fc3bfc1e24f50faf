"""Security of one's own account: addresses, the second factor, and applications that act for the caller."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.api.account_settings import page
from ingot_web.api.request import Form, WebRequest
from ingot_web.clients.forge import at
from ingot_web.core.qr_codes import qr_code

SHOWN = 50
FACTOR = "/user/two_factor"
APPLICATIONS = "/user/applications/oauth2"
OWN_PAGE = "own"
"""In the query: which page of the applications of the caller."""


@get("/user/settings/emails", policy=anyone(), include_in_schema=False)
async def emails(request: WebRequest) -> Response[str]:
    """The addresses of the caller."""
    request.require_signed_in()
    return await _emails_page(request, Form())


async def _emails_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/emails", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "emails", "Addresses", problem=problem, form=form, listing=listing, pages=pages)


@post("/user/settings/emails", policy=anyone(), include_in_schema=False)
async def change_emails(request: WebRequest) -> Response[Any]:
    """Add an address, remove one, or choose the one that others see."""
    form = await request.sent_form()
    address = form.text("email")
    try:
        match form.text("do"):
            case "remove":
                await request.forge.send("DELETE", "identity", "/user/emails", {"emails": [address]})
            case "primary":
                await request.forge.send("PATCH", "identity", "/user/emails", {"email": address})
            case _:
                await request.forge.send("POST", "identity", "/user/emails", {"emails": [address]})
    except ApiError as error:
        return await _emails_page(request, form, error)
    return request.redirect("/user/settings/emails")


@get("/user/settings/two_factor", policy=anyone(), include_in_schema=False)
async def two_factor(request: WebRequest) -> Response[str]:
    """Whether there is a second factor, and the way to one."""
    request.require_signed_in()
    return await _factor_page(request)


async def _factor_page(
    request: WebRequest, problem: ApiError | None = None, *, enrolment: Any = None, codes: Any = ()
) -> Response[str]:
    """``enrolment`` is what the app needs, ``codes`` are new recovery codes; both are shown this once."""
    state = await request.forge.get("identity", FACTOR)
    return page(
        request,
        "two_factor",
        "Two-factor authentication",
        problem=problem,
        state=state,
        enrolment=enrolment,
        picture=qr_code(enrolment["uri"], "QR code for the app") if enrolment else "",
        codes=codes,
    )


@post("/user/settings/two_factor", policy=anyone(), include_in_schema=False)
async def change_two_factor(request: WebRequest) -> Response[Any]:
    """Begin with a second factor, confirm it, get new recovery codes, or go on without it."""
    form = await request.sent_form()
    password, code = {"password": form["password"]}, {"code": form.text("code")}
    try:
        match form.text("do"):
            case "begin":
                enrolment = await request.forge.send("POST", "identity", FACTOR, password)
                return await _factor_page(request, enrolment=enrolment)
            case "confirm":
                renewal = await request.forge.send("POST", "identity", f"{FACTOR}/confirm", code)
                return await _factor_page(request, codes=renewal["recovery_codes"])
            case "codes":
                renewal = await request.forge.send(
                    "POST", "identity", f"{FACTOR}/recovery_codes", password | code
                )
                return await _factor_page(request, codes=renewal["recovery_codes"])
            case "remove":
                await request.forge.send("DELETE", "identity", FACTOR, password | code)
    except ApiError as error:
        enrolment = {"secret": form.text("secret"), "uri": form.text("uri")} if form.has("secret") else None
        return await _factor_page(request, error, enrolment=enrolment)
    return request.redirect("/user/settings/two_factor")


@get("/user/settings/oauth2", policy=anyone(), include_in_schema=False)
async def applications(request: WebRequest) -> Response[str]:
    """Applications that act for the caller, and those that the caller has registered."""
    request.require_signed_in()
    return await _applications_page(request, Form())


async def _applications_page(
    request: WebRequest, form: Form, problem: ApiError | None = None, *, registration: Any = None
) -> Response[str]:
    """``registration`` was just made or changed; its secret is shown this once. ``form`` was refused."""
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
    """Take an application its rights; register one, change or remove one, or give it another secret."""
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
    """What the form of an application says, as the API has it."""
    return {
        "name": form.text("name"),
        "redirect_uris": form.lines("redirect_uris").split(),
        "confidential_client": form.has("confidential"),
    }


routes = [emails, change_emails, two_factor, change_two_factor, applications, change_applications]
