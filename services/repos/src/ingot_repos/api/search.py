"""The search over all repositories: only what the caller may see."""

import asyncio
from typing import Any, Literal, get_args

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid
from ingot_chassis.policy import MAX_ID, anyone
from ingot_chassis.principal import Principal
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call
from ingot_repos.core import access
from ingot_repos.store import accounts
from ingot_repos.store.search import Mode, Search, Sort
from ingot_repos.store.search import search as find

ORDERS = ("asc", "desc")


class SearchResults(msgspec.Struct):
    ok: Literal[True]
    data: list[Repository]


@get(
    "/api/v1/repos/search",
    policy=anyone("read:repository"),
    operation_id="repoSearch",
    tags=["repository"],
)
async def search(
    request: Call,
    q: str = "",
    uid: int = 0,
    mode: str = "",
    exclusive: bool = False,
    sort: str = "",
    order: str = "",
) -> Response[SearchResults]:
    """Repositories whose name contains `q`; by name, or as `sort` and `order` say.

    With `uid` those that this user or organization owns, and unless `exclusive` those that the user can reach
    besides; with mode `collaborative` the latter alone.
    """
    if not 0 <= uid <= MAX_ID:
        raise Invalid.field("uid", "range", "is no id")
    wanted = Search(
        text=q.strip(),
        exclusive=exclusive,
        mode=_known("mode", mode, get_args(Mode)),
        sort=_known("sort", sort or "alpha", get_args(Sort)),
        descending=_known("order", order or "asc", ORDERS) == "desc" and sort != "",
    )
    if uid:
        wanted = await _held_by(request, uid, wanted)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await find(db, access.viewer(request.who), wanted, page)
    answer = SearchResults(ok=True, data=await request.views(rows))
    return Response(answer, headers=request.page_headers(page, total))


async def _held_by(request: Call, uid: int, wanted: Search) -> Search:
    """The search limited to what an account has; of others only as far as they show their organizations."""
    if uid == request.who.id:
        return msgspec.structs.replace(wanted, holder=access.viewer(request.who))
    async with request.db.read() as db:
        row = await accounts.get(db, uid)
    if row is None or row.kind != "user":
        return msgspec.structs.replace(wanted, holder=access.viewer(Principal(id=uid)))
    identity = request.parts.identity
    all_, shown = await asyncio.gather(identity.organizations(uid), identity.public_organizations(uid))
    return msgspec.structs.replace(
        wanted,
        holder=access.viewer(Principal(id=uid, organizations=shown)),
        concealed=sorted(all_.keys() - shown.keys()),
    )


def _known(field: str, value: str, known: tuple[Any, ...]) -> Any:
    if value not in known:
        raise Invalid.field(field, "unknown", f"{value!r} is none of {', '.join(filter(None, known))}")
    return value


routes = [search]
