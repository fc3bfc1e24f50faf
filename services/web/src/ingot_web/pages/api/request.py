"""Page requests: the caller, responses of services, sent forms, and the response."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from litestar import Response
from litestar.datastructures import UploadFile
from litestar.exceptions import SerializationException, ValidationException
from litestar.types import Message, Scope
from markupsafe import Markup

from ingot_chassis.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthenticated,
)
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.http.request import ApiRequest
from ingot_contracts.web import APPEARANCE, Appearance
from ingot_web.clients.forge import Forge
from ingot_web.forms.rules.dangerous import ProofRequired, is_dangerous
from ingot_web.forms.rules.fields import Form, SentFile, whole_number
from ingot_web.forms.rules.outcomes import PARAMETERS, Outcomes
from ingot_web.forms.rules.own_site import require_own_site
from ingot_web.forms.rules.sent import SentForms, digest_of
from ingot_web.forms.rules.tokens import FormTokens
from ingot_web.pages.rules.rendered_text_cache import RenderedTextCache
from ingot_web.pages.rules.templates import Templates

MOST_FIELDS = 200
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "HX-Request",
}
PAGE_SIZE = 20
PROOF = "/user/proof"
OUTCOMES = (*PARAMETERS, "deleted", "sha", "committed")
"""Query parameters with the outcome of a form. Links to other pages of a list do not repeat them."""
LOCATION = "/%?=&#:@!$'()*+,;~"
"""Characters that are not quoted in a URL."""


def _is_file(value: Any) -> bool:
    return isinstance(value, UploadFile)


async def settle_sent_form(message: Message, scope: Scope) -> None:
    """Record the outcome of a form before its response begins. A rejected form may be sent again."""
    if message["type"] != "http.response.start":
        return
    parts: Parts = scope["litestar_app"].state[PARTS]
    sent_forms = parts[SentForms]
    sent, changed, refused = (
        scope["state"].pop(f"{what}_form", None) for what in ("sent", "changed", "refused")
    )
    if refused is not None:
        await sent_forms.remove(refused)
    elif changed is not None:
        await sent_forms.keep(changed)
    elif sent is not None and message["status"] < 400:
        await sent_forms.keep(sent)


class WebRequest(ApiRequest):
    """A request for a page."""

    @property
    def forge(self) -> Forge:
        """Return the client of the services for this caller."""
        return Forge(self.peers, self.principal_token, self.part(RenderedTextCache), self._remember_form)

    def _remember_form(self) -> None:
        """Record that the form has changed something, so a second submission is rejected."""
        if (digest := self.scope["state"].pop("sent_form", None)) is not None:
            self.scope["state"]["changed_form"] = digest

    @property
    def root(self) -> str:
        """Return the path of the site, without a trailing slash."""
        return urlsplit(self.public_url).path.rstrip("/")

    @property
    def takes_attachments(self) -> bool:
        """True if the site stores files of issues and comments."""
        return bool(self.app.state.settings.objects_url)

    @property
    def sends_mail(self) -> bool:
        """True if the site sends mail, which confirms addresses."""
        return bool(self.app.state.settings.sends_mail)

    @property
    def appearance(self) -> Appearance:
        """Return the appearance of pages, from the account or from an anonymous caller's cookie."""
        of_account = self.headers.get(APPEARANCE)
        return Appearance.parse(self.cookies.get(APPEARANCE, "") if of_account is None else of_account)

    @property
    def wants_part(self) -> bool:
        """True if htmx requests a part of an open page."""
        return "hx-request" in self.headers

    @property
    def number(self) -> int:
        """Return the requested page number of a list; 1 by default."""
        return self.number_of("page")

    def number_of(self, name: str) -> int:
        """Return the page number in the query parameter ``name``, for pages with two lists; 1 by default."""
        return whole_number(self.query_params.get(name, ""), 7) or 1

    @property
    def number_shown(self) -> int:
        """Return the page number of the list that is open in the browser, for requests of htmx."""
        fields = dict(parse_qsl(self._page_shown.partition("?")[2]))
        return whole_number(fields.get("page", ""), 7) or 1

    def rest(self, segments: int) -> str:
        """Return the decoded path after its first ``segments`` segments, without surrounding slashes."""
        return "/".join(self.scope["path"].strip("/").split("/")[segments:])

    def require_signed_in(self) -> None:
        """Raise Unauthenticated for an anonymous caller."""
        if not self.principal.signed_in:
            raise Unauthenticated("sign in to do that")

    async def sent_form(self) -> Form:
        """Return the form, which must come from a page for this caller, and must not be sent twice.

        Raises Unauthenticated, Denied, BadRequest, ProofRequired. Raises Conflict if the form was sent
        before, unless it was rejected before any change.
        """
        self.require_signed_in()
        require_own_site(self.headers, self.public_url)
        form = await self._read_form()
        if not self.part(FormTokens).accepts(form.get("token", ""), self._caller, int(time.time())):
            raise Denied(
                "this form is too old, or it is not of this browser; go back and load the page again"
            )
        if is_dangerous(self.scope["path"], form):
            await self._require_proof(form)
        if not form.has("preview"):
            digest = digest_of([self.scope["path"].encode(), *form.parts()])
            if not await self.part(SentForms).add(digest):
                raise Conflict(
                    "this form was sent already; go back and load the page again to see what came of it"
                )
            self.scope["state"]["sent_form"] = digest
        return form

    async def visitor_form(self) -> Form:
        """Return a form that changes only settings of the browser that sends it.

        Raises BadRequest, and Denied for a form of another site.
        """
        require_own_site(self.headers, self.public_url)
        return await self._read_form()

    async def _require_proof(self, form: Form) -> None:
        """Raise ProofRequired unless the session has a recent proof, or the form contains a valid proof."""
        refusal: ApiError | None = None
        if form.has("proof_password") or form.has("credential"):
            body = {
                "password": form["proof_password"],
                "code": form.text("proof_code"),
                "credential": form["credential"],
                "state": form["state"],
            }
            # The proof is no change that the form was sent for.
            sender = Forge(self.peers, self.principal_token, self.part(RenderedTextCache), lambda: None)
            try:
                await sender.send("POST", "identity", PROOF, body)
            except (Invalid, Denied, TooManyRequests) as error:
                refusal = error
        try:
            ways = await self.forge.get("identity", PROOF)
        except NotFound:
            # A replica of identity of an older release, while both are replaced, does not know proofs.
            return
        if ways["needed"]:
            raise ProofRequired(form, refusal, ways)

    async def _read_form(self) -> Form:
        """Return the fields in the order of the request. Raises BadRequest."""
        if self.headers.get("content-type", "").startswith("multipart/form-data"):
            return await self._read_form_with_files()
        raw = await self.raw_body()
        try:
            pairs = parse_qsl(
                raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
            )
        except ValueError as error:
            raise BadRequest("the form has too many fields") from error
        return Form([(name, value.replace("\0", "")) for name, value in pairs])

    async def _read_form_with_files(self) -> Form:
        try:
            fields = await self.form()
        except (SerializationException, ValidationException, ValueError, LookupError) as error:
            # The last two: a text that is not in its charset, or a charset that there is not.
            raise BadRequest("the form cannot be read") from error
        items = list(fields.multi_items())
        form = Form([(name, str(value).replace("\0", "")) for name, value in items if not _is_file(value)])
        for _, value in items:
            if _is_file(value) and value.filename:
                form.files.append(SentFile(value.filename, await value.read()))
        return form

    def proof(self, words: str) -> str:
        """Return a signature of ``words`` for a link on a page of this caller.

        Other sites cannot create the signature. It expires after 12 hours.
        """
        return self.part(FormTokens).token(f"{self._caller} {words}", int(time.time()))

    def proves(self, words: str, proof: str) -> bool:
        """True if ``proof`` is a valid signature of these words for this caller."""
        return self.part(FormTokens).accepts(proof, f"{self._caller} {words}", int(time.time()))

    def render(
        self,
        template: str,
        *,
        status: int = 200,
        error: ApiError | None = None,
        in_place: str = "",
        **values: Any,
    ) -> Response[str]:
        """Return a page from a template. ``values`` must include ``title``.

        ``error`` sets the status of the page and ``Retry-After``, and ``problem`` unless ``values`` has it. A
        request for a part of the page gets the template ``in_place``. Without ``in_place``, the response to
        an error is only its text.
        """
        headers = dict(HEADERS)
        if error is not None:
            status = error.status
            if seconds := retry_after(error):
                headers["Retry-After"] = seconds
        values.setdefault("problem", error.message if error is not None else "")
        if self.wants_part and (in_place or status >= 400):
            template = in_place or "pages/refusal.html"
        if status >= 400 and (digest := self.scope["state"].pop("sent_form", None)):
            self.scope["state"]["refused_form"] = digest
        principal = self.principal if "principal" in self.scope else None
        viewer = principal if principal is not None and principal.signed_in else None
        # An address without a route is answered before anybody has verified who asks for it.
        is_nobody = viewer is None and (principal is not None or not self.principal_token)
        html = self.part(Templates).render(
            template,
            viewer=viewer,
            is_nobody=is_nobody,
            appearance=Markup(self.appearance.attributes),  # noqa: S704 - words of our own
            form_token=self.part(FormTokens).token(self._caller, int(time.time())) if viewer else "",
            here=self.scope["path"],
            takes_attachments=self.takes_attachments,
            sign_in=self._sign_in,
            page_outcome=self._outcome() if viewer and status < 400 else "",
            **values,
        )
        return Response(html, status_code=status, media_type="text/html", headers=headers)

    @property
    def _sign_in(self) -> str:
        """Return the URL of the sign-in page, which redirects to this page afterwards.

        If GET cannot request this page, the sign-in page redirects to the home page.
        """
        address = f"{self.root}/login"
        if self.method != "GET" or self.scope["path"] == "/":
            return address
        query = self.scope["query_string"].decode("ascii", "replace")
        here = quote(self.scope["path"], safe="/") + (f"?{query}" if query else "")
        return f"{address}?{urlencode({'to': here}, safe='/')}"

    def redirect(self, path: str) -> Response[bytes]:
        """Redirect to a page of this site with GET. Characters that a header cannot contain are quoted."""
        location = self.root + quote(path, safe=LOCATION)
        if not self.wants_part:
            return Response(b"", status_code=303, headers={"Location": location, **HEADERS})
        # The browser would only move within its page to an address with another fragment.
        is_here = location.partition("#")[0] == self._page_shown and "#" in location
        reload = {"HX-Refresh": "true"} if is_here else {}
        return Response(b"", status_code=204, headers={"HX-Redirect": location, **reload, **HEADERS})

    def redirect_with_outcome(self, path: str, outcome: str, query: str = "") -> Response[bytes]:
        """Redirect to a page that shows the outcome once. ``query`` is added to its URL."""
        proof = self.part(Outcomes).query(self._caller, unquote(path), outcome, int(time.time()))
        return self.redirect(f"{path}?{query}&{proof}" if query else f"{path}?{proof}")

    def _outcome(self) -> str:
        """Return the outcome to show on this page; empty if it was shown before."""
        outcome, proof = (self.query_params.get(name, "") for name in PARAMETERS)
        path, now = self.scope["path"], int(time.time())
        is_new = self.part(Outcomes).is_new(self._caller, path, outcome, proof, now)
        return outcome if is_new else ""

    def redirect_with_query(self, path: str) -> Response[bytes]:
        """Redirect to another path, with the same query."""
        query = self.scope["query_string"].decode("ascii", "replace")
        return self.redirect(f"{path}{'&' if '?' in path else '?'}{query}" if query else path)

    @property
    def _page_shown(self) -> str:
        """Return path and query of the page in the browser, for requests of htmx."""
        shown = urlsplit(self.headers.get("hx-current-url", ""))
        return f"{shown.path}?{shown.query}" if shown.query else shown.path

    def reload(self) -> Response[bytes]:
        """Make htmx reload the whole page."""
        return Response(b"", status_code=204, headers={"HX-Refresh": "true", **HEADERS})

    def pages_of(self, total: int, size: int = PAGE_SIZE, name: str = "page") -> Mapping[str, Any]:
        """Return the values for links to other pages of a list. ``name`` is the query parameter."""
        last = max(1, -(-total // size))
        parameters = [(k, v) for k, v in self.query_params.multi_items() if k != name and k not in OUTCOMES]
        number = self.number_of(name)
        return {"name": name, "number": number, "last": last, "total": total, "parameters": parameters}

    @property
    def _caller(self) -> str:
        return f"{self.principal.id} {self.principal.session_id}"


def retry_after(error: ApiError) -> str:
    """Return the seconds in the header Retry-After; empty without the header."""
    # A header of a service comes in lower case.
    return next((value for name, value in error.headers.items() if name.lower() == "retry-after"), "")
