"""Internal route for repos: creation of organizations by imports."""

from litestar import post

from ingot_chassis.http.policy import services
from ingot_contracts.identity.accounts import Account, NewOrganization
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.organizations import rules as organizations


@post(
    "/internal/organizations",
    policy=services("repos"),
    include_in_schema=False,
    status_code=200,
)
async def create_organization(request: IdentityRequest, data: NewOrganization) -> Account:
    """Create an organization.

    Answers 422 if a value is invalid or the name is taken, and 404 if the owner does not exist.
    """
    async with request.db.transaction() as tx:
        row = await organizations.create(
            tx,
            request.presenter,
            owner_id=data.owner_id,
            login=data.login,
            visibility=data.visibility,
        )
    return request.presenter.account(row)


routes = [create_organization]
