"""The page where invited people make an account, also where registration is closed."""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Denied, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.invitations import rules as invitations
from ingot_identity.invitations.components import InvitationComponents
from ingot_identity.invitations.rules import InvitationLink
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import PAGES
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.registrations.api import html
from ingot_identity.registrations.components import RegistrationComponents
from ingot_identity.registrations.rules import accounts as registrations
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.html import refusal_page
from ingot_identity.sign_in.api.starts import start_session_without_password

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
    """Make the account, sign it in, and continue with the invitation."""
    browser, form = Browser(request), await Browser(request).form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    code, login = form.get("code", ""), form.get("username", "").strip()
    link = await _find(request, code)
    if link is None:
        return browser.page(refusal_page(INVALID), status=404)
    try:
        row = await _register(request, code, login, form.get("password", ""), form.get("repeated", ""))
    except NotFound:
        return browser.page(refusal_page(INVALID), status=404)
    except (Denied, Invalid, TooManyRequests, Unavailable) as error:
        return _page(request, link, code, login, error)
    secret = await start_session_without_password(request, browser, row, "mail")
    target = f"{browser.root}{PAGES[invitations.KIND]}?{urlencode({'code': code})}"
    return browser.redirect(await browser.next_address(row, target), cookies=[browser.session_cookie(secret)])


async def _find(request: IdentityRequest, code: str) -> InvitationLink | None:
    """Return the invitation, if it makes an account."""
    if not request.part(InvitationComponents).may_register:
        return None
    async with request.db.read() as db:
        link = await invitations.find(db, request.part(MessageComponents).messages, code)
    return link if link is not None and not link.invitation.registered else None


async def _register(
    request: IdentityRequest, code: str, login: str, password: str, repeated: str
) -> AccountRow:
    await request.part(RegistrationComponents).quota.take("registration", client_address())
    if password != repeated:
        raise Invalid.field("password", "repeated", "was typed in two ways")
    password_hash = await request.part(PasswordComponents).checks.passwords.hash(password)
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        row = await registrations.register_invited(
            tx, request.presenter, messages, code, login=login, password_hash=password_hash
        )
        actor = Actor(row.id, row.login, via="mail", address=client_address())
        await add_entry(tx, actor, "user.register", f"user {row.login}", {"id": row.id, "email": row.email})
    return row


def _page(
    request: IdentityRequest,
    link: InvitationLink,
    code: str,
    login: str = "",
    error: ApiError | None = None,
) -> Page:
    browser = Browser(request)
    cookie = browser.form_cookie()
    page = html.invited_page(
        address=request.part(MessageComponents).messages.unseal(link.invitation.sealed_address),
        target=link.target.words,
        action=f"{browser.root}{INVITED}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "code": code},
        login=login,
        problem=error.message if error else "",
    )
    answer = browser.page(page, status=error.status if error else 200, cookies=[cookie] if cookie else [])
    answer.headers.update((error.headers if error else None) or {})
    return answer


routes = [invited_form, register_invited]
