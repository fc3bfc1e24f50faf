"""Components of the gateway's own routes."""

from dataclasses import dataclass

from ingot_gateway.clients.audit import HttpAudit
from ingot_gateway.clients.tasks import HttpTasks
from ingot_gateway.openapi_merge import MergedDescription
from ingot_gateway.served_operations import ServedOperations


@dataclass(frozen=True)
class Components:
    """At ``app.state.components``."""

    description: MergedDescription
    operations: ServedOperations
    tasks: HttpTasks
    audit: HttpAudit
