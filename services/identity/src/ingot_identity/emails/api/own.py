"""The caller's e-mail addresses."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.http.policy import signed_in
from ingot_contracts.limits import Name
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.emails import rules as emails
from ingot_identity.emails import store
from ingot_identity.emails.rules import MOST_EMAILS
from ingot_identity.emails.store import EmailRow
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import Messages


class CreateEmailOption(msgspec.Struct):
    emails: Annotated[list[Name], msgspec.Meta(max_length=MOST_EMAILS)] = []


class DeleteEmailOption(CreateEmailOption):
    """Addresses to delete."""


class ChoosePrimaryEmail(msgspec.Struct):
    email: Name


class Email(msgspec.Struct, kw_only=True):
    """An email address. `email` keeps the letter case in which it was added.

    `verified`: an administrator assigned it to the account, or its owner followed the link in a mail.
    """

    email: str
    verified: bool
    primary: bool
    user_id: int
    username: str


def present_email(row: EmailRow, login: str) -> Email:
    return Email(
        email=row.spelling or row.address,
        verified=row.confirmed_at is not None,
        primary=row.is_primary,
        user_id=row.account_id,
        username=login,
    )


@get("/api/v1/user/emails", policy=signed_in("read:user"), operation_id="userListEmails", tags=["user"])
async def list_emails(request: IdentityRequest) -> Response[list[Email]]:
    """List the caller's addresses, the primary address first."""
    page = request.page()
    async with request.db.read() as db:
        rows = await store.list_all(db, request.principal.id)
    shown = rows[page.offset : page.offset + page.limit]
    return Response(_own(request, shown), headers=request.page_headers(page, len(rows)))


@post(
    "/api/v1/user/emails",
    policy=signed_in("write:user"),
    operation_id="userAddEmail",
    tags=["user"],
    status_code=201,
)
async def add_emails(request: IdentityRequest, data: CreateEmailOption) -> list[Email]:
    """Add addresses, all of them or none. Return all addresses of the caller, the primary address first.

    If the server sends mail, each address gets a link that confirms it. An unconfirmed address of the caller
    gets a new link. The response does not reveal addresses of other accounts: their owners get a notice
    instead.
    """
    async with request.db.transaction() as tx:
        rows = await emails.add(tx, _messages(request), request.principal.id, data.emails)
        await request.audit(tx, "email.add", f"user {request.principal.name}", emails=data.emails)
    return _own(request, rows)


@patch(
    "/api/v1/user/emails",
    policy=signed_in("write:user"),
    operation_id="userChoosePrimaryEmail",
    tags=["user"],
)
async def choose_primary_email(request: IdentityRequest, data: ChoosePrimaryEmail) -> Email:
    """Make an address of the caller the primary address, which others see. Return it.

    If the server sends mail, the address must be confirmed, and the former primary address gets a notice.
    """
    async with request.db.transaction() as tx:
        row = await emails.choose_primary(
            tx, request.presenter, _messages(request), request.principal.id, data.email
        )
        await request.audit(tx, "email.choose", f"user {request.principal.name}", email=data.email)
    return present_email(row, request.principal.name)


@delete("/api/v1/user/emails", policy=signed_in("write:user"), operation_id="userDeleteEmail", tags=["user"])
async def delete_emails(request: IdentityRequest, data: DeleteEmailOption) -> None:
    """Delete addresses, all of them or none. The primary address cannot be deleted."""
    async with request.db.transaction() as tx:
        await emails.remove(tx, request.principal.id, data.emails)
        await request.audit(tx, "email.delete", f"user {request.principal.name}", emails=data.emails)


def _messages(request: IdentityRequest) -> Messages:
    return request.part(MessageComponents).messages


def _own(request: IdentityRequest, rows: Sequence[EmailRow]) -> list[Email]:
    return [present_email(row, request.principal.name) for row in rows]


routes = [list_emails, add_emails, choose_primary_email, delete_emails]
