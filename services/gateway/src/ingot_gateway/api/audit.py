"""The audit logs of all services as one list, for site administrators."""

import re
from urllib.parse import urlencode

from litestar import Response, get

from ingot_chassis.errors import Invalid
from ingot_chassis.http.policy import admin
from ingot_chassis.operations import AuditEntry
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.clients.audit import SERVICES, HttpAudit

_ID = re.compile(r"[0-9a-f]{24}")
LONGEST = 60


@get("/api/v1/admin/audit", policy=admin("read:admin"), operation_id="adminListAudit", tags=["admin"])
async def list_audit(
    request: GatewayRequest, service: str = "", actor: str = "", action: str = "", before: str = ""
) -> Response[list[AuditEntry]]:
    """List actions on accounts, tokens, keys, permissions, hooks and protections, latest first.

    `service` is identity, repos, hooks or mail. `actor` is a user name, and `action` a prefix such as
    `token.`. The list has no total count. `Link` leads to the next page. `before` is the id of the last entry
    of the page before.
    """
    if service and service not in SERVICES:
        raise Invalid.field("service", "unknown", f"is none of {', '.join(SERVICES)}")
    if before and not _ID.fullmatch(before):
        raise Invalid.field("before", "form", "is no id of an entry")
    if max(len(actor), len(action)) > LONGEST:
        raise Invalid.field("actor" if len(actor) > LONGEST else "action", "length", "is too long")
    limit = request.page().limit
    query = {"limit": str(limit), "before": before, "actor": actor, "action": action}
    entries = await request.part(HttpAudit).entries((service,) if service else SERVICES, query)
    entries = sorted(entries, key=lambda entry: entry.id, reverse=True)[:limit]
    return Response(entries, headers=_link(request, entries, service, query))


def _link(
    request: GatewayRequest, entries: list[AuditEntry], service: str, query: dict[str, str]
) -> dict[str, str]:
    """Return the header with the link to the next page; no header if this page is not full."""
    if len(entries) < int(query["limit"]):
        return {}
    following = {**query, "service": service, "before": entries[-1].id}
    target = urlencode({name: value for name, value in following.items() if value})
    return {"Link": f'<{request.public_url.rstrip("/")}/api/v1/admin/audit?{target}>; rel="next"'}


routes = [list_audit]
