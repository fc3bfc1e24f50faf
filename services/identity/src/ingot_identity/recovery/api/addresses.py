"""The page that confirms an address, linked from a mail.

Opening it changes nothing, because mail scanners open links, too. The owner must press a button.
"""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.emails import rules as emails
from ingot_identity.messages.components import MessageComponents
from ingot_identity.recovery.api import html
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.html import refusal_page

CONFIRM = "/user/confirm_address"
INVALID = (
    "This link is not valid for the account that is signed in. It was used, it is too old, or it belongs to "
    "another account."
)
Page = Response[Any]


@get(CONFIRM, policy=anyone(), include_in_schema=False)
async def confirmation_form(request: IdentityRequest) -> Page:
    """Return the form that confirms an address of the signed-in account, or the sign-in page."""
    browser = Browser(request)
    session = await browser.session()
    code = request.query_params.get("code", "")
    if session is None:
        target = f"{CONFIRM}?{urlencode({'code': code})}"
        return browser.redirect(f"{browser.root}/login?{urlencode({'to': target})}")
    messages = request.part(MessageComponents).messages
    async with request.db.read() as db:
        row = await messages.get_by_code(db, "address_confirmation", code)
    if row is None or row.account_id != session.id:
        return browser.page(refusal_page(INVALID), status=404)
    hidden = {"token": browser_sessions.form_token(browser.session_secret), "code": code}
    page = html.confirmation_page(
        login=session.login,
        address=messages.address_of(row),
        action=f"{browser.root}{CONFIRM}",
        hidden=hidden,
    )
    return browser.page(page)


@post(CONFIRM, policy=anyone(), include_in_schema=False, status_code=303)
async def confirm_address(request: IdentityRequest) -> Page:
    """Confirm an address of the signed-in account."""
    browser = Browser(request)
    session = await browser.session()
    form = await browser.form()
    if session is None or not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    messages = request.part(MessageComponents).messages
    actor = Actor(session.id, session.login, via="session", address=client_address())
    try:
        async with request.db.transaction() as tx:
            address = await emails.confirm(tx, messages, session.id, form.get("code", ""))
            await add_entry(tx, actor, "email.confirm", f"user {session.login}", {"email": address})
    except NotFound:
        return browser.page(refusal_page(INVALID), status=404)
    return browser.redirect(f"{browser.root}/user/settings/emails")


routes = [confirmation_form, confirm_address]
