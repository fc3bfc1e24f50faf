"""Pages of OAuth2: sign-in, and consent to an application. They work without JavaScript.

The authorization request stays in the query of all steps, and each step checks it. Redirects go only to
addresses that the application registered.
"""

from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import ApiError, Denied, TooManyRequests, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_chassis.operations import Detail
from ingot_chassis.telemetry import client_address
from ingot_contracts.identity.credentials import Authenticate
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.authentication.rules.credentials import identify, source_of_credential
from ingot_identity.oauth2.api.queries import pairs_of
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.rules import flow as oauth2_flow
from ingot_identity.oauth2.rules import redirect_uris
from ingot_identity.oauth2.rules import scopes as oauth2_scopes
from ingot_identity.oauth2.rules.protocol import Answer
from ingot_identity.oauth2.rules.requests import Consent, check_authorization_request
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store as session_store
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api import html
from ingot_identity.sign_in.api.browser import ENROL, Browser, checked_query, local_path
from ingot_identity.sign_in.api.oidc_logouts import sign_out_url
from ingot_identity.sign_in.api.proofs import is_proved
from ingot_identity.sign_in.api.second_factors import passkey_button, require_second_factor
from ingot_identity.sign_in.api.starts import start_session
from ingot_identity.sources.store import sources as source_store
from ingot_identity.sources.store.tables import LOCAL, SourceKind
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import CodeRequired, SecondFactorMissing

AUTHORIZE, SIGN_IN, SIGN_OUT = "/login/oauth/authorize", "/login", "/login/out"
JUST_SIGNED_IN = timedelta(minutes=1)
"""So old is a sign-in at most where an application wants a new one (``prompt=login``)."""
WRONG = "The name or the password is wrong."
TOO_LATE = "That took too long. Sign in again."
Page = Response[Any]


@get(AUTHORIZE, policy=anyone(), include_in_schema=False)
async def authorize(request: IdentityRequest) -> Page:
    """Handle an authorization request: ask the user to sign in and to consent, if necessary.

    A consent creates tokens, so it needs a recent sign-in or proof.
    """
    browser = Browser(request)
    session = await browser.session()
    query = request.scope["query_string"].decode("latin-1")
    consent = await checked_request(request, query, session)
    if isinstance(consent, Answer):
        # Any user can register an application, so a wrong request redirects only signed-in people there.
        # Requests without a page are the exception (RFC 9700, section 4.11.2).
        is_silent = "none" in dict(pairs_of(query)).get("prompt", "").split()
        waits = session is None and not is_silent and _goes_to(consent)
        return await _sign_in_page(request, browser, query, consent) if waits else _refusal(browser, consent)
    silent = consent.parameter("prompt") == "none"
    if session is None or _must_sign_in_again(consent, session):
        if silent:
            return browser.redirect(consent.error_location("login_required"))
        return await _sign_in_page(request, browser, query, consent)
    async with request.db.read() as db:
        asks = await oauth2_flow.needs_consent(db, consent, session)
    if not asks:
        return await _give_consent(request, browser, consent, session)
    if silent:
        return browser.redirect(consent.error_location("consent_required"))
    return await _consent_page(request, browser, query, consent, session)


async def _consent_page(
    request: IdentityRequest, browser: Browser, query: str, consent: Consent, session: SessionHolderRow
) -> Page:
    """Return the page that asks for consent, or the sign-in page if the last proof is too old."""
    if not is_proved(request, session):
        return await _sign_in_page(request, browser, query, consent)
    async with request.db.read() as db:
        owner_id = consent.application.account_id
        owner = await accounts.get(db, owner_id) if owner_id is not None else None
    page = html.consent_page(
        application=consent.application.name,
        owner=owner.login if owner else "",
        login=session.login,
        wishes=oauth2_scopes.described(consent.scope),
        goes_to=consent.redirect_uri,
        action=f"{browser.root}{AUTHORIZE}?{query}",
        sign_out=f"{browser.root}{SIGN_OUT}",
        hidden={"token": browser_sessions.form_token(browser.session_secret), "query": query},
    )
    return browser.page(page, leads_to=[redirect_uris.form_action(consent.redirect_uri)])


@post(AUTHORIZE, policy=anyone(), include_in_schema=False, status_code=303)
async def decide(request: IdentityRequest) -> Page:
    """Send the user's decision to the application: a code or a denial."""
    browser = Browser(request)
    session = await browser.session()
    query = request.scope["query_string"].decode("latin-1")
    if session is None:
        return browser.redirect(f"{browser.root}{AUTHORIZE}?{query}")
    form = await browser.form()
    if not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    consent = await checked_request(request, query, session)
    if isinstance(consent, Answer):
        return _refusal(browser, consent)
    if form.get("decision") != "allow":
        return browser.redirect(consent.denial_location())
    if not is_proved(request, session):
        return browser.redirect(f"{browser.root}{AUTHORIZE}?{query}")
    return await _give_consent(request, browser, consent, session)


@get(SIGN_IN, policy=anyone(), include_in_schema=False)
async def sign_in_form(request: IdentityRequest) -> Page:
    """Return the page of the signed-in account, or the form to sign in. ``to`` is the next page."""
    browser = Browser(request)
    session = await browser.session()
    to = request.query_params.get("to", "")
    if session is None:
        if await browser.enrolling_session() is not None:
            return browser.redirect(f"{browser.root}{ENROL}")
        return await _sign_in_page(request, browser, "", None, to=local_path(to))
    if to:
        return browser.redirect(browser.root + local_path(to))
    hidden = {"token": browser_sessions.form_token(browser.session_secret)}
    action = f"{browser.root}{SIGN_OUT}"
    return browser.page(html.signed_in_page(login=session.login, action=action, hidden=hidden))


@post(SIGN_IN, policy=anyone(), include_in_schema=False, status_code=303)
async def sign_in(request: IdentityRequest) -> Page:
    """Sign in with the password, and with a second factor if the account has one.

    Redirect to the next page, or continue the authorization request.
    """
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return browser.unknown_form()
    query, to = checked_query(form.get("query", "")), local_path(form.get("to", ""))
    ticket = form.get("ticket", "")
    try:
        if ticket:
            signed_in = await _account_of_ticket(request, browser, ticket, form)
        else:
            signed_in = await _account_of(request, form.get("username", ""), form.get("password", ""))
        secret = await start_session(request, browser, *signed_in)
    except (CodeRequired, Denied, TooManyRequests, Unavailable) as error:
        consent = await checked_request(request, query, None) if query else None
        if isinstance(consent, Answer) and not _goes_to(consent):
            return _refusal(browser, consent)
        if isinstance(error, CodeRequired):
            ticket = request.part(TwoFactorComponents).sign_ins.two_factors.ticket(error.account)
        if ticket and (isinstance(error, InvalidPasskey) or not isinstance(error, Denied)):
            began = not form.get("ticket")
            return await _code_page(request, browser, query, consent, error, ticket, to=to, began=began)
        name = form.get("username", "")
        page = await _sign_in_page(
            request, browser, query, consent, to=to, name=name, problem=error.message, status=error.status
        )
        page.headers.update(error.headers or {})
        return page
    target = f"{browser.root}{AUTHORIZE}?{query}" if query else browser.root + to
    async with request.db.read() as db:
        row = await accounts.get(db, signed_in[0].id)
    target = await browser.next_address(row, target) if row else target
    return browser.redirect(target, cookies=[browser.session_cookie(secret)])


@post(SIGN_OUT, policy=anyone(), include_in_schema=False, status_code=303)
async def sign_out(request: IdentityRequest) -> Page:
    """End the session of this browser."""
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.session_secret):
        return browser.unknown_form()
    query = checked_query(form.get("query", ""))
    session = await browser.session()
    async with request.db.read() as db:
        provider = await session_store.get_provider(db, browser.session_sha256)
    async with request.db.transaction() as tx:
        await browser_sessions.end(tx, browser.session_secret)
        if session is not None:
            actor = Actor(session.id, session.login, via="session", address=client_address())
            details: dict[str, Detail] = {"id": session.session_id}
            await add_entry(tx, actor, "session.end", f"user {session.login}", details)
    ended = [browser.session_cookie("")]
    target = f"{browser.root}{AUTHORIZE}?{query}" if query else f"{browser.root}/"
    address = ""
    if provider is not None and not query:
        address = await sign_out_url(request, provider.source_id, provider.sealed_id_token)
    if not address:
        return browser.redirect(target, cookies=ended)
    # Not a redirect: the page of the form allows none to other sites.
    page = browser.page(html.signed_out_page(address), cookies=ended)
    page.headers["Refresh"] = f"0; url={address}"
    return page


async def checked_request(
    request: IdentityRequest, query: str, session: SessionHolderRow | None
) -> Consent | Answer:
    """Return the authorization request in ``query``, or the answer that rejects it."""
    pairs = pairs_of(query)
    async with request.db.read() as db:
        application = await oauth2_flow.get_application(db, dict(pairs).get("client_id", ""))
    return check_authorization_request(application, session, pairs, request.part(OAuth2Components).issuer)


class _SignedIn(NamedTuple):
    """The account of a password, the stamp of the local password, and the source that verified it."""

    actor: Actor
    password_stamp: str
    source_id: int


def _signed_in(row: AccountRow) -> _SignedIn:
    """Return an account after its password was verified: the local password or, without one, its source's."""
    actor = Actor(row.id, row.login, via="basic", address=client_address())
    return _SignedIn(actor, stamp_of(row.password_hash), LOCAL if row.password_hash else row.source_id)


async def _account_of(request: IdentityRequest, name: str, password: str) -> _SignedIn:
    """Return the account with a name and password.

    Raises CodeRequired, Denied, TooManyRequests, Unavailable.
    """
    credential = Authenticate(name=name, password=password, address=client_address())
    if not name.isprintable():
        raise Denied(WRONG)
    try:
        identified = await identify(request.db, request.part(TwoFactorComponents).sign_ins, credential)
    except SecondFactorMissing as error:
        return _signed_in(error.account)  # its session leads to the enrolment alone
    # A token does not sign in: it could be restricted, and the session would not be.
    if identified is None or identified.principal.via != "basic":
        raise Denied(WRONG)
    principal = identified.principal
    actor = Actor(principal.id, principal.name, via="basic", address=client_address())
    return _SignedIn(actor, *source_of_credential(principal.credential))


async def _account_of_ticket(
    request: IdentityRequest, browser: Browser, ticket: str, form: dict[str, str]
) -> _SignedIn:
    """Return the account of a ticket after a check of its second factor.

    Raises CodeRequired, Denied, TooManyRequests.
    """
    sign_ins = request.part(TwoFactorComponents).sign_ins
    async with request.db.read() as db:
        account = await sign_ins.two_factors.account_of(db, ticket)
    if account is None:
        raise Denied(TOO_LATE)
    await require_second_factor(request, account, form, browser.form_secret)
    return _signed_in(account)


async def _give_consent(
    request: IdentityRequest, browser: Browser, consent: Consent, session: SessionHolderRow
) -> Page:
    async with request.db.transaction() as tx:
        location = await oauth2_flow.give_consent(tx, consent, session.id, browser.session_sha256)
        details: dict[str, Detail] = {"application": consent.application.name, "scopes": consent.scope}
        actor = Actor(session.id, session.login, via="session", address=client_address())
        await add_entry(tx, actor, "oauth2_grant.give", f"user {session.login}", details)
    return browser.redirect(location)


def _must_sign_in_again(consent: Consent, session: SessionHolderRow) -> bool:
    """True if the application requires a newer sign-in (OpenID Connect Core, section 3.1.2.1)."""
    age, longest = now() - session.signed_in_at, consent.parameter("max_age")
    if "login" in consent.parameter("prompt").split():
        return age > JUST_SIGNED_IN
    if not longest.isascii() or not longest.isdigit():
        return False
    return age > max(JUST_SIGNED_IN, timedelta(seconds=int(longest[:9])))


async def _sign_in_page(
    request: IdentityRequest,
    browser: Browser,
    query: str,
    consent: Consent | Answer | None,
    *,
    to: str = "/",
    name: str = "",
    problem: str = "",
    status: int = 200,
) -> Page:
    cookie = browser.form_cookie()
    page = html.sign_in_page(
        action=f"{browser.root}{SIGN_IN}",
        hidden={"token": browser_sessions.form_token(browser.form_secret), "query": query, "to": to},
        application=consent.application.name if isinstance(consent, Consent) else "",
        name=name,
        problem=problem,
        providers=await _providers(request, browser.root, query=query, to=to),
        passkeys=_passkey_address(request, browser.root, query=query, to=to),
        forgot=f"{browser.root}/user/forgot_password" if request.settings.sends_mail else "",
        sign_up=f"{browser.root}/user/sign_up" if request.settings.registration != "closed" else "",
    )
    return browser.page(
        page, status=status, leads_to=leads_to_application(consent), cookies=[cookie] if cookie else []
    )


def next_query(query: str, to: str) -> str:
    """Return the query of links that keep the authorization request, or the next page."""
    return urlencode({"query": query} if query else {"to": to})


def _passkey_address(request: IdentityRequest, root: str, *, query: str, to: str) -> str:
    if not request.part(TwoFactorComponents).sign_ins.passkeys.available:
        return ""
    return f"{root}/login/passkey?{next_query(query, to)}"


async def _providers(request: IdentityRequest, root: str, *, query: str, to: str) -> list[html.Button]:
    """Return the buttons of providers. Their links keep the authorization request, or the next page."""
    async with request.db.read() as db:
        rows = await source_store.list_enabled(db)
    return [
        html.Button(
            row.title,
            f"{root}/login/oidc/{row.name}?{next_query(query, to)}",
            f"{root}/login/sources/{row.name}/icon" if row.icon_type else "",
        )
        for row in rows
        if row.kind == SourceKind.OIDC
    ]


async def _code_page(
    request: IdentityRequest,
    browser: Browser,
    query: str,
    consent: Consent | Answer | None,
    error: ApiError,
    ticket: str,
    *,
    to: str,
    began: bool,
) -> Page:
    """Return the page for the second factor.

    ``began``: the page is shown for the first time, so without an error.
    """
    token = browser_sessions.form_token(browser.form_secret)
    sign_ins = request.part(TwoFactorComponents).sign_ins
    async with request.db.read() as db:
        account = await sign_ins.two_factors.account_of(db, ticket)
    passkey = await passkey_button(
        request, browser, "second_factor", browser.form_secret, account_id=account.id if account else 0
    )
    page = html.code_page(
        action=f"{browser.root}{SIGN_IN}",
        hidden={"token": token, "query": query, "ticket": ticket, "to": to},
        problem="" if began else error.message,
        passkey=passkey,
    )
    answer = browser.page(
        page,
        status=200 if began else error.status,
        leads_to=leads_to_application(consent),
        scripts=bool(passkey),
    )
    answer.headers.update(error.headers or {})
    return answer


def _goes_to(consent: Consent | Answer) -> str:
    """Return the redirect URI of the application; empty if it is not trusted."""
    return consent.redirect_uri if isinstance(consent, Consent) else consent.headers.get("Location", "")


def leads_to_application(consent: Consent | Answer | None) -> list[str]:
    """Return form targets of the sign-in page.

    After an earlier consent, the sign-in redirects to the application, so its URI must be allowed.
    """
    address = _goes_to(consent) if consent else ""
    return [redirect_uris.form_action(address)] if address else []


def _refusal(browser: Browser, answer: Answer) -> Page:
    if location := _goes_to(answer):
        return browser.redirect(location)
    return browser.page(html.refusal_page(answer.body.get("error_description", "")), status=400)


routes = [authorize, decide, sign_in_form, sign_in, sign_out]
