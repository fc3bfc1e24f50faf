"""Routes for the caller's grants to OAuth2 applications. They cannot be used with access tokens."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get

from ingot_chassis.http.policy import basic
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.oauth2.rules import flow as oauth2_flow
from ingot_identity.oauth2.store import grants as store


class OAuth2Grant(msgspec.Struct, kw_only=True):
    """A grant. `application` is the name of the application, and `owner` has registered it.

    `created_at` is the time of the first consent.
    """

    id: int
    application: str
    owner: str
    scopes: list[str]
    created_at: datetime


@get("/api/v1/user/oauth2_grants", policy=basic(), operation_id="userListOAuth2Grants", tags=["user"])
async def list_grants(request: IdentityRequest) -> Response[list[OAuth2Grant]]:
    """List the caller's grants to applications, latest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.principal.id, page)
    grants = [
        OAuth2Grant(
            id=row.id,
            application=row.application,
            owner=row.owner,
            scopes=row.scopes.split(),
            created_at=whole_seconds(row.created_at),
        )
        for row in rows
    ]
    return Response(grants, headers=request.page_headers(page, total))


@delete(
    "/api/v1/user/oauth2_grants/{grant_id:int}",
    policy=basic(),
    operation_id="userDeleteOAuth2Grant",
    tags=["user"],
)
async def delete_grant(request: IdentityRequest, grant_id: int) -> None:
    """Revoke a grant of the caller to an application. Its tokens stop working within 5 seconds."""
    async with request.db.transaction() as tx:
        row = await oauth2_flow.revoke_grant(tx, request.principal.id, grant_id)
        subject = f"user {request.principal.name}"
        await request.audit(tx, "oauth2_grant.revoke", subject, application=row.application)


routes = [list_grants, delete_grant]
