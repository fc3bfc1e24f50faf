"""The commits of two heads of a pull request in pairs. Only web calls this, for its page."""

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_contracts.issues.head_comparisons import MOST_HEADS, HeadComparison
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.pulls.rules.heads import heads_of, is_full_id
from ingot_issues.records.store import timeline


@get(
    "/internal/repos/{owner:str}/{repo:str}/pulls/{index:int}/range-diff",
    policy=for_peer(in_repository("read", "read:repository", "pulls"), "web"),
    include_in_schema=False,
)
async def get_range_diff(request: IssuesRequest, index: int, old: str = "", new: str = "") -> HeadComparison:
    """Return the commits of two heads in pairs, each the present head or one that the timeline records.

    Raises NotFound for any other commit: repos does not ask if a visible ref has them (ADR 57).
    """
    pull = await pull_of(request, index)
    named = [head.lower() for head in (old, new) if old or new]
    async with request.db.read() as db:
        for head in named:
            if not is_full_id(head) or (
                head != pull.head_sha and not await timeline.was_head(db, pull.id, head)
            ):
                raise NotFound("the pull request never had one of these heads")
        pushes = await timeline.list_latest_pushes(db, pull.id, MOST_HEADS)
    compared = None
    if named:
        compared = await request.components.repos.range_diff(
            request.repository_id,
            named[0],
            named[1],
            request.principal_token,
            base=pull.merge_base,
            base_tip=pull.base_sha,
        )
    return HeadComparison(heads=heads_of(pushes, pull.head_sha), comparison=compared)


routes = [get_range_diff]
