"""An internal route for issues: the labels of an organization, for its export."""

from litestar import post

from ingot_chassis.http.policy import services
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.exports import ExportedLabels
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.organization_exports import rules

MOST_BYTES = 32 * 1024 * 1024
"""Limit of a request with all labels of an organization."""


@post(
    "/internal/organization-exports/labels",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def add_labels(request: RepositoryRequest, data: ExportedLabels) -> bool:
    """Store the labels of an organization. Return False if the export has ended."""
    async with request.db.transaction() as tx:
        return await rules.store_labels(tx, request.part(Jobs), data)


routes = [add_labels]
