"""Proofs that the signed-in person is still at the browser. Dangerous actions require them."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Invalid, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone, basic
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules import edits
from ingot_identity.passkeys.rules.ceremonies import LONGEST_ANSWER, InvalidPasskey
from ingot_identity.passwords.rules.hashing import LONGEST
from ingot_identity.passwords.rules.proofs import has_only_passkeys, has_password
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api import html
from ingot_identity.sign_in.api.browser import Browser, local_path
from ingot_identity.sign_in.api.second_factors import begin_proof, passkey_button, signed_challenge
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import Proof, is_enabled, require_proof

CONFIRM = "/login/confirm"
LONGEST_STATE = 2_000
Page = Response[Any]


def is_proved(request: IdentityRequest, session: SessionHolderRow) -> bool:
    """True if the last proof of a session is recent enough (``proof_seconds``)."""
    return _is_recent(request, session.proved_at or session.signed_in_at)


def _is_recent(request: IdentityRequest, proved_at: datetime) -> bool:
    return now() - proved_at <= timedelta(seconds=request.settings.proof_seconds)


def confirm_address(browser: Browser, to: str) -> str:
    """Return the URL of the page that asks for a proof, and then redirects to ``to``."""
    return f"{browser.root}{CONFIRM}?{urlencode({'to': to})}"


@get(CONFIRM, policy=anyone(), include_in_schema=False)
async def confirm_form(request: IdentityRequest) -> Page:
    """Return the form that asks the signed-in person for a proof. ``to`` in the query is the next page."""
    browser = Browser(request)
    session = await browser.enrolling_session()
    to = local_path(request.query_params.get("to", "/"))
    if session is None:
        return browser.redirect(f"{browser.root}/login?{urlencode({'to': to})}")
    return await _confirm_page(request, browser, session, to)


@post(CONFIRM, policy=anyone(), include_in_schema=False, status_code=303)
async def confirm(request: IdentityRequest) -> Page:
    """Check the proof, and redirect to the next page."""
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
        asks_password=await has_password(request.db, session),
        asks_code=await is_enabled(request.db, session.id),
        passkey=passkey,
        problem=_words(error),
    )
    answer = browser.page(page, status=error.status if error else 200, scripts=bool(passkey))
    answer.headers.update((error.headers if error else None) or {})
    return answer


class SessionProof(msgspec.Struct, kw_only=True):
    """The proof that dangerous actions need. If `needed` is false, the last proof is recent enough.

    `password` and `code`: the account has a password, a second factor. `first_password`: the account has
    passkeys instead of a password, so a password can be set. `passkey_options` are for the browser; empty
    without passkeys. `state` must be sent back with the browser's response.
    """

    needed: bool
    password: bool
    code: bool
    first_password: bool = False
    passkey_options: str = ""
    state: str = ""


class ProveSession(msgspec.Struct, kw_only=True):
    """A proof: the password, with a code or passkey if there is a second factor.

    A passkey alone is enough, too.
    """

    password: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    code: Annotated[str, msgspec.Meta(max_length=64)] = ""
    credential: Annotated[str, msgspec.Meta(max_length=LONGEST_ANSWER)] = ""
    state: Annotated[str, msgspec.Meta(max_length=LONGEST_STATE)] = ""


@get("/api/v1/user/proof", policy=basic(), operation_id="userGetProof", tags=["user"])
async def get_proof(request: IdentityRequest) -> SessionProof:
    """Return whether the session needs a new proof. Requests with a password need none."""
    session_id = request.principal.session_id
    async with request.db.read() as db:
        account = await edits.get_account(db, request.principal.id)
        times = await store.get_proof_time(db, account.id, session_id) if session_id else None
    needed = times is not None and not _is_recent(request, times)
    has_code = await is_enabled(request.db, account.id)
    begun = None
    if needed:
        begun = await begin_proof(request, account.id, _secret_of(session_id))
    return SessionProof(
        needed=needed,
        password=await has_password(request.db, account),
        code=has_code,
        first_password=await has_only_passkeys(request.db, account),
        passkey_options=begun.options if begun else "",
        state=begun.state if begun else "",
    )


@post("/api/v1/user/proof", policy=basic(), operation_id="userProve", tags=["user"], status_code=204)
async def prove(request: IdentityRequest, data: ProveSession) -> None:
    """Renew the proof of the session of this request."""
    session_id = request.principal.session_id
    form = {"credential": data.credential, "state": data.state}
    proof = Proof(data.password, data.code, signed_challenge(form, _secret_of(session_id)))
    sign_ins, address = request.part(TwoFactorComponents).sign_ins, client_address()
    async with request.db.read() as db:
        account = await edits.get_account(db, request.principal.id)
    await require_proof(request.db, sign_ins, account, proof, address=address)
    async with request.db.transaction() as tx:
        await store.mark_proved(tx, session_id)
        await request.audit(tx, "session.prove", f"user {request.principal.name}", id=session_id)


def _secret_of(session_id: int) -> str:
    """Return the text that binds a challenge to a session. A principal has only the session's id."""
    return f"session {session_id}"


def _words(error: ApiError | None) -> str:
    if isinstance(error, Invalid):
        return "The password or the code is wrong."
    return error.message if error else ""


routes = [confirm_form, confirm, get_proof, prove]
