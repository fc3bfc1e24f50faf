"""Sign-in with a provider of OpenID Connect: the redirect, the callback, and further proofs.

All steps happen in the same browser. The attempt is in a sealed cookie, and tickets contain the browser's
digest.
"""

import hashlib
from datetime import timedelta
from typing import Any

import structlog
from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.errors import Conflict, Denied, Invalid, NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.downloads import INERT
from ingot_chassis.http.policy import anyone
from ingot_chassis.operations import Detail
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.mappings import rules as mappings
from ingot_identity.messages.components import MessageComponents
from ingot_identity.networks.rules import note_sign_in
from ingot_identity.oauth2.rules import redirect_uris
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey
from ingot_identity.passwords.rules.proofs import require_password
from ingot_identity.providers.clients.http import ProviderFailed
from ingot_identity.providers.components import ProviderComponents
from ingot_identity.providers.rules.admission import find_account
from ingot_identity.providers.rules.people import Person
from ingot_identity.providers.rules.requests import (
    ATTEMPT_SECONDS,
    Attempt,
    ProviderRefused,
    Ticket,
    authorization_url,
    code_of,
    new_attempt,
)
from ingot_identity.providers.rules.tokens import InvalidToken
from ingot_identity.scim.store import groups as scim_groups
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.rules import ProviderSession, stamp_of
from ingot_identity.sign_in.api import html
from ingot_identity.sign_in.api.browser import Browser, checked_query, local_path
from ingot_identity.sign_in.api.second_factors import passkey_button, require_second_factor
from ingot_identity.sources.components import SourceComponents
from ingot_identity.sources.rules.configs import OidcConfig, read_oidc
from ingot_identity.sources.rules.identities import link
from ingot_identity.sources.store import identities
from ingot_identity.sources.store import sources as source_store
from ingot_identity.sources.store.tables import SourceKind, SourceRow
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import (
    CodeRequired,
    is_enabled,
)

log = structlog.get_logger()

FINISH = "/login/oidc"
LINKED_ACCOUNTS = "/user/settings/external_accounts"
RECENT = timedelta(minutes=10)
"""Maximum age of a sign-in when an account without a password is linked with a provider."""
TOO_LATE = "That took too long, or it began in another browser. Sign in again."
NOT_NOW = "The provider cannot be used at the moment. Try again later, or ask those who run this site."
NOT_ACCEPTED = "The answer of the provider is not accepted. Sign in again."
Page = Response[Any]


@get("/login/sources/{name:str}/icon", policy=anyone(), include_in_schema=False)
async def icon(request: IdentityRequest, name: str) -> Page:
    """Return the picture of a source on the sign-in page."""
    async with request.db.read() as db:
        row = await source_store.get_by_name(db, name)
    if row is None or not row.enabled or row.icon is None:
        raise NotFound
    return Response(row.icon, media_type=row.icon_type, headers=INERT | {"Cache-Control": "max-age=3600"})


@get("/login/oidc/{name:str}", policy=anyone(), include_in_schema=False)
async def begin(request: IdentityRequest, name: str) -> Page:
    """Redirect to the provider. The next page is ``to``, or the authorization request in ``query``."""
    source, config = await get_provider(request, name)
    to = local_path(request.query_params.get("to", "/"))
    query = checked_query(request.query_params.get("query", ""))
    return await _to_provider(request, Browser(request), source, config, to=to, query=query)


@get("/login/oidc/{name:str}/callback", policy=anyone(), include_in_schema=False)
async def callback(request: IdentityRequest, name: str) -> Page:
    """Handle the redirect from the provider: sign in, link, or ask for a further proof."""
    browser = Browser(request)
    source, config = await get_provider(request, name)
    parts = request.part(ProviderComponents)
    attempt = parts.envelope.open_attempt(browser.attempt)
    if attempt is None or attempt.source_id != source.id:
        return _refused(browser, TOO_LATE, status=400)
    try:
        person = await _read_person(request, source, config, attempt)
        if attempt.link_to:
            return await _link_signed_in(request, browser, source, config, person, attempt.link_to)
        entrant = await find_account(request.db, request.presenter, source, config, person, client_address())
    except (Denied, InvalidToken, ProviderFailed, ProviderRefused) as error:
        return await _failure(request, browser, source, error)
    needs_code = await is_enabled(request.db, entrant.row.id) and not (
        config.trust_second_factor and not entrant.must_prove
    )
    browser.form_cookie()
    ticket = Ticket(
        source_id=source.id,
        person=person,
        browser=_digest(browser.form_secret),
        account_id=entrant.row.id,
        is_new_link=entrant.must_prove,
        to=attempt.to,
        query=attempt.query,
    )
    if entrant.must_prove or needs_code:
        return await _proof_page(request, browser, source, ticket, entrant.row.login, needs_code=needs_code)
    try:
        return await _start_session(request, browser, source, config, ticket, entrant.row)
    except Denied as error:
        return await _failure(request, browser, source, error)


@post(FINISH, policy=anyone(), include_in_schema=False, status_code=303)
async def finish(request: IdentityRequest) -> Page:
    """Sign in to the account of the provider's response, after a check of its password or code."""
    browser = Browser(request)
    form = await browser.form()
    if not browser.sent(form, browser.form_secret):
        return _refused(browser, TOO_LATE, status=403)
    parts = request.part(ProviderComponents)
    ticket = parts.envelope.open_ticket(form.get("ticket", ""), _digest(browser.form_secret))
    async with request.db.read() as db:
        source = await source_store.get(db, ticket.source_id) if ticket else None
        row = await accounts.get(db, ticket.account_id) if ticket else None
    if ticket is None or source is None or not source.enabled or row is None:
        return _refused(browser, TOO_LATE, status=403)
    needs_code = await is_enabled(request.db, row.id)
    try:
        await _require_proof(
            request, row, form, browser.form_secret, password=ticket.is_new_link, code=needs_code
        )
        return await _start_session(request, browser, source, read_oidc(source.config), ticket, row)
    except (CodeRequired, Invalid, TooManyRequests, Unavailable, Conflict, Denied) as error:
        problem = "The password or the code is wrong." if isinstance(error, Invalid) else error.message
        page = await _proof_page(
            request, browser, source, ticket, row.login, needs_code=needs_code, problem=problem,
            status=error.status,
        )  # fmt: skip
        page.headers.update(error.headers or {})
        return page


@get("/login/oidc/{name:str}/link", policy=anyone(), include_in_schema=False)
async def link_form(request: IdentityRequest, name: str) -> Page:
    """Return the form that links the signed-in user with the provider, after a proof."""
    browser = Browser(request)
    source, config = await get_provider(request, name)
    return await _link_page(request, browser, source, config)


@post("/login/oidc/{name:str}/link", policy=anyone(), include_in_schema=False, status_code=303)
async def begin_link(request: IdentityRequest, name: str) -> Page:
    """Check the proof, and redirect to the provider to link the signed-in user."""
    browser = Browser(request)
    source, config = await get_provider(request, name)
    form = await browser.form()
    session = await browser.session()
    if session is None or not browser.sent(form, browser.session_secret):
        return _refused(browser, TOO_LATE, status=403)
    needs_code = await is_enabled(request.db, session.id)
    if not session.password_hash and now() - session.signed_in_at > RECENT:
        return _refused(browser, "Sign out and in again first.", status=403)
    try:
        has_password = bool(session.password_hash)
        await _require_proof(
            request, session, form, browser.session_secret, password=has_password, code=needs_code
        )
        return await _to_provider(request, browser, source, config, to=LINKED_ACCOUNTS, link_to=session.id)
    except (CodeRequired, Invalid, InvalidPasskey, TooManyRequests, Unavailable) as error:
        return await _link_page(request, browser, source, config, problem=error.message, status=error.status)


async def get_provider(request: IdentityRequest, name: str) -> tuple[SourceRow, OidcConfig]:
    """Return a provider with its configuration. Raises NotFound, also if it is disabled."""
    async with request.db.read() as db:
        row = await source_store.get_by_name(db, name)
    if row is None or not row.enabled or row.kind != SourceKind.OIDC:
        raise NotFound
    return row, read_oidc(row.config)


async def _to_provider(
    request: IdentityRequest,
    browser: Browser,
    source: SourceRow,
    config: OidcConfig,
    *,
    to: str = "/",
    query: str = "",
    link_to: int = 0,
) -> Page:
    parts = request.part(ProviderComponents)
    try:
        metadata = await parts.published.metadata(config.issuer)
    except ProviderFailed as error:
        log.warning("a provider failed", source=source.name, reason=str(error))
        return _refused(browser, NOT_NOW, status=503)
    attempt = new_attempt(source.id, to=to, query=query, link_to=link_to)
    location = authorization_url(metadata, config, attempt, _redirect_uri(request, source))
    cookie = browser.attempt_cookie(parts.envelope.close_attempt(attempt), ATTEMPT_SECONDS)
    return browser.redirect(location, cookies=[cookie])


async def _link_page(
    request: IdentityRequest,
    browser: Browser,
    source: SourceRow,
    config: OidcConfig,
    *,
    problem: str = "",
    status: int = 200,
) -> Page:
    session = await browser.session()
    if session is None:
        return browser.redirect(f"{browser.root}/login?to=/login/oidc/{source.name}/link")
    try:
        metadata = await request.part(ProviderComponents).published.metadata(config.issuer)
    except ProviderFailed as error:
        log.warning("a provider failed", source=source.name, reason=str(error))
        return _refused(browser, NOT_NOW, status=503)
    passkey = await passkey_button(
        request, browser, "second_factor", browser.session_secret, account_id=session.id
    )
    page = html.link_page(
        title=source.title,
        login=session.login,
        action=f"{browser.root}/login/oidc/{source.name}/link",
        hidden={"token": browser_sessions.form_token(browser.session_secret)},
        asks_password=bool(session.password_hash),
        asks_code=await is_enabled(request.db, session.id),
        problem=problem,
        passkey=passkey,
    )
    leads_to = [redirect_uris.form_action(metadata.authorization_endpoint)]
    return browser.page(page, status=status, leads_to=leads_to, scripts=bool(passkey))


async def _proof_page(
    request: IdentityRequest,
    browser: Browser,
    source: SourceRow,
    ticket: Ticket,
    login: str,
    *,
    needs_code: bool,
    problem: str = "",
    status: int = 200,
) -> Page:
    """Return the page that asks for the password, the second factor, or both."""
    cookies = [browser.attempt_cookie("", 0), browser.form_cookie_again()]
    passkey = await passkey_button(
        request,
        browser,
        "second_factor",
        browser.form_secret,
        account_id=ticket.account_id if needs_code else 0,
    )
    page = html.proof_page(
        title=source.title,
        login=login,
        action=f"{browser.root}{FINISH}",
        hidden={
            "token": browser_sessions.form_token(browser.form_secret),
            "ticket": request.part(ProviderComponents).envelope.close_ticket(ticket),
        },
        asks_password=ticket.is_new_link,
        asks_code=needs_code,
        problem=problem,
        passkey=passkey,
    )
    return browser.page(page, status=status, cookies=cookies, scripts=bool(passkey))


async def _require_proof(
    request: IdentityRequest,
    row: AccountRow,
    form: dict[str, str],
    secret: str,
    *,
    password: bool,
    code: bool,
) -> None:
    """Check the password if ``password``, and the second factor if ``code``.

    Raises Invalid, CodeRequired, InvalidPasskey, TooManyRequests, Unavailable.
    """
    typed = form.get("password", "") if password else None
    if code:
        await require_second_factor(request, row, form, secret, password=typed)
    elif typed is not None:
        sign_ins, address = request.part(TwoFactorComponents).sign_ins, client_address()
        await require_password(request.db, sign_ins, row, typed, field="password", address=address)


async def _link_signed_in(
    request: IdentityRequest,
    browser: Browser,
    source: SourceRow,
    config: OidcConfig,
    person: Person,
    account_id: int,
) -> Page:
    """Link the account that began the attempt. Raises Denied unless it is still signed in."""
    session = await browser.session()
    if session is None or session.id != account_id:
        raise Denied(TOO_LATE)
    if person.refusal:
        raise Denied(person.refusal)
    actor = Actor(session.id, session.login, via="session", address=client_address())
    try:
        await _link(request, source, person, session, actor)
    except Conflict as error:
        raise Denied(error.message) from error
    await _apply_groups(request, source, config, person, session, actor)
    return browser.redirect(f"{browser.root}{LINKED_ACCOUNTS}", cookies=[browser.attempt_cookie("", 0)])


async def _link(
    request: IdentityRequest, source: SourceRow, person: Person, row: AccountRow, actor: Actor
) -> None:
    """Link the account with the identity at the source. Raises Conflict."""
    async with request.db.transaction() as tx:
        await link(
            tx, row.id, source, person.subject, login_name=person.login or person.email, email=person.email
        )
        details: dict[str, Detail] = {"source": source.name}
        await add_entry(tx, actor, "source.link", f"user {row.login}", details)


async def _apply_groups(
    request: IdentityRequest,
    source: SourceRow,
    config: OidcConfig,
    person: Person,
    row: AccountRow,
    actor: Actor,
) -> None:
    groups = person.groups
    if config.groups_from == "scim":
        async with request.db.read() as db:
            groups = await scim_groups.list_names(db, source.id, row.id)
    await mappings.apply_groups_by(request.db, request.presenter, source, config, row, groups, actor)


async def _start_session(
    request: IdentityRequest,
    browser: Browser,
    source: SourceRow,
    config: OidcConfig,
    ticket: Ticket,
    row: AccountRow,
) -> Page:
    """Sign in and redirect. Raises Denied, Conflict."""
    if row.login_prohibited or not row.active:
        return _refused(browser, "This account may not sign in.", status=403)
    person, address = ticket.person, client_address()
    actor = Actor(row.id, row.login, via=source.kind, address=address)
    if ticket.is_new_link:
        await _link(request, source, person, row, actor)
    await _apply_groups(request, source, config, person, row, actor)
    sealed = request.part(SourceComponents).secrets.close(person.id_token)
    async with request.db.transaction() as tx:
        secret = await browser_sessions.start(
            tx,
            row.id,
            stamp_of(row.password_hash),
            replaced=browser.session_secret,
            address=address,
            user_agent=request.headers.get("user-agent", ""),
            provider=ProviderSession(source.id, person.session_id, sealed),
        )
        identity = await identities.get(tx, source.id, person.subject)
        if identity is None or identity.account_id != row.id:
            raise Denied(TOO_LATE)
        await identities.change(
            tx,
            identity.id,
            login_name=person.login or person.email,
            email=person.email,
            last_sign_in_at=now(),
        )
        await accounts.mark_signed_in(tx, row.id)
        await note_sign_in(
            tx,
            request.part(MessageComponents).messages,
            row.id,
            address=address,
            user_agent=request.headers.get("user-agent", ""),
        )
        await add_entry(tx, actor, "session.start", f"user {row.login}", {"source": source.name})
    to = ticket.to if not ticket.query else f"/login/oauth/authorize?{ticket.query}"
    cookies = [browser.session_cookie(secret), browser.attempt_cookie("", 0)]
    return browser.redirect(await browser.next_address(row, f"{browser.root}{to}"), cookies=cookies)


async def _read_person(
    request: IdentityRequest, source: SourceRow, config: OidcConfig, attempt: Attempt
) -> Person:
    """Return the person in the response. Raises InvalidToken, ProviderFailed, ProviderRefused."""
    parts = request.part(ProviderComponents)
    metadata = await parts.published.metadata(config.issuer)
    code = code_of(metadata, attempt, request.scope["query_string"].decode("latin-1"))
    secret = request.part(SourceComponents).secrets.open(source.sealed_secret)
    return await parts.people.read(config, secret, attempt, code, _redirect_uri(request, source))


async def _failure(request: IdentityRequest, browser: Browser, source: SourceRow, error: Exception) -> Page:
    """Return the page for a failed sign-in. It shows a reason only if the error is Denied.

    Other reasons are logged only, because they may be confidential.
    """
    log.warning("a sign-in with a provider failed", source=source.name, reason=str(error))
    match error:
        case ProviderRefused():
            return _refused(browser, f"{source.title} did not sign you in.", status=403)
        case ProviderFailed():
            return _refused(browser, NOT_NOW, status=503)
        case _:
            await _audit_failure(request, source, str(error))
            if isinstance(error, Denied):
                return _refused(browser, error.message, status=403)
            return _refused(browser, NOT_ACCEPTED, status=400)


async def _audit_failure(request: IdentityRequest, source: SourceRow, reason: str) -> None:
    async with request.db.transaction() as tx:
        actor = Actor(via=source.kind, address=client_address())
        await add_entry(tx, actor, "sign_in.fail", "user", {"source": source.name, "reason": reason[:200]})


def _redirect_uri(request: IdentityRequest, source: SourceRow) -> str:
    return f"{request.public_url}login/oidc/{source.name}/callback"


def _refused(browser: Browser, reason: str, *, status: int) -> Page:
    page = html.refusal_page(reason)
    return browser.page(page, status=status, cookies=[browser.attempt_cookie("", 0)])


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


routes = [icon, begin, callback, finish, link_form, begin_link]
