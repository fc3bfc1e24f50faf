"""Lookup and presentation of the issue or pull request that a request names."""

import contextlib
from collections.abc import Iterable

from ingot_chassis.errors import ApiError, NotFound
from ingot_contracts.issues.pulls import PullRequest
from ingot_contracts.repos.access import permission_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.rules.views import pull_view
from ingot_issues.issues.store import details as store
from ingot_issues.issues.store.details import IssueDetails, PullDetails


async def pull_of(request: IssuesRequest, number: int) -> PullDetails:
    """Return the numbered pull request. Raises NotFound, also for an issue."""
    return as_pull(await issue_of(request, number))


def as_pull(issue: IssueDetails) -> PullDetails:
    """Return ``issue`` as a pull request. Raises NotFound for an issue."""
    if not isinstance(issue, PullDetails):
        raise NotFound
    return issue


async def present(request: IssuesRequest, row: IssueDetails) -> PullRequest:
    [pull] = await present_page(request, [row])
    return pull


async def present_page(request: IssuesRequest, rows: Iterable[IssueDetails]) -> list[PullRequest]:
    """Return pull requests with the caller's permissions for the repositories of bases and heads.

    Permissions for heads are missing if repos fails. Raises NotFound for an issue.
    """
    pulls, base = [as_pull(row) for row in rows], request.access.repository
    permissions = {base.id: base.permissions}
    if forks := {pull.head_repository_id for pull in pulls} - {base.id}:
        with contextlib.suppress(ApiError):  # a completed change must be answered all the same
            levels = await request.components.repos.levels(forks, request.principal_token)
            permissions |= {id_: permission_of(level) for id_, level in levels.items()}
    presenter, reader = request.presenter, request.principal.id
    return [pull_view(presenter, pull, base, reader=reader, permissions=permissions) for pull in pulls]


async def issue_of(request: IssuesRequest, number: int) -> IssueDetails:
    """Return the numbered issue or pull request. Raises NotFound."""
    async with request.db.read() as db:
        issue = await store.get_details(db, request.repository_id, number)
    if issue is None:
        raise NotFound
    await request.enter(is_pull=issue.is_pull)
    return issue
