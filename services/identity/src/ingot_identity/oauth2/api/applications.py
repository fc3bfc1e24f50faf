"""Routes for OAuth2 applications of the caller."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import signed_in
from ingot_chassis.operations import Detail
from ingot_contracts.limits import Description, Name
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.oauth2.rules import applications as oauth2_applications
from ingot_identity.oauth2.rules import redirect_uris
from ingot_identity.oauth2.store import applications as store
from ingot_identity.oauth2.store.tables import OAuth2ApplicationRow

RedirectUris = Annotated[list[Description], msgspec.Meta(max_length=redirect_uris.MOST)]


class CreateOAuth2Application(msgspec.Struct, kw_only=True):
    """A new application. `redirect_uris`: https, http on this device (at any port), or a program's scheme.

    `confidential_client`: the application can keep its secret. `skip_secondary_authorization`: users are not
    asked for consent. Only site administrators can set it; for other users it is always false.
    """

    name: Name
    redirect_uris: RedirectUris
    confidential_client: bool = False
    skip_secondary_authorization: bool = False


class EditOAuth2Application(msgspec.Struct, kw_only=True):
    """A change of an application. Absent fields keep their values. The secret is always replaced."""

    name: Name | UnsetType = UNSET
    redirect_uris: RedirectUris | UnsetType = UNSET
    confidential_client: bool | UnsetType = UNSET
    skip_secondary_authorization: bool | UnsetType = UNSET


class OAuth2Application(msgspec.Struct, kw_only=True):
    """An application. `client_secret` is empty, except in responses to creation and change."""

    id: int
    name: str
    client_id: str
    client_secret: str
    redirect_uris: list[str]
    confidential_client: bool
    skip_secondary_authorization: bool
    created: datetime


def present_application(row: OAuth2ApplicationRow, secret: str = "") -> OAuth2Application:
    return OAuth2Application(
        id=row.id,
        name=row.name,
        client_id=row.client_id,
        client_secret=secret,
        redirect_uris=row.redirect_uris.split("\n"),
        confidential_client=row.confidential,
        skip_secondary_authorization=row.skip_consent,
        created=row.created_at.replace(microsecond=0),
    )


@post(
    "/api/v1/user/applications/oauth2",
    policy=signed_in("write:user"),
    operation_id="userCreateOAuth2Application",
    tags=["user"],
    status_code=201,
)
async def create_application(request: IdentityRequest, data: CreateOAuth2Application) -> OAuth2Application:
    """Register an OAuth2 application. Its secret is shown only in this response."""
    async with request.db.transaction() as tx:
        row, secret = await oauth2_applications.create(
            tx, request.principal, set_fields(data), tls=request.public_url.startswith("https:")
        )
        await request.audit(tx, "oauth2_application.create", f"user {request.principal.name}", **_shown(row))
    return present_application(row, secret)


@get(
    "/api/v1/user/applications/oauth2",
    policy=signed_in("read:user"),
    operation_id="userGetOauth2Application",
    tags=["user"],
)
async def list_applications(request: IdentityRequest) -> Response[list[OAuth2Application]]:
    """List the caller's OAuth2 applications, latest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.principal.id, page)
    return Response([present_application(row) for row in rows], headers=request.page_headers(page, total))


@get(
    "/api/v1/user/applications/oauth2/{application_id:int}",
    policy=signed_in("read:user"),
    operation_id="userGetOAuth2Application",
    tags=["user"],
)
async def get_application(request: IdentityRequest, application_id: int) -> OAuth2Application:
    """Return an OAuth2 application of the caller."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id, application_id)
    if row is None:
        raise NotFound
    return present_application(row)


@patch(
    "/api/v1/user/applications/oauth2/{application_id:int}",
    policy=signed_in("write:user"),
    operation_id="userUpdateOAuth2Application",
    tags=["user"],
)
async def edit_application(
    request: IdentityRequest, application_id: int, data: EditOAuth2Application
) -> OAuth2Application:
    """Change an OAuth2 application of the caller. Its new secret is shown only in this response."""
    async with request.db.transaction() as tx:
        row, secret = await oauth2_applications.edit(
            tx,
            request.principal,
            application_id,
            set_fields(data),
            tls=request.public_url.startswith("https:"),
        )
        await request.audit(tx, "oauth2_application.edit", f"user {request.principal.name}", **_shown(row))
    return present_application(row, secret)


@delete(
    "/api/v1/user/applications/oauth2/{application_id:int}",
    policy=signed_in("write:user"),
    operation_id="userDeleteOAuth2Application",
    tags=["user"],
)
async def delete_application(request: IdentityRequest, application_id: int) -> None:
    """Delete an OAuth2 application of the caller, with all grants to it."""
    async with request.db.transaction() as tx:
        if not await store.remove(tx, request.principal.id, application_id):
            raise NotFound
        subject = f"user {request.principal.name}"
        await request.audit(tx, "oauth2_application.delete", subject, id=application_id)


def _shown(row: OAuth2ApplicationRow) -> dict[str, Detail]:
    """Return details of an application for the audit log."""
    return {"id": row.id, "name": row.name, "redirect_uris": row.redirect_uris.split("\n")}


routes = [create_application, list_applications, get_application, edit_application, delete_application]
