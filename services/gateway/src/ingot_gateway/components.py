"""What the gateway's process holds for its own routes."""

from dataclasses import dataclass

from ingot_gateway.clients.audit import HttpAudit
from ingot_gateway.clients.tasks import HttpTasks
from ingot_gateway.openapi_merge import MergedDescription


@dataclass(frozen=True)
class Components:
    """At ``app.state.components``."""

    description: MergedDescription
    tasks: HttpTasks
    audit: HttpAudit
