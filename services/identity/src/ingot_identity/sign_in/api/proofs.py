"""Proofs that a signed-in person is still the one who signed in, before something dangerous."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Invalid, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api import html
from ingot_identity.sign_in.api.browser import Browser, local_path
from ingot_identity.sign_in.api.second_factors import passkey_button, signed_challenge
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import Proof, is_enabled, require_proof

CONFIRM = "/login/confirm"
Page = Response[Any]


def is_proved(request: IdentityRequest, session: SessionHolderRow) -> bool:
    """True if the person of a session gave a proof within the time of the settings."""
    proved_at = session.proved_at or session.signed_in_at
    return now() - proved_at <= timedelta(seconds=request.settings.proof_seconds)


def confirm_address(browser: Browser, to: str) -> str:
    """Return the address of the page that asks for a proof, and then leads to ``to``."""
    return f"{browser.root}{CONFIRM}?{urlencode({'to': to})}"


@get(CONFIRM, policy=anyone(), include_in_schema=False)
async def confirm_form(request: IdentityRequest) -> Page:
    """Ask the signed-in person for a proof. ``to`` in the query is the next page."""
    browser = Browser(request)
    session = await browser.enrolling_session()
    to = local_path(request.query_params.get("to", "/"))
    if session is None:
        return browser.redirect(f"{browser.root}/login?{urlencode({'to': to})}")
    return await _confirm_page(request, browser, session, to)


@post(CONFIRM, policy=anyone(), include_in_schema=False, status_code=303)
async def confirm(request: IdentityRequest) -> Page:
    """Check the proof, and lead to the next page."""
    browser = Browser(request)
    form = await browser.form()
    session = await browser.enrolling_session()
    if session is None or not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    to = local_path(form.get("to", ""))
    proof = Proof(
        form.get("password", ""), form.get("code", ""), signed_challenge(form, browser.session_secret)
    )
    sign_ins, address = request.part(TwoFactorComponents).sign_ins, client_address()
    try:
        await require_proof(request.db, sign_ins, session, proof, address=address)
    except (Invalid, InvalidPasskey, TooManyRequests, Unavailable) as error:
        return await _confirm_page(request, browser, session, to, error)
    async with request.db.transaction() as tx:
        await store.mark_proved(tx, session.session_id)
        actor = Actor(session.id, session.login, via="session", address=address)
        await add_entry(tx, actor, "session.prove", f"user {session.login}", {"id": session.session_id})
    return browser.redirect(browser.root + to)


async def _confirm_page(
    request: IdentityRequest,
    browser: Browser,
    session: SessionHolderRow,
    to: str,
    error: ApiError | None = None,
) -> Page:
    passkey = await passkey_button(request, browser, "proof", browser.session_secret, account_id=session.id)
    page = html.confirm_page(
        login=session.login,
        action=f"{browser.root}{CONFIRM}",
        hidden={"token": browser_sessions.form_token(browser.session_secret), "to": to},
        asks_password=bool(session.password_hash),
        asks_code=await is_enabled(request.db, session.id),
        passkey=passkey,
        problem=_words(error),
    )
    answer = browser.page(page, status=error.status if error else 200, scripts=bool(passkey))
    answer.headers.update((error.headers if error else None) or {})
    return answer


def _words(error: ApiError | None) -> str:
    if isinstance(error, Invalid):
        return "The password or the code is wrong."
    return error.message if error else ""


routes = [confirm_form, confirm]
