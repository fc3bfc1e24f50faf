"""Locking the conversation of an issue or pull request: only writers go on commenting."""

import msgspec
from litestar import delete, put

from ingot_chassis.policy import resource
from ingot_issues.api.call import Call
from ingot_issues.core import issues


class LockIssue(msgspec.Struct):
    lock_reason: str = ""


@put(
    "/issues/{index:int}/lock",
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id="issueLockIssue",
    tags=["issue"],
    status_code=204,
)
async def lock_issue(request: Call, index: int, data: LockIssue) -> None:
    """Leave the conversation to writers of the repository."""
    issue, site = await request.issue(index), await request.site()
    async with request.db.transaction() as tx:
        await issues.set_lock(tx, site, issue, locked=True, reason=data.lock_reason)


@delete(
    "/issues/{index:int}/lock",
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id="issueUnlockIssue",
    tags=["issue"],
)
async def unlock_issue(request: Call, index: int) -> None:
    """Let everybody comment again."""
    issue, site = await request.issue(index), await request.site()
    async with request.db.transaction() as tx:
        await issues.set_lock(tx, site, issue, locked=False)


routes = [lock_issue, unlock_issue]
