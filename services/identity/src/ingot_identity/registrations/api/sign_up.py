"""The pages where people make accounts themselves, if the setting of registration allows it.

With mail, the first form asks for an address alone. Its answer does not depend on the address: no account is
looked for before the mail is sent. The link of the mail leads to the form for the account.
"""

from importlib.resources import files
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import Cookie

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.names import check_email
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import PAGES
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.registrations.api import html
from ingot_identity.registrations.components import RegistrationComponents
from ingot_identity.registrations.rules import accounts as registrations
from ingot_identity.registrations.rules import approvals
from ingot_identity.registrations.rules.accounts import NewAccount
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sign_in.api.browser import Browser, script_response
from ingot_identity.sign_in.api.html import Page as PageText
from ingot_identity.sign_in.api.html import refusal_page
from ingot_identity.sign_in.api.starts import start_session_without_password

SIGN_UP, REGISTER, SCRIPT = "/user/sign_up", PAGES[registrations.KIND], "/login/work.js"
CLOSED = "Those who run this site make accounts. Ask them for one."
INVALID = "This link makes no account. It was used, or it is too old, or its address has an account."
SOURCE = (files("ingot_identity.registrations") / "work.js").read_bytes()
Page = Response[Any]


@get(SCRIPT, policy=anyone(), include_in_schema=False)
async def work_script() -> Response[bytes]:
    """Return the script that does the proof of work."""
    return script_response(SOURCE)


@get(SIGN_UP, policy=anyone(), include_in_schema=False)
async def sign_up_form(request: IdentityRequest) -> Page:
    """Return the first form: for the address, or for the whole account if the site sends no mail."""
    browser = Browser(request)
    if not request.part(RegistrationComponents).admission.is_open:
        return browser.page(refusal_page(CLOSED), status=404)
    return _first_page(request, browser, {})


@post(SIGN_UP, policy=anyone(), include_in_schema=False, status_code=200)
async def sign_up(request: IdentityRequest) -> Page:
    """Request a mail with a link, or make the account if the site sends no mail."""
    browser, registration = Browser(request), request.part(RegistrationComponents)
    form = await browser.form()
    if not registration.admission.is_open:
        return browser.page(refusal_page(CLOSED), status=404)
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    address, messages = form.get("email", "").strip(), request.part(MessageComponents).messages
    try:
        await registration.quota.take("sign_up", client_address())
        check_email(address)
        registration.admission.require_address(address)
        await registration.work.require(form.get("challenge", ""), form.get("work", ""))
        if not messages.is_on:
            row = await _register(request, form, address=address)
            return await _registered(request, browser, row, "")
    except (Invalid, TooManyRequests, Unavailable) as error:
        return _first_page(request, browser, form, error)
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
    """Make the account of the address of a link, and sign it in."""
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    code = form.get("code", "")
    address = await _address_of(request, code)
    if not address:
        return browser.page(refusal_page(INVALID), status=404)
    try:
        await request.part(RegistrationComponents).quota.take("registration", client_address())
        row = await _register(request, form, code=code)
    except NotFound:
        return browser.page(refusal_page(INVALID), status=404)
    except (Invalid, TooManyRequests, Unavailable) as error:
        return _account_page(request, browser, code, address, form, error)
    return await _registered(request, browser, row, code)


async def _address_of(request: IdentityRequest, code: str) -> str:
    """Return the address of a link that makes an account; empty for another one."""
    messages = request.part(MessageComponents).messages
    if not request.part(RegistrationComponents).admission.is_open:
        return ""
    async with request.db.read() as db:
        row = await registrations.find_link(db, messages, code)
    return messages.address_of(row) if row is not None else ""


async def _register(
    request: IdentityRequest, form: dict[str, str], *, code: str = "", address: str = ""
) -> AccountRow | None:
    """Make an account, or let its registration wait: then None.

    Its address is that of the link with ``code``, or else the typed one, which nothing confirms. Raises
    NotFound, Invalid, TooManyRequests, Unavailable.
    """
    if form.get("password", "") != form.get("repeated", ""):
        raise Invalid.field("password", "repeated", "was typed in two ways")
    password_hash = await request.part(PasswordComponents).checks.passwords.hash(form.get("password", ""))
    messages, login = request.part(MessageComponents).messages, form.get("username", "").strip()
    async with request.db.transaction() as tx:
        address = address or await registrations.take_link(tx, messages, code)
        new = NewAccount(login, address, password_hash, confirmed=bool(code))
        if request.part(RegistrationComponents).admission.mode == "approval":
            await approvals.add(tx, new, form.get("note", "").strip())
            actor = Actor(via=_via(code), address=client_address())
            await add_entry(tx, actor, "registration.request", f"user {login}", {"email": address})
            return None
        row = await registrations.register(tx, request.presenter, new)
        actor = Actor(row.id, row.login, via=_via(code), address=client_address())
        await add_entry(tx, actor, "user.register", f"user {row.login}", {"id": row.id, "email": row.email})
    return row


def _via(code: str) -> str:
    return "mail" if code else "basic"


async def _registered(request: IdentityRequest, browser: Browser, row: AccountRow | None, code: str) -> Page:
    """Return the answer to a new account, whose session it starts, or to a registration that waits."""
    if row is None:
        return browser.page(html.waiting_page())
    secret = await start_session_without_password(request, browser, row, _via(code))
    target = await browser.next_address(row, f"{browser.root}/")
    return browser.redirect(target, cookies=[browser.session_cookie(secret)])


def _first_page(
    request: IdentityRequest, browser: Browser, form: dict[str, str], error: ApiError | None = None
) -> Page:
    challenge, cookie = request.part(RegistrationComponents).work.new(), browser.form_cookie()
    fields = {
        "action": f"{browser.root}{SIGN_UP}",
        "challenge": challenge,
        "script": f"{browser.root}{SCRIPT}",
        "address": form.get("email", ""),
        "problem": error.message if error else "",
    }
    hidden = {"token": browser_sessions.form_token(browser.form_secret)}
    if request.part(MessageComponents).messages.is_on:
        page = html.address_page(**fields, hidden=hidden)
    else:
        login = form.get("username", "")
        page = html.unconfirmed_page(**fields, hidden=hidden, login=login, note=_note(request, form))
    return _answer(browser, page, error, [cookie] if cookie else [], scripts=bool(challenge))


def _account_page(
    request: IdentityRequest,
    browser: Browser,
    code: str,
    address: str,
    form: dict[str, str],
    error: ApiError | None = None,
) -> Page:
    cookie = browser.form_cookie()
    page = html.account_page(
        address=address,
        action=f"{browser.root}{REGISTER}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "code": code},
        login=form.get("username", ""),
        note=_note(request, form),
        problem=error.message if error else "",
    )
    return _answer(browser, page, error, [cookie] if cookie else [])


def _note(request: IdentityRequest, form: dict[str, str]) -> str | None:
    """Return the text for the administrators; None if they are not asked."""
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
