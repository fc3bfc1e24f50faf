"""Routes for password, sessions, email addresses and second factor of the caller."""

from asyncio import gather
from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.account_settings.rules.qr_codes import qr_code
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import PROOF, WebRequest

SHOWN = 50
FACTOR = "/user/two_factor"


@get("/user/settings/security", policy=anyone(), include_in_schema=False)
async def sessions(request: WebRequest) -> Response[str]:
    """List the browsers in which the caller is signed in, with the form for the password."""
    request.require_signed_in()
    return await _security_page(request)


async def _security_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    listing, proof = await gather(
        request.forge.listing("identity", "/user/sessions", page=request.number, limit=SHOWN),
        _ways(request),
    )
    return page(
        request,
        "security",
        "Password and sessions",
        problem=problem,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
        first_password=proof.get("first_password", False),
    )


async def _ways(request: WebRequest) -> Mapping[str, Any]:
    """Return the proofs that the caller can give; none if identity runs an older release."""
    try:
        ways: Mapping[str, Any] = await request.forge.get("identity", PROOF)
    except NotFound:
        return {}
    return ways


@post("/user/settings/password", policy=anyone(), include_in_schema=False)
async def change_password(request: WebRequest) -> Response[Any]:
    """Change the password, or set the first password.

    This ends every session, so the browser is redirected to the sign-in page.
    """
    form = await request.sent_form()
    body = {"old_password": form["old_password"], "new_password": form["new_password"]}
    try:
        if form["new_password"] != form["repeated"]:
            raise Invalid.field("new_password", "repeated", "the new password was typed in two ways")
        await request.forge.send("POST", "identity", "/user/password", body)
    except ApiError as error:
        return await _security_page(request, error)
    return request.redirect("/login")


@post("/user/settings/security", policy=anyone(), include_in_schema=False)
async def end_session(request: WebRequest) -> Response[Any]:
    """End a session."""
    form = await request.sent_form()
    try:
        await request.forge.send("DELETE", "identity", at("user", "sessions", form.text("id")))
    except ApiError as error:
        return await _security_page(request, error)
    return request.redirect("/user/settings/security")


@get("/user/settings/emails", policy=anyone(), include_in_schema=False)
async def emails(request: WebRequest) -> Response[str]:
    """Show the email addresses of the caller."""
    request.require_signed_in()
    return await _emails_page(request, Form())


async def _emails_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/emails", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    sends_mail = request.sends_mail
    return page(
        request,
        "emails",
        "Addresses",
        problem=problem,
        form=form,
        listing=listing,
        pages=pages,
        sends_mail=sends_mail,
    )


@post("/user/settings/emails", policy=anyone(), include_in_schema=False)
async def change_emails(request: WebRequest) -> Response[Any]:
    """Add or remove an address, or choose the primary address."""
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
    """Show the state of the second factor, with the form to add one."""
    request.require_signed_in()
    return await _factor_page(request)


async def _factor_page(
    request: WebRequest, problem: ApiError | None = None, *, enrolment: Any = None, codes: Any = ()
) -> Response[str]:
    """Return the page of the second factor.

    ``enrolment`` is the data for the app, ``codes`` are new recovery codes. Both are shown only once.
    """
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
    """Begin, confirm or remove a second factor, or create new recovery codes."""
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


routes = [sessions, end_session, change_password, emails, change_emails, two_factor, change_two_factor]
