"""Checks of requests that OAuth2 and OpenID Connect require, by Authlib.

Authlib requests rows during its checks, without ``await``. So the rows that a request names are read first
(``RequestRows``). Authlib decides, and its decisions are stored afterwards (``Provider.code``, ``.issued``,
``.replayed``). All steps are in one transaction (``flow.py``).
"""

import hmac
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc6749 import (
    AuthorizationCodeMixin,
    AuthorizationServer,
    ClientMixin,
    InvalidRequestError,
    OAuth2Payload,
    OAuth2Request,
    TokenMixin,
)
from authlib.oauth2.rfc6749 import grants as authlib_grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core.grants import OpenIDCode
from joserfc.jwk import RSAKey

from ingot_chassis.clock import now
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.oauth2.rules import redirect_uris
from ingot_identity.oauth2.rules import scopes as oauth2_scopes
from ingot_identity.oauth2.rules import secrets as oauth2_secrets
from ingot_identity.oauth2.store.tables import (
    OAuth2ApplicationRow,
    OAuth2AuthorizationRow,
    OAuth2TokenKind,
    OAuth2TokenRow,
)
from ingot_identity.tokens import rules as tokens

CODE_LIFETIME = timedelta(minutes=10)
ACCESS_LIFETIME = timedelta(hours=1)
REFRESH_LIFETIME = timedelta(days=30)
WITH_SECRET = ("client_secret_basic", "client_secret_post")
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class RequestRows:
    """The rows that a request names: the client, the code or token, and the user."""

    application: OAuth2ApplicationRow | None
    authorization: OAuth2AuthorizationRow | None = None
    token: OAuth2TokenRow | None = None
    account: AccountRow | None = None
    claims: dict[str, Any] = field(default_factory=dict)
    key: RSAKey | None = None


@dataclass(frozen=True)
class Answer:
    """An answer of the provider, before it becomes an HTTP response."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Payload(OAuth2Payload):  # type: ignore[misc]
    """Parameters of a query or a form. A parameter without a value is absent (RFC 6749, section 3.1)."""

    def __init__(self, pairs: Pairs) -> None:
        self._lists: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in pairs:
            if value:
                self._lists[name].append(value)

    @property
    def data(self) -> dict[str, str]:
        return {name: values[0] for name, values in self._lists.items()}

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return self._lists


class ProtocolRequest(OAuth2Request):  # type: ignore[misc]
    """A request in the format that Authlib expects."""

    def __init__(self, method: str, pairs: Pairs, authorization: str = "") -> None:
        # Whether the site is served with TLS is the operator's matter; Authlib refuses other addresses.
        super().__init__(method, "https://ingot.invalid/", headers={"Authorization": authorization})
        self.payload = Payload(pairs)

    @property
    def args(self) -> dict[str, str]:
        return self.payload.data

    @property
    def form(self) -> dict[str, str]:
        return self.payload.data


class Client(ClientMixin):  # type: ignore[misc]
    """An application in the format that Authlib expects."""

    def __init__(self, row: OAuth2ApplicationRow) -> None:
        self.row, self._uris = row, row.redirect_uris.split("\n")

    def get_client_id(self) -> str:
        return self.row.client_id

    def get_default_redirect_uri(self) -> str | None:
        return self._uris[0] if len(self._uris) == 1 else None

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        if not redirect_uris.is_registered(redirect_uri, self._uris):
            # Authlib would quote the address, and fails at characters that an error may not have.
            raise InvalidRequestError("The redirect_uri is not one that the application registered.")
        return True

    def check_client_secret(self, client_secret: str) -> bool:
        return hmac.compare_digest(tokens.digest(client_secret), self.row.secret_sha256)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method != "none" or (endpoint == "token" and not self.row.confidential)

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


class Code(AuthorizationCodeMixin):  # type: ignore[misc]
    """An authorization code in the format that Authlib expects."""

    code_challenge_method = "S256"

    def __init__(self, row: OAuth2AuthorizationRow) -> None:
        self.row, self.code_challenge = row, row.code_challenge

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return self.row.scopes

    def get_nonce(self) -> str:
        return self.row.nonce

    def get_auth_time(self) -> int:
        return int(self.row.signed_in_at.timestamp())

    def get_acr(self) -> None: ...

    def get_amr(self) -> None: ...


class RefreshToken(TokenMixin):  # type: ignore[misc]
    """A refresh token in the format that Authlib expects."""

    def __init__(self, row: OAuth2TokenRow) -> None:
        self.row = row

    def check_client(self, client: Client) -> bool:
        return self.row.application_id == client.row.id

    def get_scope(self) -> str:
        return self.row.scopes


class CodeGrant(authlib_grants.AuthorizationCodeGrant):  # type: ignore[misc]
    """The authorization code grant (RFC 6749, section 4.1)."""

    TOKEN_ENDPOINT_AUTH_METHODS = (*WITH_SECRET, "none")

    def generate_authorization_code(self) -> str:
        return oauth2_secrets.new_code()

    def save_authorization_code(self, code: str, _request: ProtocolRequest) -> None:
        self.server.code = code

    def query_authorization_code(self, _code: str, client: Client) -> Code | None:
        row = self.server.rows.authorization
        if row is None or row.application_id != client.row.id:
            return None
        if row.code_used_at is not None:
            self.server.replayed = row.id
            return None
        return Code(row) if row.code_expires_at > now() else None

    def delete_authorization_code(self, authorization_code: Code) -> None:
        """Do nothing: a code is marked as used, so a second use is recognized."""

    def authenticate_user(self, _authorization_code: Code) -> AccountRow | None:
        return self.server.active_account()  # type: ignore[no-any-return]


class RefreshGrant(authlib_grants.RefreshTokenGrant):  # type: ignore[misc]
    """The refresh token grant (RFC 6749, section 6).

    Each refresh token works once (RFC 9700, section 4.14).
    """

    TOKEN_ENDPOINT_AUTH_METHODS = (*WITH_SECRET, "none")
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, _refresh_token: str) -> RefreshToken | None:
        row = self.server.rows.token
        if row is None or row.kind != OAuth2TokenKind.REFRESH or row.application_id != self.client.row.id:
            return None
        if row.used_at is not None:
            self.server.replayed = row.authorization_id
            return None
        return RefreshToken(row) if row.expires_at > now() else None

    def authenticate_user(self, _refresh_token: RefreshToken) -> AccountRow | None:
        return self.server.active_account()  # type: ignore[no-any-return]

    def revoke_old_credential(self, refresh_token: RefreshToken) -> None:
        """Do nothing: a refresh token is marked as used, so a second use is recognized."""


class Pkce(CodeChallenge):  # type: ignore[misc]
    """PKCE (RFC 7636), only with S256. Required for public applications."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: CodeGrant, redirect_uri: str) -> None:
        sent = grant.request.payload.data
        if "code_challenge" in sent and sent.get("code_challenge_method") != "S256":
            raise InvalidRequestError("The code_challenge_method must be S256.")
        if "code_challenge" not in sent and not grant.client.row.confidential:
            raise InvalidRequestError("This application must send a code_challenge (PKCE, S256).")
        super().validate_code_challenge(grant, redirect_uri)


class IdToken(OpenIDCode):  # type: ignore[misc]
    """An id token, issued with the access token if the scope has ``openid`` (OpenID Connect Core, 3.1)."""

    def __init__(self, rows: RequestRows, issuer: str) -> None:
        super().__init__(require_nonce=False)
        self._rows, self._issuer = rows, issuer

    def exists_nonce(self, _nonce: str, _request: ProtocolRequest) -> bool:
        """Return False: the application compares the nonce, and a code is exchanged only once."""
        return False

    def resolve_client_private_key(self, _client: Client) -> RSAKey | None:
        return self._rows.key

    def get_encode_header(self, _client: Client) -> dict[str, Any]:
        return {"alg": "RS256", "kid": self._rows.key.kid if self._rows.key else ""}

    def get_client_algorithm(self, _client: Client) -> str:
        return "RS256"

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        return {"iss": self._issuer, "aud": [client.get_client_id()]}

    def generate_user_info(self, _user: AccountRow, _scope: str) -> dict[str, Any]:
        return self._rows.claims


class Provider(AuthorizationServer):  # type: ignore[misc]
    """The provider for one request. After the request it holds the values to store.

    ``code`` is a new code. ``issued`` are the tokens of the answer. ``replayed`` is the id of an
    authorization whose code or refresh token was used twice: all of its tokens must be revoked.
    """

    def __init__(self, rows: RequestRows, issuer: str) -> None:
        super().__init__(scopes_supported=sorted(oauth2_scopes.GRANTED))
        self.rows, self._issuer = rows, issuer
        self.code = ""
        self.issued: dict[str, Any] = {}
        self.replayed = 0
        self.register_token_generator(
            "default",
            BearerTokenGenerator(
                lambda **_: oauth2_secrets.new_access_token(),
                lambda **_: oauth2_secrets.new_refresh_token(),
                lambda *_: int(ACCESS_LIFETIME.total_seconds()),
            ),
        )
        self.register_grant(CodeGrant, [Pkce(required=True), IdToken(rows, issuer)])
        self.register_grant(RefreshGrant)

    def query_client(self, client_id: str) -> Client | None:
        row = self.rows.application
        return Client(row) if row is not None and row.client_id == client_id else None

    def active_account(self) -> AccountRow | None:
        """Return the user of a code or token; None if the user may not sign in."""
        row = self.rows.account
        return row if row is not None and row.active and not row.login_prohibited else None

    def save_token(self, token: dict[str, Any], _request: ProtocolRequest) -> None:
        self.issued = token

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing, because there are no listeners."""

    def create_oauth2_request(self, request: ProtocolRequest) -> ProtocolRequest:
        return request

    def handle_response(self, status: int, body: Any, headers: Sequence[tuple[str, str]]) -> Answer:
        answer = dict(headers)
        if "Location" in answer:
            # RFC 9207: the application sees who answers.
            answer["Location"] = add_params_to_uri(answer["Location"], [("iss", self._issuer)])
        return Answer(status, body, answer)
