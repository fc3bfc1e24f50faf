"""The commits of two heads of a pull request in pairs. Only web calls this, for its page."""

import re

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_contracts.repos.range_diffs import RangeDiff
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.records.store import timeline

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@get(
    "/internal/repos/{owner:str}/{repo:str}/pulls/{index:int}/range-diff",
    policy=for_peer(in_repository("read", "read:repository", "pulls"), "web"),
    include_in_schema=False,
)
async def get_range_diff(request: IssuesRequest, index: int, old: str = "", new: str = "") -> RangeDiff:
    """Return the commits of two heads in pairs, each the present head or one that the timeline records.

    Raises NotFound for any other commit: repos does not ask if a visible ref has them (ADR 57).
    """
    pull = await pull_of(request, index)
    heads = (old.lower(), new.lower())
    async with request.db.read() as db:
        for head in heads:
            if not _ID.fullmatch(head):
                raise NotFound("there is no such head")
            if head != pull.head_sha and not await timeline.was_head(db, pull.id, head):
                raise NotFound("the pull request never had this head")
    return await request.components.repos.range_diff(
        request.repository_id,
        *heads,
        request.principal_token,
        base=pull.merge_base,
        base_tip=pull.base_sha,
    )


routes = [get_range_diff]
