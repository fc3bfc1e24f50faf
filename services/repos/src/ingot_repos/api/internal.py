"""For issues and hooks only: what somebody may do to a repository, and the tips of its branches."""

import asyncio

from litestar import delete, get, post

from ingot_chassis.errors import BadRequest, Conflict, NotFound
from ingot_chassis.http.policy import MAX_ID, services
from ingot_chassis.security.principal import Principal
from ingot_contracts.repos import (
    MOST_IDS,
    MOST_WATCHERS,
    AccessLevel,
    BranchTip,
    MergeRule,
    ReadableRepositories,
    RepositoryAccess,
    Watchers,
)
from ingot_repos.api.policies import (
    own_account,
    principal_of,
    refresh_memberships,
    require_on_disk,
    resolve,
    resolve_by_id,
    resolve_for_peer,
)
from ingot_repos.api.repositories import present_to_peer
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access
from ingot_repos.core.presenter import owner_kind
from ingot_repos.core.protections import Actor, actor_of, branch_rules_of, merge_rule, rules_of
from ingot_repos.git.errors import InvalidName, RefMoved, RefNotFound, RepositoryNotFound
from ingot_repos.git.refs import BRANCHES, ZERO_OID, RefChange, delete_branch, get_branch
from ingot_repos.store import collaborations, repositories, repository_lists, stars_and_watches
from ingot_repos.store.states import AccountKind, RepositoryState

PEERS = services("issues", "hooks")
ISSUES = services("issues")
BRANCH_PATH = "/internal/repositories/{repository_id:int}/branches/{branch:path}"


@get(
    "/internal/repositories/by-name/{owner:str}/{name:str}/access",
    policy=PEERS,
    include_in_schema=False,
)
async def get_access_by_name(
    request: RepositoryRequest, owner: str, name: str, user: str = ""
) -> RepositoryAccess:
    """What the caller, or ``user``, may do to the repository of that name."""
    return await access_by_name(request, owner, name, user)


@get("/internal/repositories/{repository_id:int}/access", policy=PEERS, include_in_schema=False)
async def get_access(request: RepositoryRequest, repository_id: int, user: str = "") -> RepositoryAccess:
    """What the caller, or ``user``, may do to the repository of that id."""
    return await access_by_id(request, repository_id, user)


@get("/internal/repositories/{repository_id:int}/level", policy=PEERS, include_in_schema=False)
async def get_level(request: RepositoryRequest, repository_id: int, user: str = "") -> AccessLevel:
    """What ``user`` may do, who is not calling: nothing, if they may not sign in."""
    return await level_of(request, repository_id, user)


@post(
    "/internal/readable-repositories",
    policy=ISSUES,
    include_in_schema=False,
    status_code=200,
)
async def list_readable(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """Of these repositories, those that the caller may read."""
    return await readable_of(request, data)


@get(BRANCH_PATH, policy=PEERS, include_in_schema=False)
async def get_branch_tip(request: RepositoryRequest, repository_id: int, branch: str) -> BranchTip:  # noqa: ARG001
    """The tip of a branch; its name may hold slashes."""
    return await branch_tip(request, await resolve_by_id(request, repository_id), request.rest_of_path(4))


@delete(BRANCH_PATH, policy=ISSUES, include_in_schema=False)
async def remove_branch(
    request: RepositoryRequest,
    repository_id: int,
    branch: str,  # noqa: ARG001
    tip: str,
    user: str = "",
) -> None:
    """Delete a branch that still has ``tip``, as the caller or ``user``, who needs write access."""
    await remove_branch_of(request, repository_id, request.rest_of_path(4), tip, user)


@get("/internal/repositories/{repository_id:int}/watchers", policy=ISSUES, include_in_schema=False)
async def list_watchers(request: RepositoryRequest, repository_id: int) -> Watchers:
    """Who watches a repository. Of a repository that does not exist nobody."""
    async with request.db.read() as db:
        return Watchers(ids=await stars_and_watches.list_watcher_ids(db, repository_id, MOST_WATCHERS))


@get("/internal/repositories/{repository_id:int}/teams", policy=ISSUES, include_in_schema=False)
async def list_team_ids(request: RepositoryRequest, repository_id: int) -> list[int]:
    """The teams that were given a repository; those that have every one, as the owners' team, are not among them."""
    async with request.db.read() as db:
        return sorted(await collaborations.team_ids(db, repository_id))


@get("/internal/repositories/{repository_id:int}/merge-rule", policy=ISSUES, include_in_schema=False)
async def get_merge_rule(
    request: RepositoryRequest,
    repository_id: int,
    branch: str = "",
    head: str = "",
    user: str = "",
    unattended: bool = False,
) -> MergeRule:
    """What protects a branch from a merge by the caller, or by ``user``.

    ``unattended``: issues asks for itself, so no access is checked.
    """
    await act_as(request, user)
    resolve_repository = resolve_for_peer if unattended else resolve_by_id
    repository = await resolve_repository(request, repository_id)
    actor: Actor = actor_of(request.principal, repository.row, repository.level)
    async with request.db.read() as db:
        rules = await branch_rules_of(db, repository.id)
        return await merge_rule(db, rules, repository.id, actor, branch, head)


async def access_by_name(request: RepositoryRequest, owner: str, name: str, user: str) -> RepositoryAccess:
    """What ``user``, or without one the caller, may do to a repository. Raises NotFound, BadRequest."""
    await act_as(request, user)
    return await _access(request, await resolve(request, owner, name))


async def access_by_id(request: RepositoryRequest, repository_id: int, user: str) -> RepositoryAccess:
    """The same, by id."""
    await act_as(request, user)
    return await _access(request, await resolve_by_id(request, repository_id))


async def level_of(request: RepositoryRequest, repository_id: int, user: str) -> AccessLevel:
    """What ``user`` may do to a repository. Raises NotFound, BadRequest."""
    principal = await _named_principal(request, user)
    if not principal.signed_in:
        return AccessLevel(level="none")
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(principal), repository_id)
    if row is None:
        raise NotFound
    return AccessLevel(level=access.level(row, principal))


async def readable_of(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """Those that the caller may read, and that a team was given if one is named. Raises BadRequest for too many."""
    if len(data.ids) > MOST_IDS:
        raise BadRequest(f"more than {MOST_IDS} ids")
    viewer = access.viewer(request.principal)
    async with request.db.read() as db:
        ids = await collaborations.list_granted(db, data.team_id, data.ids) if data.team_id else data.ids
        if not data.with_levels:
            return ReadableRepositories(ids=await repository_lists.list_visible_ids(db, viewer, ids))
        rows = await repositories.get_visible(db, viewer, ids)
    visible_ids = sorted(rows)
    levels = [access.level(rows[id_], request.principal) for id_ in visible_ids]
    return ReadableRepositories(ids=visible_ids, levels=levels)


async def remove_branch_of(
    request: RepositoryRequest, repository_id: int, name: str, tip: str, user: str
) -> None:
    """Delete a branch that still has ``tip``. Raises NotFound, Denied, Conflict, BadRequest."""
    await act_as(request, user)
    repository = await resolve_by_id(request, repository_id, "write")
    access.require_unarchived(repository.row)
    require_on_disk(request, repository)
    async with request.db.read() as db:
        rules = await rules_of(db, repository.id)
    rules.require(
        actor_of(request.principal, repository.row, repository.level),
        [RefChange(BRANCHES + name, tip, ZERO_OID)],
    )
    if name == repository.row.default_branch:
        raise Conflict("the default branch is not deleted")
    actor = await own_account(request)
    pushes = request.components.pushes
    async with (
        pushes.turn(repository.id),
        pushes.journaled(repository.id, actor.id, [BRANCHES + name]) as push_id,
    ):
        try:
            await request.storage.call(repository.id, delete_branch, name, tip)
        except RefMoved:
            raise Conflict("the branch has moved") from None
        except (RefNotFound, InvalidName, RepositoryNotFound):
            raise NotFound("there is no such branch") from None
        finally:
            await asyncio.shield(pushes.settle(push_id))


async def act_as(request: RepositoryRequest, user: str) -> None:
    """From here on the caller is ``user``, if one is named. Raises BadRequest."""
    if user:
        request.scope["principal"] = await _named_principal(request, user)  # type: ignore[typeddict-unknown-key]


async def _named_principal(request: RepositoryRequest, user: str) -> Principal:
    """A person who is not calling, by id. Raises BadRequest."""
    if not is_id(user):
        raise BadRequest("user is no id")
    return await principal_of(request, int(user))


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= MAX_ID


async def _access(request: RepositoryRequest, repository: ResolvedRepository) -> RepositoryAccess:
    """What the caller may do, with memberships as they are now: other services refuse by this answer."""
    if (
        repository.level != "owner"
        and request.principal.signed_in
        and repository.row.owner_kind == AccountKind.ORGANIZATION
    ):
        await refresh_memberships(request)
        repository = await resolve_by_id(request, repository.id)
    return RepositoryAccess(
        repository=await present_to_peer(request, repository),
        level=repository.level,
        owner_kind=owner_kind(repository.row),
        issues_enabled=repository.row.issues_enabled,
        pulls_enabled=repository.row.pulls_enabled and not repository.row.mirror,
        ready=repository.row.state == RepositoryState.READY,
    )


async def branch_tip(request: RepositoryRequest, repository: ResolvedRepository, name: str) -> BranchTip:
    """The tip of one branch. Raises NotFound, Unavailable, OnAnotherShard."""
    require_on_disk(request, repository)
    try:
        tip = await request.storage.call(repository.id, get_branch, name)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return BranchTip(name=tip.name, sha=tip.oid)


routes = [
    list_watchers,
    list_team_ids,
    get_merge_rule,
    get_access_by_name,
    get_access,
    get_level,
    list_readable,
    get_branch_tip,
    remove_branch,
]
