"""Checked requests to the OAuth2 provider: for the consent of a user, and for tokens."""

from dataclasses import dataclass

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidRequestError
from authlib.oauth2.rfc6749.util import extract_basic_authorization

from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.oauth2.rules import scopes as oauth2_scopes
from ingot_identity.oauth2.rules.protocol import (
    WITH_SECRET,
    Answer,
    CodeGrant,
    Pairs,
    ProtocolRequest,
    Provider,
    RequestRows,
)
from ingot_identity.oauth2.store.tables import OAuth2ApplicationRow

LONGEST_VALUE = 1_000
"""Maximum characters of ``state`` and ``nonce``."""


@dataclass(frozen=True)
class Consent:
    """A valid authorization request. The user may now be asked for consent."""

    provider: Provider
    request: ProtocolRequest
    grant: CodeGrant

    @property
    def application(self) -> OAuth2ApplicationRow:
        return self.grant.client.row  # type: ignore[no-any-return]

    @property
    def redirect_uri(self) -> str:
        """Return the URI to which the answer is sent."""
        return self.grant.redirect_uri  # type: ignore[no-any-return]

    @property
    def scope(self) -> str:
        return self.request.scope  # type: ignore[no-any-return]

    def parameter(self, name: str) -> str:
        return self.request.args.get(name, "")

    def code_location(self, account: AccountRow) -> str:
        """Create a code (``provider.code``). Return the URI that passes it to the application."""
        return self._location(account)

    def denial_location(self) -> str:
        """Return the URI with the error for a consent that the user denied."""
        return self._location(None)

    def error_location(self, error: str) -> str:
        """Return the URI with an error of OpenID Connect Core, section 3.1.2.6."""
        raised = OAuth2Error(error=error, redirect_uri=self.redirect_uri, state=self.parameter("state"))
        return self._address(self.provider.handle_error_response(self.request, raised))

    def _location(self, account: AccountRow | None) -> str:
        return self._address(
            self.provider.create_authorization_response(self.request, grant_user=account, grant=self.grant)
        )

    def _address(self, answer: Answer) -> str:
        return answer.headers["Location"]


def check_authorization_request(
    application: OAuth2ApplicationRow | None, account: AccountRow | None, pairs: Pairs, issuer: str
) -> Consent | Answer:
    """Return the valid request, or an answer that rejects it.

    The answer has a ``Location`` header if the URI is trusted.
    """
    provider = Provider(RequestRows(application), issuer)
    request = ProtocolRequest("GET", _readable(pairs))
    try:
        if any(len(request.args.get(name, "")) > LONGEST_VALUE for name in ("state", "nonce")):
            raise InvalidRequestError("The state or the nonce is too long.")
        grant = provider.get_consent_grant(request, end_user=account)
    except OAuth2Error as error:
        return provider.handle_error_response(request, error)  # type: ignore[no-any-return]
    return Consent(provider, request, grant)


def _readable(pairs: Pairs) -> Pairs:
    """Return the parameters with Ingot's scope names.

    Unsupported response types become "other", because an error may not quote every character.
    """
    readable = [(name, _readable_value(name, value)) for name, value in pairs if value]
    has_scope = any(name == "scope" for name, _ in readable)
    return readable if has_scope else [*readable, ("scope", oauth2_scopes.normalized(""))]


def _readable_value(name: str, value: str) -> str:
    if name == "scope":
        return oauth2_scopes.normalized(value)
    if name == "response_type" and value != "code":
        return "other"
    return value


def issue_tokens(rows: RequestRows, pairs: Pairs, authorization: str, issuer: str) -> tuple[Provider, Answer]:
    """Handle a request for tokens. Return the provider with the values to store, and its answer.

    ``authorization`` is the Authorization header. Programs without a secret may send an empty secret in
    Basic, which is ignored.
    """
    if secretless_id := _secretless_id(authorization):
        authorization, pairs = (
            "",
            [*(one for one in pairs if one[0] != "client_id"), ("client_id", secretless_id)],
        )
    provider = Provider(rows, issuer)
    request = ProtocolRequest("POST", pairs, authorization)
    repeated = [name for name, values in request.payload.datalist.items() if len(values) > 1]
    if repeated:
        error = InvalidRequestError("A parameter is there more than once.")
        return provider, provider.handle_error_response(request, error)
    return provider, provider.create_token_response(request)


def _secretless_id(authorization: str) -> str:
    """Return the client id of Basic credentials with an empty secret, or "" for other headers."""
    try:
        client_id, secret = extract_basic_authorization({"Authorization": authorization})
    except ValueError:
        return ""
    return client_id if secret == "" else ""


def authenticate_application(
    rows: RequestRows, pairs: Pairs, authorization: str, issuer: str, *, public: bool = False
) -> Answer | None:
    """Check the secret of the application. Return None if it is correct, otherwise the rejecting answer.

    ``public``: an application without a secret only needs its client id.
    """
    provider = Provider(rows, issuer)
    request = ProtocolRequest("POST", pairs, authorization)
    try:
        # Authlib asks ``Client.check_endpoint_auth_method``, which allows "none" at "token".
        methods, endpoint = ((*WITH_SECRET, "none"), "token") if public else (WITH_SECRET, "introspection")
        provider.authenticate_client(request, methods, endpoint)
    except OAuth2Error as error:
        return provider.handle_error_response(request, error)  # type: ignore[no-any-return]
    return None
