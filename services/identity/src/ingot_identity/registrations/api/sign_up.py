"""The pages where people create their own accounts, if the registration setting allows it.

With mail, the first form only asks for an address. The response does not depend on the address: no account is
looked up before the mail is sent. The link in the mail opens the form for the account.
"""

from importlib.resources import files
from typing import Any, NamedTuple

from litestar import Response, get, post
from litestar.datastructures import Cookie

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Conflict, Denied, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.names import check_email
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import PAGES
from ingot_identity.registrations.api import html
from ingot_identity.registrations.api.credentials import audit_registration, passkey_offer, read_credentials
from ingot_identity.registrations.api.welcomes import welcome
from ingot_identity.registrations.components import RegistrationComponents
from ingot_identity.registrations.rules import accounts as registrations
from ingot_identity.registrations.rules import approvals
from ingot_identity.registrations.rules.accounts import Credentials, NewAccount, Registered
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser, script_response
from ingot_identity.sign_in.api.html import Page as PageText
from ingot_identity.sign_in.api.html import refusal_page

SIGN_UP, REGISTER, SCRIPT = "/user/sign_up", PAGES[registrations.KIND], "/login/work.js"
CLOSED = "Those who run this site make accounts. Ask them for one."
INVALID = "This link makes no account. It was used, or it is too old, or its address has an account."
SOURCE = (files("ingot_identity.registrations") / "work.js").read_bytes()
Page = Response[Any]


@get(SCRIPT, policy=anyone(), include_in_schema=False)
async def work_script(request: IdentityRequest) -> Page:
    """Return the script that does the proof of work."""
    return script_response(request, SOURCE)


@get(SIGN_UP, policy=anyone(), include_in_schema=False)
async def sign_up_form(request: IdentityRequest) -> Page:
    """Return the first form: for the address, or for the whole account if the site sends no mail."""
    browser = Browser(request)
    if not request.part(RegistrationComponents).admission.is_open:
        return browser.page(refusal_page(CLOSED), status=404)
    return _first_page(request, browser, {})


@post(SIGN_UP, policy=anyone(), include_in_schema=False, status_code=200)
async def sign_up(request: IdentityRequest) -> Page:
    """Request a mail with a link, or create the account if the site sends no mail."""
    browser, registration = Browser(request), request.part(RegistrationComponents)
    form = await browser.form()
    if not registration.admission.is_open:
        return browser.page(refusal_page(CLOSED), status=404)
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    address, messages = form.get("email", "").strip(), request.part(MessageComponents).messages
    credentials = None
    try:
        await registration.quota.take("sign_up", client_address())
        check_email(address)
        registration.admission.require_address(address)
        await registration.work.require(form.get("challenge", ""), form.get("work", ""))
        if not messages.is_on:
            credentials = await read_credentials(request, browser, form, "")
            outcome = await _register(request, form, credentials, address=address)
            return await _registered(request, browser, outcome, "")
    except (Conflict, Denied, Invalid, TooManyRequests, Unavailable) as error:
        return _first_page(request, browser, form, error, credentials)
    async with request.db.transaction() as tx:
        await messages.request(tx, registrations.KIND, address=address)
    return browser.page(html.request_page())


@get(REGISTER, policy=anyone(), include_in_schema=False)
async def account_form(request: IdentityRequest) -> Page:
    """Return the form for the account of the address of a link."""
    browser, code = Browser(request), request.query_params.get("code", "")
    address = await _address_of(request, code)
    if not address:
        return browser.page(refusal_page(INVALID), status=404)
    return _account_page(request, browser, code, address, {})


@post(REGISTER, policy=anyone(), include_in_schema=False, status_code=303)
async def register_account(request: IdentityRequest) -> Page:
    """Create the account of the address of a link, and sign it in."""
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    code = form.get("code", "")
    address = await _address_of(request, code)
    if not address:
        return browser.page(refusal_page(INVALID), status=404)
    credentials = None
    try:
        await request.part(RegistrationComponents).quota.take("registration", client_address())
        credentials = await read_credentials(request, browser, form, code)
        outcome = await _register(request, form, credentials, code=code)
    except NotFound:
        return browser.page(refusal_page(INVALID), status=404)
    except (Conflict, Denied, Invalid, TooManyRequests, Unavailable) as error:
        return _account_page(request, browser, code, address, form, error, credentials)
    return await _registered(request, browser, outcome, code)


async def _address_of(request: IdentityRequest, code: str) -> str:
    """Return the address of a registration link; empty if the link is not valid or registration is closed."""
    messages = request.part(MessageComponents).messages
    if not request.part(RegistrationComponents).admission.is_open:
        return ""
    async with request.db.read() as db:
        row = await registrations.find_link(db, messages, code)
    return messages.address_of(row) if row is not None else ""


class _Waiting(NamedTuple):
    """A registration that waits for an administrator. It has recovery codes if it has a passkey."""

    recovery_codes: list[str]


async def _register(
    request: IdentityRequest,
    form: dict[str, str],
    credentials: Credentials,
    *,
    code: str = "",
    address: str = "",
) -> Registered | _Waiting:
    """Create an account, or queue its registration.

    The address is the address of the link with ``code``, or else the typed address, unconfirmed. Raises
    NotFound, Conflict, Invalid, TooManyRequests.
    """
    messages, login = request.part(MessageComponents).messages, form.get("username", "").strip()
    async with request.db.transaction() as tx:
        address = address or await registrations.take_link(tx, messages, code)
        new = NewAccount(login, address, credentials, confirmed=bool(code))
        if request.part(RegistrationComponents).admission.mode == "approval":
            codes = await approvals.add(tx, new, form.get("note", "").strip())
            actor = Actor(via=_via(code), address=client_address())
            await add_entry(tx, actor, "registration.request", f"user {login}", {"email": address})
            return _Waiting(codes)
        registered = await registrations.register(tx, request.presenter, new)
        await audit_registration(tx, registered, _via(code))
    return registered


def _via(code: str) -> str:
    return "mail" if code else "basic"


async def _registered(
    request: IdentityRequest, browser: Browser, outcome: Registered | _Waiting, code: str
) -> Page:
    """Return the page after a registration. Starts a session for a new account."""
    if isinstance(outcome, _Waiting):
        return browser.page(html.waiting_page(outcome.recovery_codes))
    return await welcome(request, browser, outcome, _via(code), f"{browser.root}/")


def _first_page(
    request: IdentityRequest,
    browser: Browser,
    form: dict[str, str],
    error: ApiError | None = None,
    refused: Credentials | None = None,
) -> Page:
    challenge, cookie = request.part(RegistrationComponents).work.new(), browser.form_cookie()
    fields = {
        "action": f"{browser.root}{SIGN_UP}",
        "challenge": challenge,
        "script": f"{browser.root}{SCRIPT}",
        "address": form.get("email", ""),
        "problem": error.message if error else "",
    }
    hidden, passkey = {"token": browser_sessions.form_token(browser.form_secret)}, ""
    if request.part(MessageComponents).messages.is_on:
        page = html.address_page(**fields, hidden=hidden)
    else:
        login, passkey = form.get("username", ""), passkey_offer(request, browser, "", refused)
        page = html.unconfirmed_page(
            **fields, hidden=hidden, login=login, note=_note(request, form), passkey=passkey
        )
    return _answer(browser, page, error, [cookie] if cookie else [], scripts=bool(challenge or passkey))


def _account_page(
    request: IdentityRequest,
    browser: Browser,
    code: str,
    address: str,
    form: dict[str, str],
    error: ApiError | None = None,
    refused: Credentials | None = None,
) -> Page:
    cookie = browser.form_cookie()
    passkey = passkey_offer(request, browser, code, refused)
    page = html.account_page(
        address=address,
        action=f"{browser.root}{REGISTER}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "code": code},
        login=form.get("username", ""),
        note=_note(request, form),
        passkey=passkey,
        problem=error.message if error else "",
    )
    return _answer(browser, page, error, [cookie] if cookie else [], scripts=bool(passkey))


def _note(request: IdentityRequest, form: dict[str, str]) -> str | None:
    """Return the text for the administrators; None if no approval is needed."""
    asks = request.part(RegistrationComponents).admission.mode == "approval"
    return form.get("note", "") if asks else None


def _answer(
    browser: Browser,
    page: PageText,
    error: ApiError | None,
    cookies: list[Cookie],
    *,
    scripts: bool = False,
) -> Page:
    answer = browser.page(page, status=error.status if error else 200, cookies=cookies, scripts=scripts)
    answer.headers.update((error.headers if error else None) or {})
    return answer


routes = [work_script, sign_up_form, sign_up, account_form, register_account]
