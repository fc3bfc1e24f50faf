"""For other services: principals of credentials, public keys, accounts, memberships, teams, owners of repositories."""

import msgspec
from litestar import delete, get, post, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone, services
from ingot_chassis.security.keys import Jwks
from ingot_chassis.security.principal import Membership, Principal, sign_principal
from ingot_contracts.identity import (
    Account,
    Authenticate,
    Authenticated,
    FindSignatureKeys,
    Ownership,
    RenewPrincipal,
    SignatureKey,
    Team,
)
from ingot_contracts.topology import AUDIENCE
from ingot_identity.api.fields import Ids
from ingot_identity.api.request import IdentityRequest
from ingot_identity.core import account_deletion, members, signature_keys
from ingot_identity.core.credentials import CodeRequired, identify, principal_of_ssh_key, renew
from ingot_identity.core.teams import present
from ingot_identity.store import accounts, former_names, repositories, teams

PEERS = services("repos", "issues", "hooks")


class SshKeyOwner(msgspec.Struct, kw_only=True):
    """Whose SSH key it is, and its title."""

    principal: Principal
    title: str


@post("/internal/authenticate", policy=services("gateway"), include_in_schema=False, status_code=200)
async def authenticate(request: IdentityRequest, data: Authenticate) -> Authenticated:
    """Exchange a credential for a signed principal."""
    components = request.components
    try:
        principal = await identify(request.db, components.sign_ins, data)
    except CodeRequired:
        return Authenticated(principal_token="", user_id=0, needs_code=True)
    if principal is None:
        return Authenticated(principal_token="", user_id=0)
    key = await components.signing_keys.current()
    return Authenticated(
        principal_token=sign_principal(principal, key, audience=list(AUDIENCE)), user_id=principal.id
    )


@post("/internal/principals", policy=services("repos"), include_in_schema=False, status_code=200)
async def renew_principal(request: IdentityRequest, data: RenewPrincipal) -> Principal:
    """Who came with a credential, as they are now. 404 when it is not valid any more, 403 when they may not sign in."""
    principal = await renew(request.db, data)
    if principal is None:
        raise NotFound
    return principal


@get("/internal/jwks", policy=anyone(), include_in_schema=False)
async def jwks(request: IdentityRequest) -> Jwks:
    """The public keys of principals (RFC 7517)."""
    return await request.components.signing_keys.published()


@get("/internal/ssh-keys", policy=services("repos"), include_in_schema=False)
async def owner_of_ssh_key(request: IdentityRequest, fingerprint: str) -> SshKeyOwner:
    """The user whose key has this fingerprint (``SHA256:…``), as they are now. 403 when they may not sign in."""
    owner = await principal_of_ssh_key(request.db, fingerprint)
    if owner is None:
        raise NotFound
    principal, title = owner
    return SshKeyOwner(principal=principal, title=title)


@post("/internal/signature-keys", policy=services("repos"), include_in_schema=False, status_code=200)
async def find_signature_keys(request: IdentityRequest, data: FindSignatureKeys) -> list[SignatureKey]:
    """Those of the keys that somebody has; public, as the keys of everybody are."""
    async with request.db.read() as db:
        return await signature_keys.find(db, request.components.presenter, data)


@get("/internal/accounts/by-name/{login:str}", policy=PEERS, include_in_schema=False)
async def account_by_name(request: IdentityRequest, login: str, former: bool = False) -> Account:
    """A user or organization, also one that the person behind the request may not know of.

    ``?former=true``: also one that had the name before, as long as the name is reserved for it.
    """
    async with request.db.read() as db:
        row = await accounts.get_by_login(db, login)
        if row is None and former:
            row = await former_names.get_account(db, login)
    if row is None:
        raise NotFound
    return request.components.presenter.account(row)


@get("/internal/accounts/{account_id:int}", policy=PEERS, include_in_schema=False)
async def account_by_id(request: IdentityRequest, account_id: int) -> Account:
    """A user or organization, as by name."""
    async with request.db.read() as db:
        row = await accounts.get(db, account_id)
    if row is None:
        raise NotFound
    return request.components.presenter.account(row)


@get("/internal/accounts/{account_id:int}/organizations", policy=PEERS, include_in_schema=False)
async def organizations_of_account(
    request: IdentityRequest, account_id: int, public: bool = False
) -> dict[int, Membership]:
    """What a user is in each organization now. Peers ask it before they refuse what an older principal does not allow.

    ``?public=true``: only where the user shows the membership, for answers to others.
    """
    async with request.db.read() as db:
        return await members.memberships_of(db, account_id, public_only=public)


@get("/internal/teams/{team_id:int}", policy=services("repos"), include_in_schema=False)
async def team_by_id(request: IdentityRequest, team_id: int) -> Team:
    """A team, also one that the person behind the request may not know of."""
    async with request.db.read() as db:
        row = await teams.get(db, team_id)
    if row is None:
        raise NotFound
    return present(row)


@get(
    "/internal/organizations/{organization_id:int}/teams",
    policy=services("repos", "issues"),
    include_in_schema=False,
)
async def teams_of_organization(
    request: IdentityRequest,
    organization_id: int,
    name: str = "",
    ids: Ids | None = None,
    everywhere: bool = False,
) -> list[Team]:
    """The team of that name, those of these ids, and with ``?everywhere=true`` those that have all repositories.

    To be asked for any of the three. Owners first, then by name.
    """
    async with request.db.read() as db:
        rows = await teams.list_named(db, organization_id, name, ids or [], everywhere=everywhere)
    return [present(row) for row in rows]


@put(
    "/internal/repositories/{repository_id:int}",
    policy=services("repos"),
    include_in_schema=False,
    status_code=204,
)
async def save_ownership(request: IdentityRequest, repository_id: int, data: Ownership) -> None:
    """Note the owner of a repository, so that the owner is not deleted. 404 when the owner is deleted already."""
    async with request.db.transaction() as tx:
        await account_deletion.save_ownership(tx, repository_id, data)


@delete("/internal/repositories/{repository_id:int}", policy=services("repos"), include_in_schema=False)
async def remove_ownership(request: IdentityRequest, repository_id: int) -> None:
    """Forget the owner of a repository that was just deleted, ahead of the event: its owner may be deleted now."""
    async with request.db.transaction() as tx:
        await repositories.remove(tx, repository_id)


routes = [
    authenticate,
    renew_principal,
    jwks,
    owner_of_ssh_key,
    find_signature_keys,
    account_by_name,
    account_by_id,
    organizations_of_account,
    team_by_id,
    teams_of_organization,
    save_ownership,
    remove_ownership,
]
