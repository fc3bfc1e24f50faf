"""Routes for registrations that wait for an administrator."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.http.policy import admin
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.messages.components import MessageComponents
from ingot_identity.registrations import store
from ingot_identity.registrations.rules import approvals
from ingot_identity.registrations.rules.accounts import PASSKEY_NAME


class Registration(msgspec.Struct, kw_only=True):
    """A registration that waits for approval. `email_confirmed` is false if the site sends no mail."""

    id: int
    username: str
    email: str
    email_confirmed: bool
    note: str
    created_at: datetime


@get(
    "/api/v1/admin/registrations",
    policy=admin("read:admin"),
    operation_id="adminListRegistrations",
    tags=["admin"],
)
async def list_registrations(request: IdentityRequest) -> Response[list[Registration]]:
    """List registrations that wait for approval, oldest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, page)
    shown = [
        Registration(
            id=row.id,
            username=row.login,
            email=row.address,
            email_confirmed=row.confirmed,
            note=row.note,
            created_at=row.created_at.replace(microsecond=0),
        )
        for row in rows
    ]
    return Response(shown, headers=request.page_headers(page, total))


@post(
    "/api/v1/admin/registrations/{registration_id:int}/approval",
    policy=admin(),
    operation_id="adminApproveRegistration",
    tags=["admin"],
    status_code=204,
)
async def approve_registration(request: IdentityRequest, registration_id: int) -> None:
    """Create the account of a registration. A confirmed address gets a mail."""
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        registered = await approvals.approve(tx, request.presenter, messages, registration_id)
        row, subject = registered.account, f"user {registered.account.login}"
        await request.audit(tx, "registration.approve", subject, id=row.id, email=row.email)
        if registered.passkey_id:
            await request.audit(tx, "passkey.add", subject, id=registered.passkey_id, name=PASSKEY_NAME)


@delete(
    "/api/v1/admin/registrations/{registration_id:int}",
    policy=admin(),
    operation_id="adminRefuseRegistration",
    tags=["admin"],
)
async def refuse_registration(request: IdentityRequest, registration_id: int) -> None:
    """Reject a registration. A confirmed address gets a mail."""
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        row = await approvals.refuse(tx, messages, registration_id)
        await request.audit(tx, "registration.refuse", f"user {row.login}", email=row.address)


routes = [list_registrations, approve_registration, refuse_registration]
