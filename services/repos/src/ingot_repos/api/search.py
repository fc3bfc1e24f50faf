"""The search over all repositories that the caller may see."""

import asyncio
from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, anyone
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Team
from ingot_repos.api.policies import refresh_memberships
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access
from ingot_repos.core.presenter import RepositoryAnswer
from ingot_repos.store import accounts
from ingot_repos.store.related import get_related
from ingot_repos.store.search import Mode, Search, Sort
from ingot_repos.store.search import search as find
from ingot_repos.store.states import AccountKind

ORDERS = ("asc", "desc")
IncludeDesc = Annotated[bool, QueryParameter(name="includeDesc")]
StarredBy = Annotated[int, QueryParameter(name="starredBy")]


class SearchResults(msgspec.Struct):
    ok: Literal[True]
    data: list[RepositoryAnswer]


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
    """Repositories with each word of `q` in the name or a topic; by name, or as `sort` and `order` say.

    By `relevance` those of that name come first. With `topic` only those with the topic `q`; with `includeDesc` the
    description counts as well. With `uid` only those that this user or organization owns, and unless `exclusive` those
    that were shared with the user; with mode `collaborative` the latter alone. Those of `priority_owner_id` come first.
    Without `private` only public ones.
    """
    ids = {"uid": uid, "priority_owner_id": priority_owner_id, "team_id": team_id, "starredBy": starred_by}
    for name, value in ids.items():
        if not 0 <= value <= MAX_ID:
            raise Invalid.field(name, "range", "is no id")
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
    """The team of that id, if the caller may know of it."""
    try:
        team = await request.components.identity.team(team_id)
    except NotFound:
        return None
    if not access.knows_team(team, request.principal) and request.principal.signed_in:
        await refresh_memberships(request)
    return team if access.knows_team(team, request.principal) else None


async def _of_account(request: RepositoryRequest, uid: int, query: Search) -> Search:
    """The search limited to one account; of another user's organizations only those that they show."""
    if uid == request.principal.id:
        return msgspec.structs.replace(query, account=access.viewer(request.principal))
    async with request.db.read() as db:
        row = await accounts.get(db, uid)
    if row is None or row.kind != AccountKind.USER:
        return msgspec.structs.replace(query, account=access.viewer(Principal(id=uid)))
    identity = request.components.identity
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
        raise Invalid.field(field, "unknown", f"{value!r} is none of {', '.join(filter(None, choices))}")
    return value


routes = [search]
