"""The caller's e-mail addresses."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.policy import signed_in
from ingot_identity.api.call import Call
from ingot_identity.core import accounts, emails
from ingot_identity.store import emails as store

AT_ONCE = 100


class Emails(msgspec.Struct):
    emails: Annotated[list[str], msgspec.Meta(max_length=AT_ONCE)] = []


class ChoosePrimaryEmail(msgspec.Struct):
    email: str


class Email(msgspec.Struct, kw_only=True):
    email: str
    verified: bool
    primary: bool


def view(row: Any) -> Email:
    return Email(email=row.address, verified=row.verified, primary=row.is_primary)


@get("/api/v1/user/emails", policy=signed_in("read:user"), operation_id="userListEmails", tags=["user"])
async def list_emails(request: Call) -> Response[list[Email]]:
    """The caller's addresses, the primary one first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, request.who.id, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@post(
    "/api/v1/user/emails",
    policy=signed_in("write:user"),
    operation_id="userAddEmail",
    tags=["user"],
    status_code=201,
)
async def add_emails(request: Call, data: Emails) -> list[Email]:
    """Add addresses, all of them or none; the new ones."""
    async with request.db.transaction() as tx:
        rows = await emails.add(tx, request.who.id, data.emails)
    return [view(row) for row in rows]


@patch(
    "/api/v1/user/emails",
    policy=signed_in("write:user"),
    operation_id="userChoosePrimaryEmail",
    tags=["user"],
)
async def choose_primary_email(request: Call, data: ChoosePrimaryEmail) -> Email:
    """Make one of the caller's addresses the primary one, which others are shown; it."""
    async with request.db.transaction() as tx:
        row = await accounts.choose_primary_email(tx, request.viewing, request.who.id, data.email)
    return view(row)


@delete("/api/v1/user/emails", policy=signed_in("write:user"), operation_id="userDeleteEmail", tags=["user"])
async def delete_emails(request: Call, data: Emails) -> None:
    """Delete addresses, all of them or none. The primary one stays."""
    async with request.db.transaction() as tx:
        await emails.remove(tx, request.who.id, data.emails)


routes = [list_emails, add_emails, choose_primary_email, delete_emails]
