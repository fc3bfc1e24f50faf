"""Routes for the browsers in which the caller is signed in. They cannot be used with access tokens."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get

from ingot_chassis.http.policy import basic
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store
from ingot_identity.sessions.store import BrowserSessionRow


class Session(msgspec.Struct, kw_only=True):
    """A session. `address` and `user_agent` were recorded at its start. `current`: this request uses it.

    `last_used_at` is exact to the minute.
    """

    id: int
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime
    address: str
    user_agent: str
    current: bool


@get("/api/v1/user/sessions", policy=basic(), operation_id="userListSessions", tags=["user"])
async def list_sessions(request: IdentityRequest) -> Response[list[Session]]:
    """List the caller's sessions in browsers, latest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.principal.id, page)
    current = request.principal.session_id
    return Response(
        [_present_session(row, current) for row in rows], headers=request.page_headers(page, total)
    )


@delete(
    "/api/v1/user/sessions/{session_id:int}",
    policy=basic(),
    operation_id="userDeleteSession",
    tags=["user"],
)
async def delete_session(request: IdentityRequest, session_id: int) -> None:
    """Sign the caller out in one browser, within 5 seconds."""
    async with request.db.transaction() as tx:
        await browser_sessions.end_one(tx, request.principal.id, session_id)
        await request.audit(tx, "session.end", f"user {request.principal.name}", id=session_id)


def _present_session(row: BrowserSessionRow, current: int) -> Session:
    return Session(
        id=row.id,
        created_at=whole_seconds(row.created_at),
        last_used_at=whole_seconds(row.used_at) if row.used_at else None,
        expires_at=whole_seconds(row.expires_at),
        address=row.address,
        user_agent=row.user_agent,
        current=row.id == current,
    )


routes = [list_sessions, delete_session]
