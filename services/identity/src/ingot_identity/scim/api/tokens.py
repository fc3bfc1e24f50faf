"""Routes for tokens of SCIM clients, for site administrators."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import admin
from ingot_contracts.limits import Name
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.scim.rules import tokens
from ingot_identity.scim.store import tokens as store
from ingot_identity.scim.store.tables import ScimTokenRow
from ingot_identity.sources.rules import sources
from ingot_identity.sources.store import sources as source_store


class CreateScimTokenOption(msgspec.Struct):
    """A new token. `name` describes the client that uses it."""

    name: Name


class ScimToken(msgspec.Struct, kw_only=True):
    """A token. `token` is the secret. It is shown once, in the response that creates it."""

    id: int
    name: str
    token: str
    created_at: datetime
    last_used_at: datetime | None


def present_token(row: ScimTokenRow, secret: str = "") -> ScimToken:
    return ScimToken(
        id=row.id,
        name=row.name,
        token=secret,
        created_at=whole_seconds(row.created_at),
        last_used_at=whole_seconds(row.last_used_at) if row.last_used_at else None,
    )


@get(
    "/api/v1/admin/auths/{source_id:int}/scim_tokens",
    policy=admin("read:admin"),
    operation_id="adminListScimTokens",
    tags=["admin"],
)
async def list_tokens(request: IdentityRequest, source_id: int) -> Response[list[ScimToken]]:
    """List the tokens of SCIM clients of a source, latest first."""
    page = request.page()
    async with request.db.read() as db:
        if await source_store.get(db, source_id) is None:
            raise NotFound
        rows, total = await store.list_page(db, source_id, page)
    return Response([present_token(row) for row in rows], headers=request.page_headers(page, total))


@post(
    "/api/v1/admin/auths/{source_id:int}/scim_tokens",
    policy=admin(),
    operation_id="adminCreateScimToken",
    tags=["admin"],
    status_code=201,
)
async def create_token(request: IdentityRequest, source_id: int, data: CreateScimTokenOption) -> ScimToken:
    """Create a token for a SCIM client of a source, at most 10. It manages the accounts of the source."""
    async with request.db.transaction() as tx:
        source = await sources.get_source(tx, source_id)
        row, secret = await tokens.create(tx, source.id, data.name)
        await request.audit(tx, "scim_token.create", f"source {source.name}", id=row.id, name=row.name)
    return present_token(row, secret)


@delete(
    "/api/v1/admin/auths/{source_id:int}/scim_tokens/{token_id:int}",
    policy=admin(),
    operation_id="adminDeleteScimToken",
    tags=["admin"],
)
async def delete_token(request: IdentityRequest, source_id: int, token_id: int) -> None:
    """Delete the token of a SCIM client. It stops working at once. Changes by the client are kept."""
    async with request.db.transaction() as tx:
        source = await sources.get_source(tx, source_id)
        if not await store.remove(tx, source.id, token_id):
            raise NotFound
        await request.audit(tx, "scim_token.delete", f"source {source.name}", id=token_id)


routes = [list_tokens, create_token, delete_token]
