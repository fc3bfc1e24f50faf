"""The page where invited people create an account, also if registration is closed."""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, Denied, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.invitations import rules as invitations
from ingot_identity.invitations.components import InvitationComponents
from ingot_identity.invitations.rules import InvitationLink
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import PAGES
from ingot_identity.registrations.api import html
from ingot_identity.registrations.api.credentials import audit_registration, passkey_offer, read_credentials
from ingot_identity.registrations.api.welcomes import welcome
from ingot_identity.registrations.components import RegistrationComponents
from ingot_identity.registrations.rules import accounts as registrations
from ingot_identity.registrations.rules.accounts import Credentials, Registered
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.html import refusal_page

INVITED = "/user/invited"
INVALID = "This link makes no account. It was used, it is too old, or the invitation was withdrawn."
Page = Response[Any]


@get(INVITED, policy=anyone(), include_in_schema=False)
async def invited_form(request: IdentityRequest) -> Page:
    """Return the form for the account of an invited person."""
    code = request.query_params.get("code", "")
    link = await _find(request, code)
    if link is None:
        return Browser(request).page(refusal_page(INVALID), status=404)
    return _page(request, link, code)


@post(INVITED, policy=anyone(), include_in_schema=False, status_code=303)
async def register_invited(request: IdentityRequest) -> Page:
    """Create the account, sign it in, and continue with the invitation."""
    browser, form = Browser(request), await Browser(request).form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    code, login = form.get("code", ""), form.get("username", "").strip()
    link = await _find(request, code)
    if link is None:
        return browser.page(refusal_page(INVALID), status=404)
    credentials = None
    try:
        await request.part(RegistrationComponents).quota.take("registration", client_address())
        credentials = await read_credentials(request, browser, form, code)
        registered = await _register(request, code, login, credentials)
    except NotFound:
        return browser.page(refusal_page(INVALID), status=404)
    except (Conflict, Denied, Invalid, TooManyRequests, Unavailable) as error:
        return _page(request, link, code, login, error, credentials)
    target = f"{browser.root}{PAGES[invitations.KIND]}?{urlencode({'code': code})}"
    return await welcome(request, browser, registered, "mail", target)


async def _find(request: IdentityRequest, code: str) -> InvitationLink | None:
    """Return the invitation; None if it cannot be used to create an account."""
    if not request.part(InvitationComponents).may_register:
        return None
    async with request.db.read() as db:
        link = await invitations.find(db, request.part(MessageComponents).messages, code)
    return link if link is not None and not link.invitation.registered else None


async def _register(request: IdentityRequest, code: str, login: str, credentials: Credentials) -> Registered:
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        registered = await registrations.register_invited(
            tx, request.presenter, messages, code, login=login, credentials=credentials
        )
        await audit_registration(tx, registered, "mail")
    return registered


def _page(
    request: IdentityRequest,
    link: InvitationLink,
    code: str,
    login: str = "",
    error: ApiError | None = None,
    refused: Credentials | None = None,
) -> Page:
    browser = Browser(request)
    cookie = browser.form_cookie()
    passkey = passkey_offer(request, browser, code, refused)
    page = html.invited_page(
        address=request.part(MessageComponents).messages.unseal(link.invitation.sealed_address),
        target=link.target.words,
        action=f"{browser.root}{INVITED}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "code": code},
        login=login,
        passkey=passkey,
        problem=error.message if error else "",
    )
    answer = browser.page(
        page,
        status=error.status if error else 200,
        cookies=[cookie] if cookie else [],
        scripts=bool(passkey),
    )
    answer.headers.update((error.headers if error else None) or {})
    return answer


routes = [invited_form, register_invited]
