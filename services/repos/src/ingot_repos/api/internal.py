"""For sister services only: access of the forwarded person, and git on behalf of pull requests.

Names and ids stand in the same places of these paths, and a repository may be called "compare" or "branches".
The router does not try a second way after a literal segment, so such segments are parameters and decided here.
"""

import asyncio
from typing import TypeVar

import msgspec
from litestar import get, post

from ingot_chassis.errors import BadRequest, NotFound, Unavailable
from ingot_chassis.policy import MAX_ID, services
from ingot_chassis.principal import ANONYMOUS, Principal
from ingot_contracts.pulls import (
    MOST_HEADS,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    Head,
    Merge,
    Merged,
)
from ingot_contracts.repos import BranchTip, HeldLevel, Level, RepositoryAccess
from ingot_repos.api.call import Call, Found
from ingot_repos.core import access, merges
from ingot_repos.git.errors import GitFailed, GitTimedOut, RefNotFound, RepositoryNotFound
from ingot_repos.git.refs import get_branch
from ingot_repos.store import repositories

SISTERS = services("issues", "hooks")
LONGEST_COMPARE = 120.0
BY_ID, ACCESS, LEVEL, BRANCHES = "by-id", "access", "level", "branches"

_T = TypeVar("_T")


@get(
    "/internal/repositories/{first:str}/{second:str}/{rest:path}",
    policy=SISTERS,
    include_in_schema=False,
)
async def read(request: Call, first: str, second: str, rest: str) -> RepositoryAccess | HeldLevel | BranchTip:  # noqa: ARG001
    """``{owner}/{name}/access``, ``by-id/{id}/access``, ``by-id/{id}/level?user=`` or ``{id}/branches/{branch}``."""
    tail = request.rest_of_path(4)
    if second == BRANCHES and is_id(first) and tail != ACCESS:
        return await _branch(request, await request.repository_by_id(int(first)), tail)
    if first == BY_ID and is_id(second) and tail == LEVEL:
        return HeldLevel(level=await _level(request, int(second), request.query_params.get("user", "")))
    if tail != ACCESS:
        raise NotFound
    if user := request.query_params.get("user", ""):
        request.scope["principal"] = await somebody(request, user)  # type: ignore[typeddict-unknown-key]
    if first == BY_ID and is_id(second):
        return await _access(request, await request.repository_by_id(int(second)))
    try:
        return await _access(request, await request.repository(first, second))
    except NotFound:
        if second == BRANCHES and is_id(first):
            return await _branch(request, await request.repository_by_id(int(first)), tail)
        raise


@post(
    "/internal/repositories/{first:str}/{second:str}",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
)
async def act(
    request: Call, first: str, second: str, unattended: bool = False
) -> Comparison | Comparisons | Merged:
    """``{id}/compare``, ``{id}/comparisons`` or ``{id}/merge``.

    ``?unattended=true`` is for a sister's own workers, behind which there is no person: what they compare is
    not checked against anybody's access.
    """
    if not is_id(first) or second not in ("compare", "comparisons", "merge"):
        raise NotFound
    try:
        if second == "merge":
            return await _merge(request, int(first), await _sent(request, Merge))
        if second == "comparisons":
            return await _compare_all(request, int(first), await _sent(request, CompareHeads), unattended)
        return await _compare(request, int(first), await _sent(request, Compare), unattended)
    except RepositoryNotFound:
        raise NotFound from None


async def _access(request: Call, found: Found) -> RepositoryAccess:
    """What the forwarded person may do, with memberships as they are now: sisters refuse by this answer."""
    if found.level != "owner" and request.who.signed_in and found.row.owner_kind == "organization":
        await request.refreshed()
        found = await request.repository_by_id(found.id)
    return RepositoryAccess(
        repository=await request.view(found),
        level=found.level,
        owner_kind=found.row.owner_kind,
        issues_enabled=found.row.issues_enabled,
        pulls_enabled=found.row.pulls_enabled and not found.row.mirror,
        ready=found.row.state == "ready",
    )


async def somebody(request: Call, user: str) -> Principal:
    """A person who is not calling, by what identity says of them now; nobody, if they may not act."""
    if not is_id(user):
        raise BadRequest("user is no id")
    identity = request.parts.identity
    account = await identity.account(int(user))
    if account is None or not account.active:
        return ANONYMOUS
    return Principal(
        id=account.id,
        name=account.login,
        admin=account.admin,
        organizations=await identity.organizations(account.id),
    )


async def _level(request: Call, repository_id: int, user: str) -> Level:
    """What a person may do who is not calling. Raises NotFound."""
    who = await somebody(request, user)
    if not who.signed_in:
        return "none"
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(who), repository_id)
    if row is None:
        raise NotFound
    return access.level(row, who)


async def _branch(request: Call, found: Found, name: str) -> BranchTip:
    request.require_on_disk(found)
    try:
        tip = await request.storage.call(found.id, get_branch, name)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return BranchTip(name=tip.name, sha=tip.oid)


async def _compare(request: Call, base_id: int, wanted: Compare, unattended: bool) -> Comparison:
    """What merging a branch, maybe of a fork, would mean. The person must be able to read both."""
    head = Head(repository_id=wanted.head_repository_id, branch=wanted.head_branch, number=wanted.number)
    await _enter(request, base_id, unattended)
    return await _compared(request, base_id, wanted.base_branch, head, unattended)


async def _compare_all(request: Call, base_id: int, wanted: CompareHeads, unattended: bool) -> Comparisons:
    """The same for many heads; what is not there, or not for the person, is told by None."""
    if len(wanted.heads) > MOST_HEADS:
        raise BadRequest(f"more than {MOST_HEADS} heads")
    await _branch(request, await _enter(request, base_id, unattended), wanted.base_branch)
    found: list[Comparison | None] = []
    for head in wanted.heads:
        try:
            found.append(await _compared(request, base_id, wanted.base_branch, head, unattended))
        except (NotFound, RepositoryNotFound):
            found.append(None)
    return Comparisons(found=found)


async def _enter(request: Call, repository_id: int, unattended: bool) -> Found:
    """A repository whose files are here, and which the person may read. Raises NotFound."""
    found = await (request.unattended if unattended else request.repository_by_id)(repository_id)
    request.require_on_disk(found)
    if not unattended:
        request.take_place()
    return found


async def _compared(
    request: Call, base_id: int, base_branch: str, head: Head, unattended: bool
) -> Comparison:
    if head.repository_id != base_id:
        try:
            await _enter(request, head.repository_id, unattended)
        except NotFound:  # what is kept here of it may be seen
            head = Head(repository_id=base_id, branch="", number=head.number)
    try:
        async with asyncio.timeout(LONGEST_COMPARE):
            return await merges.comparison(request.storage, request.parts.pushes, base_id, base_branch, head)
    except (TimeoutError, GitTimedOut, GitFailed) as error:
        raise Unavailable("the comparison could not be made") from error


async def _merge(request: Call, repository_id: int, wanted: Merge) -> Merged:
    """Merge as the forwarded person, who needs write access."""
    found = await request.repository_by_id(repository_id, "write")
    access.require_open(found.row)
    request.require_on_disk(found)
    if wanted.head_branch and wanted.head_repository_id != repository_id:
        try:
            await _enter(request, wanted.head_repository_id, unattended=False)
        except NotFound:
            wanted = msgspec.structs.replace(wanted, head_branch="")
    request.take_place()
    who = await request.own_account()
    confined = request.who.confined_to is not None
    try:
        return await merges.join(
            request.storage, request.parts.pushes, found.row, who, wanted, confined=confined
        )
    except (GitTimedOut, GitFailed) as error:
        raise Unavailable("the merge could not be made") from error


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= MAX_ID


async def _sent(request: Call, cls: type[_T]) -> _T:
    try:
        return msgspec.convert(await request.json(), cls)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from error


routes = [read, act]
