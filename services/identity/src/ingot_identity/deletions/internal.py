"""Internal routes for repos: owners of repositories, whose accounts cannot be deleted."""

from litestar import delete, put

from ingot_chassis.http.policy import services
from ingot_contracts.identity.accounts import Ownership
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.deletions import rules as account_deletion


@put(
    "/internal/repositories/{repository_id:int}",
    policy=services("repos"),
    include_in_schema=False,
    status_code=204,
)
async def save_ownership(request: IdentityRequest, repository_id: int, data: Ownership) -> None:
    """Store the owner of a repository, whose account then cannot be deleted.

    Answers 404 if the account is deleted.
    """
    async with request.db.transaction() as tx:
        await account_deletion.save_ownership(tx, repository_id, data)


@delete("/internal/repositories/{repository_id:int}", policy=services("repos"), include_in_schema=False)
async def remove_ownership(request: IdentityRequest, repository_id: int) -> None:
    """Delete the ownership of a deleted repository before its event arrives, so the owner can be deleted."""
    async with request.db.transaction() as tx:
        await account_deletion.forget_repository(tx, repository_id)


routes = [save_ownership, remove_ownership]
