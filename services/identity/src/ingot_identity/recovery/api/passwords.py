"""The pages for a forgotten password.

Responses do not depend on the address: no account is looked up before the mail is sent.
"""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import Conflict, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.names import check_email
from ingot_identity.messages.components import MessageComponents
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.recovery import rules as recovery
from ingot_identity.recovery.api import html
from ingot_identity.recovery.components import RecoveryComponents
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.html import refusal_page

FORGOT, RESET = "/user/forgot_password", "/user/reset_password"
NO_MAIL = "This site sends no mail. Its administrators set new passwords."
INVALID = "This link is not valid any more. It was used, it is too old, or the password has changed."
Page = Response[Any]


@get(FORGOT, policy=anyone(), include_in_schema=False)
async def forgotten_password_form(request: IdentityRequest) -> Page:
    """Return the form that asks for the address of an account."""
    return _address_page(request, Browser(request))


@post(FORGOT, policy=anyone(), include_in_schema=False, status_code=200)
async def request_reset(request: IdentityRequest) -> Page:
    """Request a mail with a link to set a new password."""
    browser, messages = Browser(request), request.part(MessageComponents).messages
    form = await browser.form()
    if not messages.is_on:
        return _address_page(request, browser)
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    address = form.get("email", "").strip()
    try:
        await request.part(RecoveryComponents).quota.take("password_reset", client_address())
        check_email(address)
    except (Invalid, TooManyRequests) as error:
        page = _address_page(request, browser, address, error.message, status=error.status)
        page.headers.update(error.headers or {})
        return page
    async with request.db.transaction() as tx:
        await messages.request(tx, "password_reset", address=address)
    return browser.page(html.request_page())


@get(RESET, policy=anyone(), include_in_schema=False)
async def new_password_form(request: IdentityRequest) -> Page:
    """Return the form to set a new password for the account of a link."""
    browser, code = Browser(request), request.query_params.get("code", "")
    async with request.db.read() as db:
        reset = await recovery.find_reset(db, request.part(MessageComponents).messages, code)
    if reset is None:
        return browser.page(refusal_page(INVALID), status=404)
    return _password_page(browser, code, reset.account.login)


@post(RESET, policy=anyone(), include_in_schema=False, status_code=303)
async def set_password(request: IdentityRequest) -> Page:
    """Set a new password for the account of a link. The user then signs in with it."""
    browser, messages = Browser(request), request.part(MessageComponents).messages
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    code, password = form.get("code", ""), form.get("password", "")
    async with request.db.read() as db:
        reset = await recovery.find_reset(db, messages, code)
    if reset is None:
        return browser.page(refusal_page(INVALID), status=404)
    try:
        if password != form.get("repeated", ""):
            raise Invalid.field("password", "repeated", "was typed in two ways")
        password_hash = await request.part(PasswordComponents).checks.passwords.hash(password)
    except (Invalid, Unavailable) as error:
        return _password_page(browser, code, reset.account.login, error.message, status=error.status)
    try:
        async with request.db.transaction() as tx:
            account = await recovery.reset_password(tx, request.presenter, messages, code, password_hash)
            actor = Actor(account.id, account.login, via="mail", address=client_address())
            await add_entry(tx, actor, "user.reset_password", f"user {account.login}", {})
    except (Conflict, NotFound):
        return browser.page(refusal_page(INVALID), status=404)
    return browser.redirect(f"{browser.root}/login")


def _address_page(
    request: IdentityRequest, browser: Browser, address: str = "", problem: str = "", *, status: int = 200
) -> Page:
    if not request.part(MessageComponents).messages.is_on:
        return browser.page(refusal_page(NO_MAIL), status=404)
    cookie = browser.form_cookie()
    page = html.address_page(
        action=f"{browser.root}{FORGOT}",
        hidden={"token": browser_sessions.form_token(browser.form_secret)},
        address=address,
        problem=problem,
    )
    return browser.page(page, status=status, cookies=[cookie] if cookie else [])


def _password_page(browser: Browser, code: str, login: str, problem: str = "", *, status: int = 200) -> Page:
    cookie = browser.form_cookie()
    page = html.password_page(
        login=login,
        action=f"{browser.root}{RESET}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "code": code},
        problem=problem,
    )
    return browser.page(page, status=status, cookies=[cookie] if cookie else [])


routes = [forgotten_password_form, request_reset, new_password_form, set_password]
