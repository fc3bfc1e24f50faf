"""Browsers: their cookies, their forms, and the headers of pages."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from litestar import Response
from litestar.datastructures import Cookie

from ingot_chassis.errors import BadRequest
from ingot_chassis.http.ranges import has_etag
from ingot_contracts.identity.credentials import session_cookie
from ingot_contracts.web import APPEARANCE, Appearance, PageFrame
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.oauth2.api.queries import MOST_FIELDS
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store
from ingot_identity.sessions.store import SessionHolderRow
from ingot_identity.sign_in.api.html import Page, document, refusal_page
from ingot_identity.tokens import rules as tokens
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import lacks_required

ENROL = "/login/second_factor"
LONGEST_QUERY = 8_000
_SECRET = re.compile(r"[0-9a-f]{64}")
_QUERY = re.compile(r"[!-~]*")
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
r"""A path of this site with its query. Browsers read two slashes as another site, and \ as /."""


def script_response(request: IdentityRequest, source: bytes) -> Response[Any]:
    """Return the response with a script of a page, or 304 if the browser has it.

    Browsers revalidate it each time. So after an update no page runs a script of another release.
    """
    etag = f'"{hashlib.sha256(source).hexdigest()}"'
    headers = {"Cache-Control": "no-cache", "ETag": etag, "X-Content-Type-Options": "nosniff"}
    if has_etag(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    return Response(source, media_type="text/javascript", headers=headers)


class Browser:
    """The browser of a request.

    Its cookies are sent to no other host. If the public URL is https, they are never sent without TLS.
    """

    def __init__(self, request: IdentityRequest) -> None:
        self._request = request
        self._secure = request.public_url.startswith("https:")
        prefix = "__Host-" if self._secure else ""
        self._session_name, self._form_name = session_cookie(request.public_url), f"{prefix}ingot-form"
        self.session_secret = self._cookie(self._session_name)
        self.form_secret = self._cookie(self._form_name)
        self._attempt_name = f"{prefix}ingot-attempt"
        self.attempt = request.cookies.get(self._attempt_name, "")
        """The sealed sign-in with a provider that this browser began."""

    @property
    def root(self) -> str:
        """Return the path of the site, without a trailing slash."""
        return urlsplit(self._request.public_url).path.rstrip("/")

    @property
    def session_sha256(self) -> bytes:
        return tokens.digest(self.session_secret)

    async def session(self) -> SessionHolderRow | None:
        """Return the signed-in account and its session; None without a valid session.

        Also None while a second factor is missing that the site requires.
        """
        row = await self.enrolling_session()
        return None if row is None or await self.must_enrol(row) else row

    async def enrolling_session(self) -> SessionHolderRow | None:
        """Return the signed-in account and its session, even if a required second factor is missing.

        None for a browser without a valid session.
        """
        if not self.session_secret:
            return None
        async with self._request.db.read() as db:
            return await store.get(db, self.session_sha256)

    async def must_enrol(self, row: AccountRow) -> bool:
        """True if the account lacks a second factor that the site requires."""
        sign_ins = self._request.part(TwoFactorComponents).sign_ins
        return await lacks_required(self._request.db, sign_ins, row)

    async def next_address(self, row: AccountRow, address: str) -> str:
        """Return ``address``, or the enrolment page if the account lacks a required second factor."""
        return f"{self.root}{ENROL}" if await self.must_enrol(row) else address

    async def form(self) -> dict[str, str]:
        """Return the fields of the form. A repeated field has its last value. Raises BadRequest.

        NUL is removed, because no database stores it.
        """
        raw = await self._request.raw_body()
        try:
            pairs = parse_qsl(raw.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise BadRequest("the form has too many fields") from error
        return {name: value.replace("\0", "") for name, value in pairs}

    def sent(self, form: Mapping[str, str], secret: str) -> bool:
        """True if the form comes from a page for this browser. ``secret`` is the secret in its cookie.

        Other sites do not have the form's token.
        """
        return browser_sessions.is_form_token(form.get("token", ""), secret)

    def page(
        self,
        page: Page,
        *,
        status: int = 200,
        leads_to: Sequence[str] = (),
        cookies: Sequence[Cookie] = (),
        scripts: bool = False,
    ) -> Response[str]:
        """Return a page that no other site may frame.

        Its forms may redirect to this site and to the sources ``leads_to``. ``scripts``: the page may load
        scripts of this server.
        """
        sources = " ".join(["'self'", *leads_to])
        own_scripts = " script-src 'self';" if scripts else ""
        policy = (
            f"default-src 'none';{own_scripts} style-src 'self'; img-src 'self'; base-uri 'none'; "
            f"frame-ancestors 'none'; form-action {sources}"
        )
        headers = {
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            **_PRIVATE,
        }
        appearance = Appearance.parse(self._request.cookies.get(APPEARANCE, ""))
        return Response(
            document(page, PageFrame.of(self._request.settings), appearance),
            status_code=status,
            media_type="text/html",
            headers=headers,
            cookies=cookies,
        )

    def unknown_form(self) -> Response[str]:
        """Return the response to a form that does not come from a page for this browser."""
        reason = "This form is not from this browser, or it is too old. Go back and load the page again."
        return self.page(refusal_page(reason), status=403)

    def redirect(self, location: str, *, cookies: Sequence[Cookie] = ()) -> Response[bytes]:
        """Return a redirect that is followed with GET, for any method of the request."""
        return Response(b"", status_code=303, headers={"Location": location, **_PRIVATE}, cookies=cookies)

    def session_cookie(self, secret: str) -> Cookie:
        """Return the cookie of a new session. An empty ``secret`` deletes the cookie."""
        lifetime = int(browser_sessions.LIFETIME.total_seconds()) if secret else 0
        return self._new_cookie(self._session_name, secret, lifetime)

    def form_cookie(self) -> Cookie | None:
        """Return the cookie for forms before a sign-in; None if the browser already has it."""
        if self.form_secret:
            return None
        self.form_secret = browser_sessions.new_secret()
        return self._new_cookie(self._form_name, self.form_secret, None)

    def form_cookie_again(self) -> Cookie:
        """Return the cookie for forms before a sign-in, even if the browser already has it."""
        self.form_secret = self.form_secret or browser_sessions.new_secret()
        return self._new_cookie(self._form_name, self.form_secret, None)

    def attempt_cookie(self, text: str, seconds: int) -> Cookie:
        """Return the cookie of a sign-in with a provider, which expires after ``seconds``.

        An empty text with 0 seconds deletes the cookie.
        """
        return self._new_cookie(self._attempt_name, text, seconds)

    def _new_cookie(self, name: str, value: str, max_age: int | None) -> Cookie:
        return Cookie(
            name, value=value, path="/", max_age=max_age, secure=self._secure, httponly=True, samesite="lax"
        )

    def _cookie(self, name: str) -> str:
        value = self._request.cookies.get(name, "")
        return value if _SECRET.fullmatch(value) else ""


_PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def checked_query(query: str) -> str:
    """Return the query of an authorization request that forms pass on. Raises BadRequest."""
    if len(query) > LONGEST_QUERY or not _QUERY.fullmatch(query):
        raise BadRequest("the form names no request for authorization")
    return query


def local_path(text: str) -> str:
    """Return the local path to open after a sign-in; ``/`` if the text is not a local path."""
    return text if len(text) <= LONGEST_QUERY and _LOCAL_PATH.fullmatch(text) else "/"
