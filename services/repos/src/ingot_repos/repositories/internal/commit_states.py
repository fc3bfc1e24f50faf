"""An internal route for issues: states of the checks of commits in many repositories."""

from collections import defaultdict

from litestar import post

from ingot_chassis.errors import BadRequest
from ingot_contracts.repos.commits import MOST_COMMIT_STATES, CheckedCommit, CommitStates, StatusState
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store import repositories
from ingot_repos.commits.rules.statuses import outcome
from ingot_repos.commits.store import statuses
from ingot_repos.repositories.internal.lookups import ISSUES


@post("/internal/commit-states", policy=ISSUES, include_in_schema=False, status_code=200)
async def list_commit_states(request: RepositoryRequest, data: CommitStates) -> CommitStates:
    """Return the commits with checks, of repositories whose code the caller may read.

    Raises BadRequest for more than ``MOST_COMMIT_STATES`` commits.
    """
    if len(data.commits) > MOST_COMMIT_STATES:
        raise BadRequest(f"more than {MOST_COMMIT_STATES} commits")
    requested = {(one.repository_id, one.sha) for one in data.commits}
    viewer = access.viewer(request.principal)
    async with request.db.read() as db:
        visible = await repositories.get_visible(db, viewer, {id_ for id_, _ in requested})
        readable = [
            id_
            for id_, row in visible.items()
            if access.access_to(row, request.principal).of("code") != "none"
        ]
        rows = await statuses.newest_states(db, readable, {sha for _, sha in requested}) if readable else []
    states = defaultdict[tuple[int, str], set[StatusState]](set)
    for row in rows:
        states[row.repository_id, row.sha].add(row.state)
    return CommitStates(
        commits=[
            CheckedCommit(repository_id=id_, sha=sha, state=outcome(states[id_, sha]))
            for id_, sha in sorted(requested & states.keys())
        ]
    )


routes = [list_commit_states]
