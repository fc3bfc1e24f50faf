"""Pages for passkeys: sign-in without a password, and the passkeys of the signed-in account."""

from importlib.resources import files
from typing import Any

from litestar import Response, get, post

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Conflict, Denied, Invalid, NotFound, TooManyRequests
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.messages.components import MessageComponents
from ingot_identity.oauth2.rules.protocol import Answer
from ingot_identity.oauth2.rules.requests import Consent
from ingot_identity.passkeys import store
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey, browser_of
from ingot_identity.reverse_proxies.components import ReverseProxyComponents
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api import passkey_html as html
from ingot_identity.sign_in.api.browser import Browser, checked_query, local_path, script_response
from ingot_identity.sign_in.api.pages import (
    AUTHORIZE,
    SIGN_IN,
    checked_request,
    leads_to_application,
    next_query,
)
from ingot_identity.sign_in.api.proofs import confirm_address, is_proved
from ingot_identity.sign_in.api.second_factors import signed_challenge
from ingot_identity.sign_in.api.starts import start_session_without_password
from ingot_identity.two_factors import store as two_factors
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.codes import new_recovery_codes
from ingot_identity.two_factors.rules.enrolments import add_passkey, remove_passkey
from ingot_identity.two_factors.rules.proofs import use_any_passkey

PASSKEY, PASSKEYS = "/login/passkey", "/login/passkeys"
LONGEST_NAME = 100
SOURCE = (files("ingot_identity.sign_in") / "passkeys.js").read_bytes()
Page = Response[Any]


@get(html.SCRIPT, policy=anyone(), include_in_schema=False)
async def script(request: IdentityRequest) -> Page:
    """Return the script of pages with passkeys."""
    return script_response(request, SOURCE)


@get(PASSKEY, policy=anyone(), include_in_schema=False)
async def sign_in_form(request: IdentityRequest) -> Page:
    """Return the form to sign in with a passkey. The next page is ``to``, or the request in ``query``."""
    browser = Browser(request)
    query = checked_query(request.query_params.get("query", ""))
    to = local_path(request.query_params.get("to", "/"))
    return await _sign_in_page(request, browser, query, to)


@post(PASSKEY, policy=anyone(), include_in_schema=False, status_code=303)
async def sign_in(request: IdentityRequest) -> Page:
    """Sign in with a passkey, which replaces the password and the second factor."""
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    query, to = checked_query(form.get("query", "")), local_path(form.get("to", ""))
    try:
        secret = await _sign_in(request, browser, form)
    except (Denied, TooManyRequests) as error:
        return await _sign_in_page(request, browser, query, to, error)
    target = f"{browser.root}{AUTHORIZE}?{query}" if query else browser.root + to
    return browser.redirect(target, cookies=[browser.session_cookie(secret)])


async def _sign_in(request: IdentityRequest, browser: Browser, form: dict[str, str]) -> str:
    """Sign in and return the secret of a new session. Raises Denied, TooManyRequests."""
    challenge = signed_challenge(form, browser.form_secret)
    if challenge is None:
        raise Denied("No passkey was used. Passkeys need JavaScript.")
    sign_ins = request.part(TwoFactorComponents).sign_ins
    used = await use_any_passkey(request.db, sign_ins, challenge, address=client_address())
    async with request.db.read() as db:
        row = await accounts.get(db, used.account_id)
    if row is None or row.login_prohibited or not row.active:
        raise Denied("This account may not sign in.")
    return await start_session_without_password(request, browser, row, "passkey")


async def _sign_in_page(
    request: IdentityRequest, browser: Browser, query: str, to: str, error: ApiError | None = None
) -> Page:
    ceremonies = request.part(TwoFactorComponents).sign_ins.passkeys
    if not ceremonies.available:
        raise NotFound
    consent: Consent | Answer | None = await checked_request(request, query, None) if query else None
    cookie = browser.form_cookie()
    begun = ceremonies.begin_use("sign_in", browser_of(browser.form_secret))
    page = html.passkey_sign_in_page(
        action=f"{browser.root}{PASSKEY}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "query": query, "to": to},
        button=html.use_button(begun, browser.root, "Use a passkey", primary=True),
        sign_in=f"{browser.root}{AUTHORIZE}?{query}"
        if query
        else f"{browser.root}{SIGN_IN}?{next_query('', to)}",
        application=consent.application.name if isinstance(consent, Consent) else "",
        problem=error.message if error else "",
    )
    answer = browser.page(
        page,
        status=error.status if error else 200,
        leads_to=leads_to_application(consent),
        cookies=[cookie] if cookie else [],
        scripts=True,
    )
    answer.headers.update((error.headers if error else None) or {})
    return answer


@get(PASSKEYS, policy=anyone(), include_in_schema=False)
async def list_passkeys(request: IdentityRequest) -> Page:
    """List the passkeys of the signed-in account, with the form to add one."""
    browser = Browser(request)
    session = await browser.session()
    if session is None:
        # The sign-in page knows the way of an account that has to enrol first.
        return browser.redirect(f"{browser.root}{SIGN_IN}?{next_query('', PASSKEYS)}")
    if not is_proved(request, session):
        return browser.redirect(confirm_address(browser, PASSKEYS))
    return await _list_page(request, browser, session)


@post(PASSKEYS, policy=anyone(), include_in_schema=False, status_code=303)
async def change_passkeys(request: IdentityRequest) -> Page:
    """Add, rename or delete a passkey, or create new recovery codes."""
    browser = Browser(request)
    form = await browser.form()
    session = await browser.enrolling_session()
    if session is None or not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    if not is_proved(request, session):
        return browser.redirect(confirm_address(browser, PASSKEYS))
    try:
        codes = await _change(request, browser, session, form)
    except (Conflict, Invalid, InvalidPasskey, NotFound) as error:
        name = form.get("name", "") if form.get("do") == "add" else ""
        return await _list_page(request, browser, session, name=name, error=error)
    if codes:
        return await _list_page(request, browser, session, new_codes=codes)
    return browser.redirect(f"{browser.root}{PASSKEYS}")


async def _change(
    request: IdentityRequest, browser: Browser, session: SessionHolderRow, form: dict[str, str]
) -> list[str]:
    """Apply a change and return new recovery codes, if any.

    Raises Conflict, Invalid, InvalidPasskey, NotFound.
    """
    actor = Actor(session.id, session.login, via="session", address=client_address())
    subject, passkey_id = f"user {session.login}", _id(form.get("id", ""))
    match form.get("do"):
        case "add":
            name = _name(form.get("name", "") or "Passkey")
            new = await request.part(TwoFactorComponents).sign_ins.passkeys.finish_creation(
                request.db,
                form.get("state", ""),
                form.get("credential", ""),
                browser=browser_of(browser.session_secret),
                account_id=session.id,
            )
            async with request.db.transaction() as tx:
                passkey_id, codes = await add_passkey(tx, session.id, new, name)
                await add_entry(tx, actor, "passkey.add", subject, {"id": passkey_id, "name": name})
                await request.part(MessageComponents).messages.notify(
                    tx, "new_key", session.id, page=PASSKEYS, name=f"passkey {name}"
                )
            return codes
        case "rename":
            name = _name(form.get("name", ""))
            async with request.db.transaction() as tx:
                if not await store.rename(tx, session.id, passkey_id, name):
                    raise NotFound
                await add_entry(tx, actor, "passkey.rename", subject, {"id": passkey_id, "name": name})
        case "delete":
            async with request.db.transaction() as tx:
                has_other_way = await request.part(ReverseProxyComponents).is_way_in(tx, session.id)
                await remove_passkey(tx, session.id, passkey_id, has_other_way=has_other_way)
                await add_entry(tx, actor, "passkey.delete", subject, {"id": passkey_id})
        case "codes":
            async with request.db.transaction() as tx:
                codes = await new_recovery_codes(tx, session.id)
                await add_entry(tx, actor, "two_factor.renew_recovery_codes", subject, {})
            return codes
        case _:
            raise Invalid.field("do", "unknown", "is not add, rename, delete or codes")
    return []


async def _list_page(
    request: IdentityRequest,
    browser: Browser,
    session: SessionHolderRow,
    *,
    new_codes: list[str] | None = None,
    name: str = "",
    error: ApiError | None = None,
) -> Page:
    ceremonies = request.part(TwoFactorComponents).sign_ins.passkeys
    async with request.db.read() as db:
        rows = await store.list_of(db, session.id)
        count = await two_factors.count_recovery_codes(db, session.id)
        has_other_way = await request.part(ReverseProxyComponents).is_way_in(db, session.id)
    begun = None
    if ceremonies.available:
        browser_id = browser_of(browser.session_secret)
        begun = ceremonies.begin_creation(session, rows, browser_id, has_other_way=has_other_way)
    page = html.passkeys_page(
        rows=rows,
        begun=begun,
        root=browser.root,
        action=f"{browser.root}{PASSKEYS}",
        token=browser_sessions.form_token(browser.session_secret),
        recovery_codes=count,
        new_codes=new_codes or (),
        name=name,
        problem=_words(error),
    )
    return browser.page(page, status=error.status if error else 200, scripts=True)


def _words(error: ApiError | None) -> str:
    match error:
        case None:
            return ""
        case NotFound():
            return "This passkey was deleted already."
        case Invalid():
            return "; ".join(f"{each.field} {each.message}" for each in error.errors)
        case _:
            return error.message


def _name(text: str) -> str:
    """Return the name of a passkey. Raises Invalid."""
    name = text.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid.field("name", "invalid", f"needs 1 to {LONGEST_NAME} printable characters")
    return name


def _id(text: str) -> int:
    """Return the id in a form. Any other text returns 0, which no passkey has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


routes = [script, sign_in_form, sign_in, list_passkeys, change_passkeys]
