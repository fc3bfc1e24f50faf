"""Pages to set up a second factor that the site requires: a passkey or an app."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.passkeys.rules.ceremonies import browser_of
from ingot_identity.reverse_proxies.components import ReverseProxyComponents
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api import passkey_html as html
from ingot_identity.sign_in.api.browser import ENROL, Browser
from ingot_identity.sign_in.api.proofs import confirm_address, is_proved
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.codes import Enrolment

PASSKEYS = "/login/passkeys"
Page = Response[Any]


@get(ENROL, policy=anyone(), include_in_schema=False)
async def enrolment_form(request: IdentityRequest) -> Page:
    """Return the page to set up a second factor, for an account that needs one."""
    browser = Browser(request)
    session = await browser.enrolling_session()
    if session is None or not await browser.must_enrol(session):
        return browser.redirect(f"{browser.root}/login")
    if not is_proved(request, session):
        return browser.redirect(confirm_address(browser, ENROL))
    return await _page(request, browser, session)


@post(ENROL, policy=anyone(), include_in_schema=False, status_code=200)
async def enrol(request: IdentityRequest) -> Page:
    """Begin or confirm a second factor with an app."""
    browser = Browser(request)
    form = await browser.form()
    session = await browser.enrolling_session()
    if session is None or not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    if not await browser.must_enrol(session):
        return browser.redirect(f"{browser.root}/login")
    if not is_proved(request, session):
        return browser.redirect(confirm_address(browser, ENROL))
    apps = request.part(TwoFactorComponents).sign_ins.two_factors
    if form.get("do") == "begin":
        async with request.db.transaction() as tx:
            begun = await apps.begin(tx, session)
        return await _page(request, browser, session, enrolment=begun)
    try:
        async with request.db.transaction() as tx:
            codes = await apps.confirm(tx, session.id, form.get("code", ""))
            actor = Actor(session.id, session.login, via="session", address=client_address())
            await add_entry(tx, actor, "two_factor.on", f"user {session.login}", {})
    except Invalid as error:
        # Only the text that this page showed: a wrong one harms the person who sends it alone.
        shown = Enrolment(form.get("secret", ""), form.get("uri", "")) if form.get("secret") else None
        return await _page(request, browser, session, enrolment=shown, error=error)
    return browser.page(html.enrolled_page(codes=codes, root=browser.root))


async def _page(
    request: IdentityRequest,
    browser: Browser,
    session: SessionHolderRow,
    *,
    enrolment: Enrolment | None = None,
    error: ApiError | None = None,
) -> Page:
    ceremonies = request.part(TwoFactorComponents).sign_ins.passkeys
    begun = None
    if ceremonies.available:
        async with request.db.read() as db:
            has_other_way = await request.part(ReverseProxyComponents).is_way_in(db, session.id)
        browser_id = browser_of(browser.session_secret)
        begun = ceremonies.begin_creation(session, (), browser_id, has_other_way=has_other_way)
    page = html.enrolment_page(
        login=session.login,
        begun=begun,
        root=browser.root,
        passkeys=f"{browser.root}{PASSKEYS}",
        action=f"{browser.root}{ENROL}",
        token=browser_sessions.form_token(browser.session_secret),
        enrolment=enrolment,
        problem="The code is not the present code of the app." if error else "",
    )
    return browser.page(page, status=error.status if error else 200, scripts=begun is not None)


routes = [enrolment_form, enrol]
