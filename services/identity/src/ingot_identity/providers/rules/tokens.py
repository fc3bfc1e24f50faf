"""Tokens that providers sign: id tokens, and logout tokens. No claim is used before verification."""

import time
from collections.abc import Mapping
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError

from ingot_identity.providers.clients.metadata import PublishedMetadata
from ingot_identity.sources.rules.configs import OidcConfig

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Only asymmetric signatures: with ``none`` anyone could sign, with a shared secret the client could."""
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
LONGEST_TOKEN = 100_000
LONGEST_SUBJECT = 255


class InvalidToken(Exception):
    """A token is invalid. The text is for the log."""


async def verify_id_token(
    published: PublishedMetadata, config: OidcConfig, token: str, *, nonce: str, access_token: str
) -> dict[str, Any]:
    """Return the claims of an id token for this client and this request.

    Raises InvalidToken, ProviderFailed.
    """
    header, claims = await _decoded(published, config.issuer, token)
    options = {
        "iss": {"essential": True, "value": config.issuer},
        "aud": {"essential": True, "value": config.client_id},
    }
    params = {"client_id": config.client_id, "nonce": nonce, "access_token": access_token}
    verified = CodeIDToken(claims, header, options, params)
    try:
        verified.validate(now=int(time.time()), leeway=config.clock_skew)
    except JoseError as error:
        raise InvalidToken(f"the id token is not accepted: {error}") from error
    _require_this_client(claims, config)
    _require_subject(claims)
    return claims


async def verify_logout_token(published: PublishedMetadata, config: OidcConfig, token: str) -> dict[str, Any]:
    """Return the claims of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6).

    The caller must reject a ``jti`` that was used before. Raises InvalidToken, ProviderFailed.
    """
    header, claims = await _decoded(published, config.issuer, token)
    if str(header.get("typ", "logout+jwt")).lower() not in ("logout+jwt", "application/logout+jwt", "jwt"):
        raise InvalidToken("the type of the token is another one")
    registry = jwt.JWTClaimsRegistry(
        now=int(time.time()),
        leeway=config.clock_skew,
        iss={"essential": True, "value": config.issuer},
        aud={"essential": True, "value": config.client_id},
        iat={"essential": True},
        jti={"essential": True},
    )
    try:
        registry.validate(claims)
    except JoseError as error:
        raise InvalidToken(f"the logout token is not accepted: {error}") from error
    _require_this_client(claims, config)
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise InvalidToken("it is no logout token")
    if "nonce" in claims:
        raise InvalidToken("a logout token has no nonce")
    if time.time() - claims["iat"] > LOGOUT_SECONDS + config.clock_skew:
        raise InvalidToken("the logout token is too old")
    if not isinstance(claims["jti"], str) or not any(isinstance(claims.get(x), str) for x in ("sub", "sid")):
        raise InvalidToken("the logout token names no session")
    return claims


LOGOUT_SECONDS = 300
"""Maximum age of a logout token in seconds. Its ``jti`` is stored for longer."""


async def _decoded(
    published: PublishedMetadata, issuer: str, token: str
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the header and the claims of a signed token. Raises InvalidToken, ProviderFailed."""
    if len(token) > LONGEST_TOKEN:
        raise InvalidToken("the token is too long")
    try:
        header = jws.extract_compact(token.encode()).headers()
    except (JoseError, ValueError) as error:
        raise InvalidToken("the token cannot be read") from error
    key_id, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS:
        raise InvalidToken("the token is signed in a way that is not accepted")
    if key_id is not None and not isinstance(key_id, str):
        raise InvalidToken("the token names its key by no text")
    keys = await published.keys(issuer, key_id)
    if key_id is None:
        candidates = [key for key in keys if key.alg in (None, algorithm)]
    else:
        candidates = [key for key in keys if key.kid == key_id]
    for key in candidates:
        try:
            decoded = jwt.decode(token, key, algorithms=ALGORITHMS)
        except (JoseError, TypeError, ValueError):
            continue
        return decoded.header, decoded.claims
    raise InvalidToken("the token is signed with none of the keys of the provider")


def _require_this_client(claims: Mapping[str, Any], config: OidcConfig) -> None:
    """Raise InvalidToken for a token for several clients that does not name this one."""
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != config.client_id:
        raise InvalidToken("the token is for several clients and was not issued to this one")


def _require_subject(claims: Mapping[str, Any]) -> None:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise InvalidToken("the id token has no usable sub")
