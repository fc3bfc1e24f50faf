"""Internal routes for other services: accounts."""

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.identity.accounts import Account
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import former_names
from ingot_identity.accounts.store import queries as accounts

PEERS = services("repos", "issues", "hooks")


@get("/internal/accounts/by-name/{login:str}", policy=PEERS, include_in_schema=False)
async def account_by_name(request: IdentityRequest, login: str, former: bool = False) -> Account:
    """Return a user or organization, without a check of its visibility.

    ``?former=true``: also find the account that had the name before, while the name is reserved for it.
    """
    async with request.db.read() as db:
        row = await accounts.get_by_login(db, login)
        if row is None and former:
            row = await former_names.get_account(db, login)
    if row is None:
        raise NotFound
    return request.presenter.account(row)


@get("/internal/accounts/{account_id:int}", policy=PEERS, include_in_schema=False)
async def account_by_id(request: IdentityRequest, account_id: int) -> Account:
    """Return a user or organization, without a check of its visibility."""
    async with request.db.read() as db:
        row = await accounts.get(db, account_id)
    if row is None:
        raise NotFound
    return request.presenter.account(row)


@get("/internal/administrators", policy=services("repos"), include_in_schema=False)
async def administrators(request: IdentityRequest) -> list[int]:
    """Return the ids of site administrators who may sign in."""
    async with request.db.read() as db:
        return await accounts.administrator_ids(db)


routes = [account_by_name, account_by_id, administrators]
