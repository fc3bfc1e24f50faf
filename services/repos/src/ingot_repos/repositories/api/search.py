"""The search over all repositories that the caller may see."""

import asyncio
from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, anyone
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.teams import Team
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.policies import refresh_memberships
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.presentation.store import get_related
from ingot_repos.repositories.store.search import Mode, Search, Sort
from ingot_repos.repositories.store.search import search as find

ORDERS = ("asc", "desc")
IncludeDesc = Annotated[bool, QueryParameter(name="includeDesc")]
StarredBy = Annotated[int, QueryParameter(name="starredBy")]


class SearchResults(msgspec.Struct):
    ok: Literal[True]
    data: list[Repository]


@get(
    "/api/v1/repos/search",
    policy=anyone("read:repository"),
    operation_id="repoSearch",
    is_paged=True,
    tags=["repository"],
)
async def search(
    request: RepositoryRequest,
    q: str = "",
    topic: bool = False,
    include_desc: IncludeDesc = False,
    uid: int = 0,
    priority_owner_id: int = 0,
    team_id: int = 0,
    starred_by: StarredBy = 0,
    private: bool = True,
    is_private: bool | None = None,
    template: bool | None = None,
    archived: bool | None = None,
    mode: str = "",
    exclusive: bool = False,
    sort: str = "",
    order: str = "",
) -> Response[SearchResults]:
    """List repositories with each word of `q` in the name or a topic.

    - `sort`, `order`: the order, by default by name. By `relevance`, exact names come first.
    - `topic`: only repositories with the topic `q`.
    - `includeDesc`: search descriptions, too.
    - `uid`: only repositories that this account owns or that were shared with this user.
    - `exclusive`: with `uid`, only repositories that the account owns.
    - `mode`: with `fork` or `mirror`, only forks or mirrors. With `source`, neither of them. With
      `collaborative`, no mirrors; with `uid`, only repositories shared with the user.
    - `priority_owner_id`: repositories of this owner come first.
    - `private`: if false, only public repositories.
    - `is_private`, `template`, `archived`: only repositories with this value.
    - `team_id`: only repositories of this team.
    - `starredBy`: only repositories that this user starred. For other users, only public repositories.
    """
    ids = {"uid": uid, "priority_owner_id": priority_owner_id, "team_id": team_id, "starredBy": starred_by}
    for name, value in ids.items():
        if not 0 <= value <= MAX_ID:
            raise Invalid.field(name, "range", "is no id")
    for name in ("page", "limit"):  # other lists take the first page for such a value
        if not (request.query_params.get(name) or "1").strip().lstrip("+-").isdecimal():
            raise Invalid.field(name, "type", "is no whole number")
    query = Search(
        text=q.strip(),
        only_topics=topic,
        descriptions=include_desc,
        private=is_private if private else False,
        template=template,
        archived=archived,
        starred_by=starred_by,
        team=team_id,
        first_owner=priority_owner_id,
        exclusive=exclusive,
        mode=_one_of("mode", mode, get_args(Mode)),
        sort=_one_of("sort", sort or "alpha", get_args(Sort)),
        descending=_one_of("order", order or "asc", ORDERS) == "desc" and sort != "",
    )
    if starred_by and starred_by != access.towards_accounts(request.principal).id:
        query = msgspec.structs.replace(query, private=False)
    page = request.page()
    team = await _team(request, team_id) if team_id else None
    if (private is False and is_private) or (team_id and team is None):
        return Response(SearchResults(ok=True, data=[]), headers=request.page_headers(page, 0))
    if team is not None and access.has_everything(team):
        query = msgspec.structs.replace(query, team=0, owner=team.organization_id)
    if uid:
        query = await _of_account(request, uid, query)
    async with request.db.read() as db:
        viewer = access.viewer(request.principal)
        rows, total = await find(db, viewer, query, page)
        related = await get_related(db, viewer, rows)
    answer = SearchResults(ok=True, data=request.presenter.repositories(rows, related, request.principal))
    return Response(answer, headers=request.page_headers(page, total))


async def _team(request: RepositoryRequest, team_id: int) -> Team | None:
    """Return the team with that id; None if it does not exist or the caller may not see it."""
    try:
        team = await request.part(HttpIdentity).team(team_id)
    except NotFound:
        return None
    if not access.knows_team(team, request.principal) and request.principal.signed_in:
        await refresh_memberships(request)
    return team if access.knows_team(team, request.principal) else None


async def _of_account(request: RepositoryRequest, uid: int, query: Search) -> Search:
    """Limit the search to one account. For other users, only public memberships count."""
    if uid == request.principal.id:
        return msgspec.structs.replace(query, account=access.viewer(request.principal))
    async with request.db.read() as db:
        row = await accounts.get(db, uid)
    if row is None or row.kind != AccountKind.USER:
        return msgspec.structs.replace(query, account=access.viewer(Principal(id=uid)))
    identity = request.part(HttpIdentity)
    memberships, shown = await asyncio.gather(
        identity.memberships(uid), identity.memberships(uid, public_only=True)
    )
    return msgspec.structs.replace(
        query,
        account=access.viewer(Principal(id=uid, organizations=shown)),
        concealed=sorted(memberships.keys() - shown.keys()),
    )


def _one_of(field: str, value: str, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise Invalid.field(field, "unknown", f"{value!r} must be one of {', '.join(filter(None, choices))}")
    return value


routes = [search]
