"""The audit log of a service, for the gateway and web, which show those of all services to administrators."""

from litestar import get

from ingot_chassis.db.audit import list_entries
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import services
from ingot_chassis.operations import AuditEntry


@get("/internal/audit", policy=services("gateway", "web"), include_in_schema=False)
async def list_audit_entries(
    request: DatabaseRequest, limit: int = MAX_LIMIT, before: str = "", actor: str = "", action: str = ""
) -> list[AuditEntry]:
    """The newest entries of this service, as ``db.audit.list_entries`` has them."""
    service: str = request.app.state.parts.name
    async with request.db.read() as db:
        return await list_entries(
            db,
            service=service,
            limit=max(min(limit, MAX_LIMIT), 0),
            before=before,
            actor=actor,
            action=action,
        )
