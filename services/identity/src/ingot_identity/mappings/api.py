"""Routes for the caller's accounts at other systems.

Tokens have no access, because these are ways to sign in.
"""

from datetime import datetime

import msgspec
from litestar import Response, delete, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import basic
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.mappings import rules as mappings
from ingot_identity.sources.store import identities
from ingot_identity.sources.store import sources as source_store
from ingot_identity.sources.store.identities import LinkableRow
from ingot_identity.sources.store.tables import SourceKind


class ExternalAccount(msgspec.Struct, kw_only=True):
    """A source that is or can be linked to the caller. A browser links it at `link_url`, if it has one.

    `login_name` and `email` are the name and address at the source. A source that is not `enabled` accepts no
    sign-ins.
    """

    source_id: int
    kind: str
    name: str
    title: str
    icon_url: str
    link_url: str
    enabled: bool
    linked: bool
    login_name: str
    email: str
    created_at: datetime | None
    last_sign_in_at: datetime | None


def present_external_account(row: LinkableRow, root: str) -> ExternalAccount:
    return ExternalAccount(
        source_id=row.source_id,
        kind=row.kind,
        name=row.name,
        title=row.title,
        icon_url=f"{root}login/sources/{row.name}/icon" if row.icon_type else "",
        link_url=f"{root}login/oidc/{row.name}/link" if row.kind == SourceKind.OIDC else "",
        enabled=row.enabled,
        linked=row.created_at is not None,
        login_name=row.login_name or "",
        email=row.email or "",
        created_at=whole_seconds(row.created_at) if row.created_at else None,
        last_sign_in_at=whole_seconds(row.last_sign_in_at) if row.last_sign_in_at else None,
    )


@get("/api/v1/user/external_accounts", policy=basic(), operation_id="userListExternalAccounts", tags=["user"])
async def list_external_accounts(request: IdentityRequest) -> Response[list[ExternalAccount]]:
    """List sources that are or can be linked to the caller, by title."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await identities.list_linkable(db, request.principal.id, page)
    listed = [present_external_account(row, request.public_url) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


@delete(
    "/api/v1/user/external_accounts/{source_id:int}",
    policy=basic(),
    operation_id="userDeleteExternalAccount",
    tags=["user"],
)
async def delete_external_account(request: IdentityRequest, source_id: int) -> None:
    """Unlink a source. Rights from its groups end, and so do the sessions that it began.

    409 if the source is the only way to sign in.
    """
    async with request.db.read() as db:
        source = await source_store.get(db, source_id)
    if source is None:
        raise NotFound
    await mappings.unlink(request.db, request.presenter, source, request.principal.id)
    async with request.db.transaction() as tx:
        await request.audit(tx, "source.unlink", f"user {request.principal.name}", source=source.name)


routes = [list_external_accounts, delete_external_account]
