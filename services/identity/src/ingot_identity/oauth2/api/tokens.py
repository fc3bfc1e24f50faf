"""Routes that applications call: tokens, introspection, userinfo, and the metadata of the provider.

They return errors of OAuth2 (RFC 6749, section 5.2) instead of the API's error object.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from authlib.oauth2.rfc6749.util import extract_basic_authorization
from litestar import Response, get, post, route
from litestar.enums import HttpMethod

from ingot_chassis.errors import BadRequest, NotFound
from ingot_chassis.http.policy import anyone, signed_in
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.oauth2.api.queries import pairs_of
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.rules import flow as oauth2_flow
from ingot_identity.oauth2.rules import scopes as oauth2_scopes
from ingot_identity.oauth2.rules import userinfo
from ingot_identity.oauth2.rules.protocol import Answer, Pairs, RequestRows
from ingot_identity.oauth2.rules.requests import authenticate_application

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


@post("/login/oauth/access_token", policy=anyone(), include_in_schema=False, status_code=200)
async def exchange(request: IdentityRequest) -> Response[Any]:
    """Exchange a code or a refresh token for tokens (RFC 6749, sections 4.1.3 and 6)."""
    try:
        pairs = await _pairs(request)
    except BadRequest as error:
        return _invalid_request(error)
    key = await request.part(OAuth2Components).id_token_keys.current()
    async with request.db.transaction() as tx:
        answer = await oauth2_flow.exchange(
            tx, request.presenter, key, pairs, _authorization(request), request.part(OAuth2Components).issuer
        )
    return _response(answer)


@post("/login/oauth/introspect", policy=anyone(), include_in_schema=False, status_code=200)
async def introspect(request: IdentityRequest) -> Response[Any]:
    """Introspect a token of the application (RFC 7662). The application authenticates with its secret."""
    try:
        pairs = await _pairs(request)
    except BadRequest as error:
        return _invalid_request(error)
    form, authorization = dict(pairs), _authorization(request)
    async with request.db.read() as db:
        client_id = oauth2_flow.client_id_of(form, authorization)
        application = await oauth2_flow.get_application(db, client_id)
        refusal = authenticate_application(
            RequestRows(application), pairs, authorization, request.part(OAuth2Components).issuer
        )
        if refusal is None and application is not None and form.get("token"):
            introspection = await oauth2_flow.introspect(
                db, application, form["token"], request.part(OAuth2Components).issuer
            )
            return Response(introspection, headers=NO_STORE)
    return _response(refusal) if refusal else _invalid_request(BadRequest("The token is missing."))


@post("/login/oauth/revoke", policy=anyone(), include_in_schema=False, status_code=200)
async def revoke(request: IdentityRequest) -> Response[Any]:
    """Revoke a token of the application (RFC 7009). A token of another application is not an error."""
    try:
        pairs = await _pairs(request)
    except BadRequest as error:
        return _invalid_request(error)
    form, authorization = dict(pairs), _authorization(request)
    async with request.db.transaction() as tx:
        application = await oauth2_flow.get_application(tx, oauth2_flow.client_id_of(form, authorization))
        refusal = authenticate_application(
            RequestRows(application), pairs, authorization, request.part(OAuth2Components).issuer, public=True
        )
        if refusal is None and application is not None and form.get("token"):
            await oauth2_flow.revoke(tx, application, form["token"])
            return Response(b"", headers=NO_STORE)
    return _response(refusal) if refusal else _invalid_request(BadRequest("The token is missing."))


@route(
    "/login/oauth/userinfo",
    http_method=[HttpMethod.GET, HttpMethod.POST],
    policy=signed_in("openid"),
    include_in_schema=False,
    status_code=200,
)
async def get_userinfo(request: IdentityRequest) -> Response[Any]:
    """Return claims about the user that the scopes of the token allow (OpenID Connect Core, section 5.3)."""
    async with request.db.read() as db:
        row = await accounts.get(db, request.principal.id)
    if row is None:
        raise NotFound
    shown = userinfo.claims(request.presenter, row, request.principal.scopes)
    return Response(shown, headers=NO_STORE)


@get("/login/oauth/keys", policy=anyone(), include_in_schema=False)
async def get_keys(request: IdentityRequest) -> dict[str, Any]:
    """Return the public keys of id tokens (RFC 7517)."""
    return {"keys": await request.part(OAuth2Components).id_token_keys.published()}


@get("/.well-known/openid-configuration", policy=anyone(), include_in_schema=False)
async def get_configuration(request: IdentityRequest) -> dict[str, Any]:
    """Return endpoints and capabilities of the provider (OpenID Connect Discovery)."""
    base = f"{request.part(OAuth2Components).issuer}/login/oauth"
    with_secret = ["client_secret_basic", "client_secret_post"]
    return {
        "issuer": request.part(OAuth2Components).issuer,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/access_token",
        "jwks_uri": f"{base}/keys",
        "userinfo_endpoint": f"{base}/userinfo",
        "introspection_endpoint": f"{base}/introspect",
        "introspection_endpoint_auth_methods_supported": with_secret,
        "revocation_endpoint": f"{base}/revoke",
        "revocation_endpoint_auth_methods_supported": [*with_secret, "none"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": [
            *oauth2_scopes.IDENTITY,
            *sorted(oauth2_scopes.GRANTED - {*oauth2_scopes.IDENTITY}),
        ],
        "token_endpoint_auth_methods_supported": [*with_secret, "none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "claims_supported": [
            "sub",
            "iss",
            "aud",
            "exp",
            "iat",
            "auth_time",
            "nonce",
            "at_hash",
            "name",
            "preferred_username",
            "picture",
            "updated_at",
            "email",
            "email_verified",
        ],
    }


async def _pairs(request: IdentityRequest) -> Pairs:
    """Return the fields of a form or of a JSON object. Raises BadRequest."""
    raw = await request.raw_body()
    if "json" not in request.headers.get("content-type", "").lower():
        return pairs_of(raw.decode("utf-8", "replace"))
    try:
        fields = msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("The body is not JSON.") from error
    if not isinstance(fields, Mapping) or not all(isinstance(value, str | None) for value in fields.values()):
        raise BadRequest("The body is not an object of texts.")
    return [(name, value) for name, value in fields.items() if value]


def _authorization(request: IdentityRequest) -> str:
    """Return the Authorization header; empty if it cannot be decoded."""
    header = request.headers.get("authorization", "")
    try:
        extract_basic_authorization({"Authorization": header})
    except ValueError:
        return ""
    return header


def _response(answer: Answer) -> Response[Any]:
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "content-type"}
    return Response(answer.body, status_code=answer.status, headers=headers)


def _invalid_request(error: BadRequest) -> Response[Any]:
    body = {"error": "invalid_request", "error_description": error.message}
    return Response(body, status_code=400, headers=NO_STORE)


routes = [exchange, introspect, revoke, get_userinfo, get_keys, get_configuration]
