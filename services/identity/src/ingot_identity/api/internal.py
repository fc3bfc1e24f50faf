"""For sister services only: who is this, which keys sign, what is the account of that name, who owns something."""

from litestar import get, post, put

from ingot_chassis.errors import NotFound
from ingot_chassis.keys import Jwks
from ingot_chassis.policy import anyone, services
from ingot_chassis.principal import Membership, sign_principal
from ingot_contracts.identity import Account, Authenticate, Authenticated, Ownership, Team
from ingot_contracts.topology import AUDIENCE
from ingot_identity.api.call import Call
from ingot_identity.core import departures, organizations
from ingot_identity.core.credentials import identify
from ingot_identity.store import accounts
from ingot_identity.store import organizations as store

SISTERS = services("repos", "issues", "hooks")


@post("/internal/authenticate", policy=services("gateway"), include_in_schema=False, status_code=200)
async def authenticate(request: Call, data: Authenticate) -> Authenticated:
    """Swap a credential for a signed principal."""
    principal = await identify(request.db, request.passwords, request.sign_ins, data)
    if principal is None:
        return Authenticated(statement="", user_id=0)
    key = await request.signing_keys.current()
    return Authenticated(
        statement=sign_principal(principal, key, audience=list(AUDIENCE)), user_id=principal.id
    )


@get("/internal/jwks", policy=anyone(), include_in_schema=False)
async def jwks(request: Call) -> Jwks:
    """The public keys of principals (RFC 7517)."""
    return await request.signing_keys.published()


@get("/internal/accounts/by-name/{login:str}", policy=SISTERS, include_in_schema=False)
async def account_by_name(request: Call, login: str) -> Account:
    """A user or organization, whatever the caller's person may see of it."""
    async with request.db.read() as db:
        row = await accounts.get_by_login(db, login)
    if row is None:
        raise NotFound
    return request.viewing.account(row)


@get("/internal/accounts/{account_id:int}", policy=SISTERS, include_in_schema=False)
async def account_by_id(request: Call, account_id: int) -> Account:
    """The same, by id."""
    async with request.db.read() as db:
        row = await accounts.get(db, account_id)
    if row is None:
        raise NotFound
    return request.viewing.account(row)


@get("/internal/accounts/{account_id:int}/organizations", policy=SISTERS, include_in_schema=False)
async def organizations_of_account(
    request: Call, account_id: int, public: bool = False
) -> dict[int, Membership]:
    """What a user is in each organization now. Asked before a *no* that rests on a principal.

    ``?public=true``: only where they show their membership, for what is told to others.
    """
    async with request.db.read() as db:
        return await organizations.held_by(db, account_id, public_only=public)


@get("/internal/teams/{team_id:int}", policy=services("repos"), include_in_schema=False)
async def team_by_id(request: Call, team_id: int) -> Team:
    """A team, whatever the caller's person may see of it."""
    async with request.db.read() as db:
        row = await store.get_team(db, team_id)
    if row is None:
        raise NotFound
    return Team(id=row.id, organization_id=row.organization_id, name=row.name, permission=row.permission)


@put(
    "/internal/repositories/{repository_id:int}",
    policy=services("repos"),
    include_in_schema=False,
    status_code=204,
)
async def own_repository(request: Call, repository_id: int, data: Ownership) -> None:
    """Note whose a repository is, so that its owner is not deleted. 404 when that has happened already."""
    async with request.db.transaction() as tx:
        await departures.repository_told(tx, repository_id, data)


routes = [
    authenticate,
    jwks,
    account_by_name,
    account_by_id,
    organizations_of_account,
    team_by_id,
    own_repository,
]
