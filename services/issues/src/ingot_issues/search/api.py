"""Search of issues in all repositories that the caller may read."""

import contextlib
from collections.abc import Collection
from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.issues import Issue
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.api import queries
from ingot_issues.access.api.queries import InState
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import has_everything
from ingot_issues.accounts import store as accounts
from ingot_issues.clients.questions import ask_each
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store.lists import IssueFilter
from ingot_issues.records.store.states import StateFilter
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.search import store as global_searches
from ingot_issues.search.store import PersonalFilter, SearchedRepositories, SearchedRepository

MOST_REPOSITORIES = 10_000
"""Maximum number of searched repositories: the latest ones with issues."""
MOST_COPIES = 100
"""Maximum number of repositories that one request copies."""
NOBODY = -1
"""An id that no account has."""


async def readable_repositories(
    request: IssuesRequest,
    personal: PersonalFilter,
    *,
    owner_ids: Collection[int] | None = None,
    team_id: int = 0,
) -> SearchedRepositories:
    """Return readable repositories that have issues and a copy.

    ``owner_ids`` and ``team_id`` limit them, if given. With a personal filter only repositories that may
    match are returned. At most MOST_COPIES repositories without a copy are copied now.
    """
    rows = await _latest_repositories(request, personal, owner_ids)
    readable = await request.components.repos.readable(
        [row.id for row in rows], request.principal_token, team_id=team_id
    )
    missing_ids = [row.id for row in rows if row.owner_id is None and row.id in readable.ids]
    if missing_ids:
        await _copy_repositories(request, missing_ids[:MOST_COPIES])
        rows = await _latest_repositories(request, personal, owner_ids)
    rows = [row for row in rows if row.owner_id is not None and row.id in readable.ids]
    return SearchedRepositories(
        rows,
        {row.id for row in rows if not row.has_issues} | readable.without_issues,
        {row.id for row in rows if not row.has_pulls} | readable.without_pulls,
    )


async def _latest_repositories(
    request: IssuesRequest, personal: PersonalFilter, owner_ids: Collection[int] | None
) -> list[SearchedRepository]:
    """Return the latest repositories with issues.

    With ``owner_ids``, only repositories of these owners and repositories without a copy.
    """
    async with request.db.read() as db:
        rows = await global_searches.list_repositories(db, MOST_REPOSITORIES, personal)
    return [row for row in rows if owner_ids is None or row.owner_id is None or row.owner_id in owner_ids]


async def _copy_repositories(request: IssuesRequest, ids: Collection[int]) -> None:
    """Fetch and copy these repositories."""

    async def read(repository_id: int) -> RepositoryAccess:
        return await request.components.repos.access_by_id(repository_id, request.principal_token)

    for access in await ask_each(read, ids):
        if access is None:  # deleted in the meantime
            continue
        async with request.db.transaction() as tx:
            await repositories.add_missing(tx, access.repository)


@get(
    "/api/v1/repos/issues/search",
    policy=anyone("read:issue"),
    operation_id="issueSearchIssues",
    tags=["issue"],
)
async def search_issues(
    request: IssuesRequest,
    in_state: InState = "",
    labels: list[str] | None = None,
    milestones: list[str] | None = None,
    q: str = "",
    of_type: Annotated[str, QueryParameter(name="type")] = "",
    since: str = "",
    before: str = "",
    created: str = "",
    assigned: str = "",
    created_by: str = "",
    owner: str = "",
    memberships: str = "",
    team: str = "",
    mentioned: str = "",
    review_requested: str = "",
    reviewed: str = "",
    priority_repo_id: str = "",
    sort: str = "",
) -> Response[list[Issue]]:
    """Search issues and pull requests of readable repositories, latest first.

    Without `state`, only open issues are found.

    `q` finds issues with each of its words in the title, the body or a comment. Words in quotation marks are
    found as a phrase. Each word finds at most the latest 10,000 issues, and the latest 10,000 comments. The
    sort `relevance` lists issues with all words in the title first.

    `labels` and `milestones` are names. With several of `created`, `assigned`, `mentioned`,
    `review_requested` and `reviewed`, an issue matches any of them. `owner` limits the search to repositories
    of that account. `memberships` adds repositories of the caller's organizations. `team` limits the search
    to repositories of a team of the organization `owner`. It is allowed for members of the organization, and
    for site administrators. Issues of the repository `priority_repo_id` come first.
    """
    page = request.page()
    filters = IssueFilter(
        is_pull=queries.kind(of_type),
        state=queries.state(in_state, StateFilter.OPEN),
        label_names=queries.names("labels", labels),
        milestone_titles=queries.names("milestones", milestones),
        text=queries.storable(q).strip(),
        since=queries.moment(since),
        before=queries.end(before),
        created_by=queries.storable(created_by),
        sort=sort,
    )
    owner_id = await _owner_id(request, queries.storable(owner)) if owner else 0
    team_id = await _team_id(request, owner_id, queries.storable(team)) if team else 0
    own_teams = (membership.teams for membership in request.principal.organizations.values())
    personal = PersonalFilter(
        account_id=request.principal.id,
        team_ids=sorted(team for teams in own_teams for team in teams),
        mentioned=queries.truth(mentioned),
        created=queries.truth(created),
        assigned=queries.truth(assigned),
        review_requested=queries.truth(review_requested),
        reviewed=queries.truth(reviewed),
    )
    owner_ids = {owner_id} if owner_id else None
    if queries.truth(memberships) and not team:
        owner_ids = {*(owner_ids or ()), *request.principal.organizations}
    searched = await readable_repositories(request, personal, owner_ids=owner_ids, team_id=team_id)
    async with request.db.read() as db:
        first_id = queries.id_in(priority_repo_id)
        rows, total = await global_searches.list_page(
            db, searched, filters, personal, page, first_repository_id=first_id
        )
        copies = await repositories.get_many(db, {row.repository_id for row in rows})
    presenter = request.presenter
    page_issues = [issue_view(presenter, row, copies[row.repository_id]) for row in rows]
    return Response(page_issues, headers=request.page_headers(page, total))


async def _owner_id(request: IssuesRequest, login: str) -> int:
    """Return the id of an account; ``NOBODY`` if it does not exist.

    ``NOBODY`` owns nothing, so the response is the same as for a hidden account.
    """
    async with request.db.read() as db:
        account_id = await accounts.get_id(db, login)
    if account_id is None:
        try:
            account_id = (await request.components.identity.account_by_name(login)).id
        except NotFound:
            return NOBODY
    return account_id


async def _team_id(request: IssuesRequest, owner_id: int, name: str) -> int:
    """Return the id of a team of the owner, or 0 for a team with all repositories of its organization.

    Raises Invalid, also if the caller may not see the team.
    """
    if not owner_id:
        raise Invalid.field("team", "owner", "needs the organization, which is the parameter owner")
    caller, identity = request.principal, request.components.identity
    may_know = caller.admin or owner_id in caller.organizations
    if not may_know and caller.signed_in:
        may_know = await identity.membership(caller.id, owner_id) is not None
    if may_know:
        with contextlib.suppress(NotFound):
            team = await identity.team_by_name(owner_id, name)
            return 0 if has_everything(team) else team.id
    raise Invalid.field("team", "unknown", f"{name!r} is no team of the owner")


routes = [search_issues]
