"""Internal routes for other services: principals of credentials, and the public keys that verify them."""

import msgspec
from litestar import get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone, services
from ingot_chassis.security.keys import Jwks
from ingot_chassis.security.principal import Principal, sign_principal
from ingot_contracts.identity.credentials import Authenticate, Authenticated, RenewPrincipal
from ingot_contracts.identity.messages import ReplyPrincipal, ReplySender
from ingot_contracts.topology import AUDIENCE
from ingot_contracts.web import Appearance
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.authentication.components import AuthenticationComponents
from ingot_identity.authentication.rules.credentials import (
    identify,
    principal_of_reply,
    principal_of_ssh_key,
    renew,
)
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import CodeRequired, SecondFactorMissing

REPLY_AUDIENCE = ["issues", "repos"]
"""The services that accept the principal of a reply by mail."""


class SshKeyOwner(msgspec.Struct, kw_only=True):
    """The owner of an SSH key, and the title of the key."""

    principal: Principal
    title: str


@post("/internal/authenticate", policy=services("gateway"), include_in_schema=False, status_code=200)
async def authenticate(request: IdentityRequest, data: Authenticate) -> Authenticated:
    """Exchange a credential for a signed principal.

    If no user has the credential, ``principal_token`` is empty and ``user_id`` is 0. Answers 403 if the user
    may not sign in.
    """
    try:
        identified = await identify(request.db, request.part(TwoFactorComponents).sign_ins, data)
    except CodeRequired:
        return Authenticated(principal_token="", user_id=0, needs_code=True)
    except SecondFactorMissing:
        return Authenticated(principal_token="", user_id=0, needs_second_factor=True)
    if identified is None:
        return Authenticated(principal_token="", user_id=0)
    key = await request.part(AuthenticationComponents).signing_keys.current()
    principal, account = identified
    return Authenticated(
        principal_token=sign_principal(principal, key, audience=list(AUDIENCE)),
        user_id=principal.id,
        appearance=Appearance.of(account.theme, account.density, account.tab_width).text,
    )


@post("/internal/principals", policy=services("repos"), include_in_schema=False, status_code=200)
async def renew_principal(request: IdentityRequest, data: RenewPrincipal) -> Principal:
    """Return the current principal of a credential.

    Answers 404 if the credential is no longer valid, 403 if its owner may not sign in.
    """
    principal = await renew(request.db, request.part(TwoFactorComponents).sign_ins, data)
    if principal is None:
        raise NotFound
    return principal


@get("/internal/jwks", policy=anyone(), include_in_schema=False)
async def jwks(request: IdentityRequest) -> Jwks:
    """Return the public keys of principals (RFC 7517)."""
    return await request.part(AuthenticationComponents).signing_keys.published()


@get("/internal/ssh-keys", policy=services("repos"), include_in_schema=False)
async def owner_of_ssh_key(request: IdentityRequest, fingerprint: str, used: bool = False) -> SshKeyOwner:
    """Return the owner of the SSH key with this fingerprint (``SHA256:…``).

    ``used``: a git session uses the key. Answers 404 for an unknown key, 403 if the owner may not sign in.
    """
    owner = await principal_of_ssh_key(request.db, fingerprint, used=used)
    if owner is None:
        raise NotFound
    principal, title = owner
    return SshKeyOwner(principal=principal, title=title)


@post(
    "/internal/accounts/{account_id:int}/reply-principal",
    policy=services("mail"),
    include_in_schema=False,
    status_code=200,
)
async def get_reply_principal(request: IdentityRequest, account_id: int, data: ReplySender) -> ReplyPrincipal:
    """Return the principal for a reply by mail. mail has verified the signed address that received the reply.

    Answers 404 unless the sender's address is a confirmed address of the account, and its user may sign in.
    """
    principal = await principal_of_reply(request.db, account_id, data.address)
    if principal is None:
        raise NotFound
    key = await request.part(AuthenticationComponents).signing_keys.current()
    return ReplyPrincipal(principal_token=sign_principal(principal, key, audience=REPLY_AUDIENCE))


routes = [authenticate, renew_principal, jwks, owner_of_ssh_key, get_reply_principal]
