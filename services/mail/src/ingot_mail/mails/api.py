"""Routes of the history of mails, and for sending mails again. They are for site administrators."""

from datetime import datetime

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.policy import admin
from ingot_mail.mails import rules as mails
from ingot_mail.mails import store
from ingot_mail.mails.components import MailComponents
from ingot_mail.mails.store import MailRow, MailState

PATH = "/api/v1/admin/mails"


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail in the history. `user_id` 0: the mail is for an address without an account.

    The content is not stored.
    """

    id: str
    kind: str
    reason: str
    user_id: int
    address: str
    repository_id: int
    state: MailState
    attempts: int
    error: str
    created_at: datetime
    next_attempt_at: datetime | None
    finished_at: datetime | None


class ResendFailedMails(msgspec.Struct, frozen=True, kw_only=True):
    """A request to send failed mails again. `since` is compared with the times at which mails were queued."""

    since: datetime


class ResentCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of mails that are sent again."""

    count: int


def _present(row: MailRow) -> Mail:
    return Mail(
        id=row.id,
        kind=row.kind,
        reason=row.reason,
        user_id=row.account_id,
        address=row.address,
        repository_id=row.repository_id,
        state=MailState(row.state),
        attempts=row.attempts,
        error=row.error,
        created_at=row.created_at.replace(microsecond=0),
        next_attempt_at=row.next_attempt_at.replace(microsecond=0)
        if row.state == MailState.PENDING
        else None,
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at is not None else None,
    )


@get(PATH, policy=admin("read:admin"), operation_id="adminListMails", tags=["admin"])
async def list_mails(request: DatabaseRequest, status: MailState | None = None) -> Response[list[Mail]]:
    """List mails, latest first. `status` is `pending`, `running`, `sent`, `failed` or `cancelled`."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, status, page)
    return Response([_present(row) for row in rows], headers=request.page_headers(page, total))


@get(PATH + "/{mail_id:str}", policy=admin("read:admin"), operation_id="adminGetMail", tags=["admin"])
async def get_mail(request: DatabaseRequest, mail_id: str) -> Mail:
    """Get a mail."""
    async with request.db.read() as db:
        row = await store.get(db, mail_id)
    if row is None:
        raise NotFound
    return _present(row)


@post(
    PATH + "/{mail_id:str}/attempts",
    policy=admin(),
    operation_id="adminResendMail",
    tags=["admin"],
    status_code=202,
)
async def resend_mail(request: DatabaseRequest, mail_id: str) -> Mail:
    """Send a failed or cancelled mail again; send a pending mail at once."""
    async with request.db.transaction() as tx:
        row = await mails.resend(tx, mail_id)
        await request.audit(tx, "mail.resend", mail_id, user_id=row.account_id)
    request.part(MailComponents).notified.set()
    return _present(row)


@post(
    PATH + "/attempts", policy=admin(), operation_id="adminResendFailedMails", tags=["admin"], status_code=202
)
async def resend_failed_mails(request: DatabaseRequest, data: ResendFailedMails) -> ResentCount:
    """Send all failed mails again that were queued since a time."""
    async with request.db.transaction() as tx:
        count = await mails.resend_failed(tx, data.since)
        await request.audit(tx, "mail.resend", "failed", count=count)
    request.part(MailComponents).notified.set()
    return ResentCount(count=count)


routes = [list_mails, get_mail, resend_mail, resend_failed_mails]
