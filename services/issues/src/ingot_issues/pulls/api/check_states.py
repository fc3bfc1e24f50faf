"""States of the checks of pull requests of many repositories. Only web calls this."""

from litestar import post

from ingot_chassis.errors import BadRequest
from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.check_states import MOST_PULLS, PullCheckStates
from ingot_issues.access.api.policies import for_peer
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.pulls.store import rows


@post(
    "/internal/pull-check-states",
    policy=for_peer(anyone("read:issue"), "web"),
    include_in_schema=False,
    status_code=200,
)
async def list_check_states(request: IssuesRequest, data: PullCheckStates) -> PullCheckStates:
    """Return the states of the checks of open pull requests. repos decides which of them the caller may read.

    Raises BadRequest for more than ``MOST_PULLS`` ids.
    """
    if len(data.ids) > MOST_PULLS:
        raise BadRequest(f"more than {MOST_PULLS} ids")
    async with request.db.read() as db:
        heads = await rows.list_heads(db, data.ids) if data.ids else []
    commits = {(head.repository_id, head.head_sha) for head in heads}
    states = await request.components.repos.check_states(commits, request.principal_token) if commits else {}
    by_id = {head.issue_id: states.get((head.repository_id, head.head_sha), "") for head in heads}
    return PullCheckStates(ids=data.ids, states={id_: state for id_, state in by_id.items() if state})


routes = [list_check_states]
