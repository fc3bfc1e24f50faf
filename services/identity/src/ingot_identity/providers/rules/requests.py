"""The authorization code flow: the redirect to a provider and back (OpenID Connect Core, section 3.1).

An attempt is bound to its browser, because only this browser has the sealed cookie. The state rejects forged
responses, the nonce rejects id tokens of other attempts, and PKCE rejects stolen codes. The source of the
attempt and the issuer in the response reject responses of another provider (RFC 9207).
"""

import hmac
import secrets
from urllib.parse import parse_qsl

import msgspec
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_identity.providers.clients.http import ProviderFailed, ProviderHttp
from ingot_identity.providers.clients.metadata import Metadata, PublishedMetadata
from ingot_identity.providers.rules.people import Person, claim, claims_needed, person_of
from ingot_identity.providers.rules.tokens import InvalidToken, verify_id_token
from ingot_identity.sources.rules.configs import OidcConfig

ATTEMPT_SECONDS = 600
TICKET_SECONDS = 300
LONGEST_CODE = 8_000
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that a browser began. ``link_to`` is the signed-in account to be linked, or 0.

    ``to`` is the next page after the sign-in. ``query`` is the authorization request to continue instead; it
    may be empty.
    """

    source_id: int
    state: str
    nonce: str
    code_verifier: str
    to: str = "/"
    query: str = ""
    link_to: int = 0


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A person whom a provider has identified and who still has to give a password or a code.

    ``browser`` is the digest of a secret that only the browser has. ``is_new_link``: the account is not
    linked yet, so its password is required.
    """

    source_id: int
    person: Person
    browser: str
    account_id: int = 0
    is_new_link: bool = False
    to: str = "/"
    query: str = ""


class Envelope:
    """Seals attempts and tickets with separate keys, so neither can be used as the other."""

    def __init__(self, sealing_key: str) -> None:
        self._attempts = Seal.for_purpose(
            sealing_key, "INGOT_IDENTITY_SEALING_KEY", "ingot provider attempts"
        )
        self._tickets = Seal.for_purpose(sealing_key, "INGOT_IDENTITY_SEALING_KEY", "ingot provider tickets")

    def close_attempt(self, attempt: Attempt) -> str:
        return (self._attempts.close(msgspec.json.encode(attempt).decode()) or b"").decode()

    def open_attempt(self, text: str) -> Attempt | None:
        """Return the sealed attempt; None if it is too old or not sealed here."""
        try:
            return msgspec.json.decode(
                self._attempts.open(text.encode(), seconds=ATTEMPT_SECONDS), type=Attempt
            )
        except (Unreadable, msgspec.DecodeError, ValueError):
            return None

    def close_ticket(self, ticket: Ticket) -> str:
        return (self._tickets.close(msgspec.json.encode(ticket).decode()) or b"").decode()

    def open_ticket(self, text: str, browser: str) -> Ticket | None:
        """Return the sealed ticket; None if it is too old, not sealed here, or of another browser."""
        try:
            ticket = msgspec.json.decode(
                self._tickets.open(text.encode(), seconds=TICKET_SECONDS), type=Ticket
            )
        except (Unreadable, msgspec.DecodeError, ValueError):
            return None
        return ticket if hmac.compare_digest(ticket.browser, browser) else None


def new_attempt(source_id: int, *, to: str = "/", query: str = "", link_to: int = 0) -> Attempt:
    return Attempt(
        source_id=source_id,
        state=secrets.token_urlsafe(24),
        nonce=secrets.token_urlsafe(24),
        code_verifier=secrets.token_urlsafe(48),
        to=to,
        query=query,
        link_to=link_to,
    )


def authorization_url(metadata: Metadata, config: OidcConfig, attempt: Attempt, redirect_uri: str) -> str:
    return str(
        prepare_grant_uri(
            metadata.authorization_endpoint,
            config.client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=config.scopes,
            state=attempt.state,
            nonce=attempt.nonce,
            code_challenge=create_s256_code_challenge(attempt.code_verifier),
            code_challenge_method="S256",
        )
    )


def code_of(metadata: Metadata, attempt: Attempt, query: str) -> str:
    """Return the code in the response of a provider.

    Raises InvalidToken if the response is invalid or belongs to another attempt. Raises ProviderRefused.
    """
    pairs = parse_qsl(query, max_num_fields=50)
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidToken("the answer has a parameter twice")
    if not hmac.compare_digest(fields.get("state", "").encode(), attempt.state.encode()):
        raise InvalidToken("the answer is for another attempt")
    issuer = fields.get("iss")
    if issuer is None and metadata.authorization_response_iss_parameter_supported:
        raise InvalidToken("the answer does not name its issuer")
    if issuer is not None and issuer != metadata.issuer:
        raise InvalidToken("the answer is from another issuer")
    if error := fields.get("error"):
        raise ProviderRefused(error)
    code = fields.get("code", "")
    if not 0 < len(code) <= LONGEST_CODE:
        raise InvalidToken("the answer has no code")
    return code


class ProviderRefused(Exception):
    """The provider reports that the person did not sign in; ``args[0]`` is its error code."""


class PersonReader:
    """Exchanges codes for claims of providers about a person."""

    def __init__(self, http: ProviderHttp, published: PublishedMetadata) -> None:
        self._http, self._published = http, published

    async def read(
        self, config: OidcConfig, secret: str, attempt: Attempt, code: str, redirect_uri: str
    ) -> Person:
        """Return the person who signed in. Raises InvalidToken, ProviderFailed."""
        metadata = await self._published.metadata(config.issuer)
        tokens = await self._exchange(metadata, config, secret, attempt, code, redirect_uri)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str) or not isinstance(access_token, str):
            raise InvalidToken("the provider sent no id token")
        claims = await verify_id_token(
            self._published, config, id_token, nonce=attempt.nonce, access_token=access_token
        )
        if metadata.userinfo_endpoint and any(claim(claims, name) is None for name in claims_needed(config)):
            claims = await self._userinfo(metadata.userinfo_endpoint, access_token, claims["sub"]) | claims
        distributed = claims.get("_claim_names")
        if isinstance(distributed, dict) and config.groups_claim in distributed:
            raise ProviderFailed(
                "it sends no groups, because the person has too many; send assigned ones only"
            )
        return person_of(config, claims, id_token)

    async def _exchange(
        self,
        metadata: Metadata,
        config: OidcConfig,
        secret: str,
        attempt: Attempt,
        code: str,
        redirect_uri: str,
    ) -> dict[str, object]:
        methods = metadata.token_endpoint_auth_methods_supported
        method = "client_secret_post" if "client_secret_post" in methods else "client_secret_basic"
        auth = ClientAuth(config.client_id, secret, method if secret else "none")
        body = prepare_token_request(
            "authorization_code", redirect_uri=redirect_uri, code=code, code_verifier=attempt.code_verifier
        )
        url, headers, body = auth.prepare("POST", metadata.token_endpoint, dict(_FORM), body)
        reply = await self._http.request("POST", url, headers=headers, body=body)
        if reply.status != 200:
            raise ProviderFailed(f"the token endpoint answers {reply.status}")
        return reply.json()

    async def _userinfo(self, url: str, access_token: str, subject: str) -> dict[str, object]:
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        reply = await self._http.request("GET", url, headers=headers)
        if reply.status != 200:
            raise ProviderFailed(f"the userinfo endpoint answers {reply.status}")
        answer = reply.json()
        if answer.get("sub") != subject:
            raise InvalidToken("the userinfo is of another person")
        return answer
