"""Routes for email addresses, for site administrators."""

from litestar import Response, get

from ingot_chassis.http.policy import admin
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.emails import store as emails
from ingot_identity.emails.api.own import Email, present_email


@get("/api/v1/admin/emails", policy=admin("read:admin"), operation_id="adminGetAllEmails", tags=["admin"])
async def list_emails(request: IdentityRequest) -> Response[list[Email]]:
    """List all addresses of all users."""
    return await _emails(request, "")


@get(
    "/api/v1/admin/emails/search",
    policy=admin("read:admin"),
    operation_id="adminSearchEmails",
    tags=["admin"],
)
async def search_emails(request: IdentityRequest, q: str = "") -> Response[list[Email]]:
    """List addresses that contain `q`, or whose owner's name contains it."""
    return await _emails(request, q.strip())


async def _emails(request: IdentityRequest, text: str) -> Response[list[Email]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await emails.search(db, text, page)
    listed = [present_email(row, row.login) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


routes = [list_emails, search_emails]
