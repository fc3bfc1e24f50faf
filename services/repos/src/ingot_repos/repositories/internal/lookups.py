"""Internal routes for issues, hooks and mail: access to repositories, and tips of branches."""

from functools import partial

import msgspec
from litestar import delete, get, post
from msgspec import UNSET

from ingot_chassis.errors import BadRequest, Conflict, NotFound
from ingot_chassis.http.policy import MAX_ID, services
from ingot_chassis.security.principal import Principal
from ingot_contracts.repos.access import (
    MOST_IDS,
    MOST_WATCHERS,
    SERVED_UNITS,
    AccessLevel,
    ReadableRepositories,
    Watchers,
)
from ingot_contracts.repos.commits import BranchTip
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import OfficialReviewers
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_git.process.errors import InvalidName, RefMoved, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, delete_branch, get_branch
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    own_account,
    principal_of,
    refresh_memberships,
    require_on_disk,
    resolve,
    resolve_by_id,
    resolve_for_peer,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import lists as repository_lists
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import AccountKind, RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.commits.api.event_commits import event_commit
from ingot_repos.presentation.rules.presenter import owner_kind
from ingot_repos.protection.rules.decisions import Actor, actor_of, branch_rules_of, merge_rule, rules_of
from ingot_repos.protection.rules.official_reviewers import official_reviewers
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.social.store import relations as stars_and_watches

PEERS = services("issues", "hooks", "mail")
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
    """Return the access of the caller or ``user`` to the named repository."""
    return await access_by_name(request, owner, name, user)


@get("/internal/repositories/{repository_id:int}/access", policy=PEERS, include_in_schema=False)
async def get_access(request: RepositoryRequest, repository_id: int, user: str = "") -> RepositoryAccess:
    """Return the access of the caller or ``user`` to a repository."""
    return await access_by_id(request, repository_id, user)


@get("/internal/repositories/{repository_id:int}/level", policy=PEERS, include_in_schema=False)
async def get_level(request: RepositoryRequest, repository_id: int, user: str = "") -> AccessLevel:
    """Return the access of ``user``, who is not the caller. It is "none" if the user may not sign in."""
    return await level_of(request, repository_id, user)


@post(
    "/internal/readable-repositories",
    policy=ISSUES,
    include_in_schema=False,
    status_code=200,
)
async def list_readable(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """Return the requested repositories that the caller may read."""
    return await readable_of(request, data)


@get(BRANCH_PATH, policy=PEERS, include_in_schema=False)
async def get_branch_tip(
    request: RepositoryRequest,
    repository_id: int,
    branch: str,  # noqa: ARG001 - read from the path, which is not normalized
    commit: bool = False,
) -> BranchTip:
    """Return the tip of a branch. The name may contain slashes. With ``commit``, include the tip's commit."""
    repository = await resolve_by_id(request, repository_id)
    tip = await branch_tip(request, repository, request.rest_of_path(4))
    if not commit:
        return tip
    shown, _ = await event_commit(request, repository, tip.sha)
    return msgspec.structs.replace(tip, commit=shown)


@delete(BRANCH_PATH, policy=ISSUES, include_in_schema=False)
async def remove_branch(
    request: RepositoryRequest,
    repository_id: int,
    branch: str,  # noqa: ARG001
    tip: str,
    user: str = "",
) -> None:
    """Delete a branch that is still at ``tip``. The caller, or ``user`` if given, needs write access."""
    await remove_branch_of(request, repository_id, request.rest_of_path(4), tip, user)


@get(
    "/internal/repositories/{repository_id:int}/watchers",
    policy=services("issues", "mail"),
    include_in_schema=False,
)
async def list_watchers(request: RepositoryRequest, repository_id: int) -> Watchers:
    """Return the ids of users who watch a repository, at most ``MOST_WATCHERS``.

    Empty if the repository does not exist.
    """
    async with request.db.read() as db:
        return Watchers(ids=await stars_and_watches.list_watcher_ids(db, repository_id, MOST_WATCHERS))


@get("/internal/repositories/{repository_id:int}/teams", policy=ISSUES, include_in_schema=False)
async def list_team_ids(request: RepositoryRequest, repository_id: int) -> list[int]:
    """Return the ids of teams with a grant. Teams with all repositories, such as Owners, are omitted."""
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
    """Return the conditions for a merge into a branch by the caller or ``user``.

    With ``unattended``, issues does not act for a user, so access is not checked.
    """
    await act_as(request, user)
    resolve_repository = resolve_for_peer if unattended else resolve_by_id
    repository = await resolve_repository(request, repository_id)
    actor: Actor = actor_of(request.principal, repository.row, repository.level)
    async with request.db.read() as db:
        rules = await branch_rules_of(db, repository.id)
        return await merge_rule(db, rules, repository.id, actor, branch, head)


@post(
    "/internal/repositories/{repository_id:int}/official-reviewers",
    policy=ISSUES,
    include_in_schema=False,
    status_code=200,
)
async def list_official_reviewers(
    request: RepositoryRequest, repository_id: int, data: OfficialReviewers
) -> OfficialReviewers:
    """Return those accounts and teams of the request whose decisions count for a protected branch.

    Raises BadRequest for too many ids. issues does not act for a user here, so access is not checked.
    """
    if max(len(data.ids), len(data.team_ids)) > MOST_IDS:
        raise BadRequest(f"more than {MOST_IDS} ids")
    repository = await resolve_for_peer(request, repository_id)
    return await official_reviewers(
        request.db, request.part(HttpIdentity), request.part(AccountCopies), repository.row, data
    )


async def access_by_name(request: RepositoryRequest, owner: str, name: str, user: str) -> RepositoryAccess:
    """Return the access of ``user`` or the caller to a repository. Raises NotFound, BadRequest."""
    await act_as(request, user)
    return await _access(request, await resolve(request, owner, name, unit=None))


async def access_by_id(request: RepositoryRequest, repository_id: int, user: str) -> RepositoryAccess:
    """Return the access of ``user`` or the caller to a repository. Raises NotFound, BadRequest."""
    await act_as(request, user)
    return await _access(request, await resolve_by_id(request, repository_id, unit=None))


async def level_of(request: RepositoryRequest, repository_id: int, user: str) -> AccessLevel:
    """Return the access of ``user``. Raises NotFound, BadRequest."""
    principal = await _named_principal(request, user)
    if not principal.signed_in:
        return AccessLevel(level="none")
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(principal), repository_id)
    if row is None:
        raise NotFound
    return access.access_to(row, principal)


async def readable_of(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """Return the requested repositories that the caller may read.

    With a team, return only repositories that were given to the team. Raises BadRequest for more than
    ``MOST_IDS`` ids.
    """
    if len(data.ids) > MOST_IDS:
        raise BadRequest(f"more than {MOST_IDS} ids")
    viewer = access.viewer(request.principal)
    async with request.db.read() as db:
        ids = await collaborations.list_granted(db, data.team_id, data.ids) if data.team_id else data.ids
        if not data.with_levels and not access.differs_by_unit(request.principal):
            return ReadableRepositories(ids=await repository_lists.list_visible_ids(db, viewer, ids))
        rows = await repositories.get_visible(db, viewer, ids)
    accesses = {id_: access.access_to(rows[id_], request.principal) for id_ in sorted(rows)}
    if not data.by_unit:
        accesses = {id_: one for id_, one in accesses.items() if one.level != "none"}
    unreadable = {
        unit: [id_ for id_, one in accesses.items() if one.of(unit) == "none"] for unit in SERVED_UNITS
    }
    return ReadableRepositories(
        ids=list(accesses),
        levels=[one.of("code") for one in accesses.values()] if data.with_levels else [],
        unreadable={unit: ids for unit, ids in unreadable.items() if ids},
    )


async def remove_branch_of(
    request: RepositoryRequest, repository_id: int, name: str, tip: str, user: str
) -> None:
    """Delete a branch that is still at ``tip``. Raises NotFound, Denied, Conflict, BadRequest."""
    await act_as(request, user)
    repository = await resolve_by_id(request, repository_id, "write")
    access.require_unarchived(repository.row)
    require_on_disk(request, repository)
    if name == repository.row.default_branch:
        raise Conflict("the default branch is not deleted")
    actor = await own_account(request)
    pushes = request.part(Pushes)
    delete = partial(request.storage.call, repository.id, delete_branch, name, tip)
    async with pushes.turn(repository.id):
        async with request.db.read() as db:
            rules = await rules_of(db, repository.id)
        rules.require(
            actor_of(request.principal, repository.row, repository.level),
            [RefChange(BRANCHES + name, tip, ZERO_OID)],
        )
        try:
            await pushes.moved(repository.id, actor.id, [BRANCHES + name], delete)
        except RefMoved:
            raise Conflict("the branch has moved") from None
        except (RefNotFound, InvalidName, RepositoryNotFound):
            raise NotFound("there is no such branch") from None


async def act_as(request: RepositoryRequest, user: str) -> None:
    """Replace the principal of the request by ``user``, if one is named. Raises BadRequest."""
    if user:
        principal = await _named_principal(request, user)
        request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]


async def _named_principal(request: RepositoryRequest, user: str) -> Principal:
    """Return the principal of a user who is not the caller. Raises BadRequest."""
    if not is_id(user):
        raise BadRequest("user is no id")
    return await principal_of(request, int(user))


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= MAX_ID


async def _access(request: RepositoryRequest, repository: ResolvedRepository) -> RepositoryAccess:
    """Return the caller's access. Fetches memberships again, because other services rely on the result."""
    if (
        repository.access.level != "owner"
        and request.principal.signed_in
        and repository.row.owner_kind == AccountKind.ORGANIZATION
    ):
        await refresh_memberships(request)
        repository = await resolve_by_id(request, repository.id, unit=None)
    return RepositoryAccess(
        repository=msgspec.structs.replace(await present(request, repository), units_map=UNSET),
        level=repository.access.level,
        units=repository.access.units,
        owner_kind=owner_kind(repository.row),
        issues_enabled=repository.row.issues_enabled,
        pulls_enabled=repository.row.pulls_enabled and not repository.row.mirror,
        ready=repository.row.state == RepositoryState.READY,
    )


async def branch_tip(request: RepositoryRequest, repository: ResolvedRepository, name: str) -> BranchTip:
    """Return the tip of one branch. Raises NotFound, Unavailable, OnAnotherShard."""
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
    list_official_reviewers,
    get_access_by_name,
    get_access,
    get_level,
    list_readable,
    get_branch_tip,
    remove_branch,
]
