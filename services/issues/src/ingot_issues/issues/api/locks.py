"""Locks of conversations. Commenting on a locked issue or pull request requires write access."""

import msgspec
from litestar import delete, put

from ingot_contracts.limits import Description
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules import editing as issues


class LockIssue(msgspec.Struct):
    lock_reason: Description = ""


@put(
    "/issues/{index:int}/lock",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueLockIssue",
    tags=["issue"],
    status_code=204,
)
async def lock_issue(request: IssuesRequest, index: int, data: LockIssue) -> None:
    """Lock the conversation of an issue. New comments then require write access."""
    issue, context = await issue_of(request, index), await request.context()
    async with request.db.transaction() as tx:
        await issues.set_lock(tx, context, issue, locked=True, reason=data.lock_reason)


@delete(
    "/issues/{index:int}/lock",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueUnlockIssue",
    tags=["issue"],
)
async def unlock_issue(request: IssuesRequest, index: int) -> None:
    """Unlock the conversation."""
    issue, context = await issue_of(request, index), await request.context()
    async with request.db.transaction() as tx:
        await issues.set_lock(tx, context, issue, locked=False)


routes = [lock_issue, unlock_issue]
