"""Who may call a route of repos: looks up what the path names, and decides through ``core.access``."""

from typing import cast

import msgspec

from ingot_chassis.errors import Denied, NotAllowed, NotFound, Unavailable
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Team, User
from ingot_contracts.repos import reaches
from ingot_repos.api.former_names import by_another_name
from ingot_repos.api.replicas import READS, require_replica
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository, TeamRepository, WaitingTransfer
from ingot_repos.core import access, accounts
from ingot_repos.core.placements import OnAnotherShard
from ingot_repos.core.presenter import as_user
from ingot_repos.store import repositories, transfers
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.states import AccountKind, RepositoryState


def in_repository(
    level: access.RequiredLevel,
    scope: str,
    *,
    on_disk: bool = False,
    with_other_files: bool = False,
    unit: str = "",
    of_caller: bool = False,
) -> Policy:
    """For routes below ``{owner}/{repo}``, decided before the body is read; ``request.resource`` is the repository.

    A route that reads or writes git's files is ``on_disk``; what only reads them may be answered from a replica, unless it also needs
    forks or files that are not git's (``with_other_files``). A route of a ``unit`` is 404 while that is switched off.
    A route about what belongs to the caller, such as a star, is ``of_caller``: it asks to sign in before anything else,
    and takes a former name as the present one.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        if of_caller:
            access.require_signed_in(request.principal)
        resolved = await resolve(request, names["owner"], names["repo"], level, unit)
        if not of_caller:
            _require_present_name(request, resolved)
        if on_disk and request.method in READS and not with_other_files:
            await require_readable(request, resolved)
        elif on_disk:
            require_on_disk(request, resolved)
        return resolved

    return resource(level, scope, decide)


def repository_by_id(scope: str) -> Policy:
    """For ``{repository_id}``, to callers who are signed in; ``request.resource`` is the repository."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        return await resolve_by_id(request, connection.path_params["repository_id"])

    return resource("read", scope, decide)


def collaboration(scope: str) -> Policy:
    """For what ``{collaborator}`` may do: administrators of the repository, and the collaborator."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        is_own = names["collaborator"].lower() == request.principal.name.lower()
        level: access.RequiredLevel = "signed-in" if is_own else "admin"
        resolved = await resolve(request, names["owner"], names["repo"], level)
        _require_present_name(request, resolved)
        return resolved

    return resource("signed-in", scope, decide)


def of_user(scope: str, *, of_caller: bool = False) -> Policy:
    """For lists of ``{username}``, an account that the caller may know of: ``request.account``."""

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        if of_caller:
            access.require_signed_in(request.principal)
        return await visible_account(request, connection.path_params["username"])

    return resource("read", scope, decide)


def of_organization(scope: str) -> Policy:
    """For lists of ``{org}``, an organization that the caller may know of: ``request.account``."""

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        row = await visible_account(request, connection.path_params["org"])
        if row.kind != AccountKind.ORGANIZATION:
            raise NotFound
        return row

    return resource("read", scope, decide)


def in_team(scope: str) -> Policy:
    """For ``{team_id}``, to members of its organization and site administrators: ``request.team``."""

    async def decide(connection: Connection, _level: str) -> Team:
        return await _team(cast("RepositoryRequest", connection))

    return resource("read", scope, decide)


def repository_of_team(level: access.RequiredLevel, scope: str) -> Policy:
    """For a repository ``{org}/{repo}`` of the organization of ``{team_id}``: ``request.team_repository``."""

    async def decide(connection: Connection, _level: str) -> TeamRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        team = await _team(request)
        repository = await resolve(request, names["org"], names["repo"])
        if repository.row.owner_id != team.organization_id:
            raise NotFound
        return TeamRepository(team, await require_level(request, repository.row, level))

    return resource(level, scope, decide)


def teams_of_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """For the teams of ``{owner}/{repo}``, to its administrators and members of the organization: ``request.resource``."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        return await _with_teams(cast("RepositoryRequest", connection), level)

    return resource(level, scope, decide)


def named_team_of_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """The same for the team of the name ``{team}``, whether it has the repository or not: ``request.team_repository``."""

    async def decide(connection: Connection, _level: str) -> TeamRepository:
        request = cast("RepositoryRequest", connection)
        repository = await _with_teams(request, level)
        teams = await request.components.identity.teams(
            repository.row.owner_id, name=connection.path_params["team"]
        )
        if not teams:
            raise NotFound
        return TeamRepository(teams[0], repository)

    return resource(level, scope, decide)


async def _with_teams(request: RepositoryRequest, level: access.RequiredLevel) -> ResolvedRepository:
    """The repository in the path, whose teams the caller may know of. Raises as ``resolve``, and NotAllowed for a user's."""
    names = request.path_params
    resolved = await resolve(request, names["owner"], names["repo"], level)
    _require_present_name(request, resolved)
    row = resolved.row
    if row.owner_kind != AccountKind.ORGANIZATION:
        raise NotAllowed("the repository belongs to a user, who has no teams", headers={"Allow": ""})
    if not access.knows_teams_of(row, resolved.level, request.principal):
        principal = await refresh_memberships(request)
        if not access.knows_teams_of(row, resolved.level, principal):
            raise Denied("only for members of the organization and administrators of the repository")
    return resolved


def _require_present_name(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """Raises Moved when the path has a former name of the repository."""
    if not resolved.is_named(request.path_params["owner"], request.path_params["repo"]):
        raise request.moved(owner=resolved.row.owner_login, repo=resolved.row.name)


async def _team(request: RepositoryRequest) -> Team:
    """The team in the path. Raises Unauthenticated, NotFound."""
    access.require_signed_in(request.principal)
    team = await request.components.identity.team(request.path_params["team_id"])
    if not access.knows_team(team, request.principal):
        await refresh_memberships(request)
    if not access.knows_team(team, request.principal):
        raise NotFound
    return team


def waiting_transfer(scope: str, *, for_giver: bool = False) -> Policy:
    """For the answer to a transfer: the new owner, owners of that organization, site administrators.

    They need no access to the repository. ``request.waiting_transfer`` is what they answer. With ``for_giver`` also for
    who may transfer the repository.
    """

    async def decide(connection: Connection, _level: str) -> WaitingTransfer:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        viewer = access.viewer(request.principal)
        async with request.db.read() as db:
            row = await repositories.get_by_name(db, viewer, names["owner"], names["repo"])
        if row is None:
            row = await by_another_name(request, names["owner"], names["repo"])
        async with request.db.read() as db:
            waiting = await transfers.get(db, row.id)
        if waiting is not None and await acts_for(request, waiting.recipient_id):
            resolved = ResolvedRepository(row, access.level(row, request.principal))
            _require_present_name(request, resolved)
            return WaitingTransfer(resolved, waiting)
        resolved = await require_level(request, row, "signed-in")
        _require_present_name(request, resolved)
        access.require_unrestricted(request.principal)
        if waiting is None:
            raise NotFound("no transfer waits for an answer")
        if for_giver and reaches(resolved.level, "owner"):
            return WaitingTransfer(resolved, waiting)
        raise Denied("only for the new owner")

    return resource("signed-in", scope, decide)


async def acts_for(request: RepositoryRequest, account_id: int) -> bool:
    """Whether the caller may answer for an account, by the memberships that they have now."""
    principal = request.principal
    if not access.towards_accounts(principal).signed_in:
        return False
    return access.acts_for(principal, account_id) or access.acts_for(
        await refresh_memberships(request), account_id
    )


def into_organization(scope: str) -> Policy:
    """For routes below ``{org}`` that only who may create repositories in it may call: ``request.account``."""

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        access.require_unrestricted(request.principal)
        return await organization_for_new(request, connection.path_params["org"])

    return resource("owner", scope, decide)


def writable(request: RepositoryRequest) -> ResolvedRepository:
    """``request.resource``, if its contents may change. Raises Denied."""
    access.require_unarchived(request.resource.row)
    return request.resource


async def resolve(
    request: RepositoryRequest, owner: str, name: str, level: access.RequiredLevel = "read", unit: str = ""
) -> ResolvedRepository:
    """The repository that has this name, or had it last, if the caller has access at ``level``.

    Raises NotFound when they may not know of it or ``unit`` is switched off, then Unauthenticated, then Denied.
    """
    return await require_level(request, await find(request, owner, name), level, unit)


async def find(request: RepositoryRequest, owner: str, name: str) -> RepositoryRow:
    """The repository that has this name, or had it last; access is not decided yet. Raises NotFound."""
    async with request.db.read() as db:
        row = await repositories.get_by_name(db, access.viewer(request.principal), owner, name)
    return row or await by_another_name(request, owner, name)


async def resolve_by_id(
    request: RepositoryRequest, repository_id: int, level: access.RequiredLevel = "read", unit: str = ""
) -> ResolvedRepository:
    """As ``resolve``, by id."""
    return await require_level(request, await find_by_id(request, repository_id), level, unit)


async def find_by_id(request: RepositoryRequest, repository_id: int) -> RepositoryRow:
    """As ``find``, by id."""
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(request.principal), repository_id)
    if row is None:
        raise NotFound
    return row


async def resolve_for_peer(request: RepositoryRequest, repository_id: int) -> ResolvedRepository:
    """The same for a worker of another service, which acts for no user: no access is checked. Raises NotFound."""
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, repository_id)
    if row is None:
        raise NotFound
    return ResolvedRepository(row, "owner")


def require_on_disk(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """Raises Unavailable while the commits of a fork or an import are fetched, NotFound if that failed.

    Raises OnAnotherShard when another shard has the files; the request is then forwarded to it.
    """
    row = resolved.row
    if row.state == RepositoryState.FAILED:
        raise NotFound("its commits could not be fetched")
    if row.state != RepositoryState.READY:
        raise Unavailable("its commits are on their way")
    if row.shard != request.settings.shard:
        raise OnAnotherShard(row.shard)


async def require_readable(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """The same for what only reads git's files, which a replica has as well."""
    try:
        require_on_disk(request, resolved)
    except OnAnotherShard as error:
        await require_replica(request, resolved.id, error)


async def refresh_memberships(request: RepositoryRequest) -> Principal:
    """The caller with the memberships that they have now, which are also in ``request.principal`` from here on."""
    organizations = await request.components.identity.memberships(request.principal.id)
    principal = msgspec.structs.replace(request.principal, organizations=organizations)
    request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    return principal


async def principal_of(request: RepositoryRequest, user_id: int) -> Principal:
    """A person who is not calling, as ``accounts.principal_of``."""
    return await accounts.principal_of(request.components.identity, user_id)


async def own_account(request: RepositoryRequest) -> AccountRow:
    """The caller's account. Raises NotFound when it was deleted meanwhile."""
    return await request.components.accounts.get(request.principal.id)


async def sender_of(request: RepositoryRequest) -> User:
    """The caller as events name them."""
    return as_user(await own_account(request))


async def visible_account(request: RepositoryRequest, login: str) -> AccountRow:
    """The user or organization of that name, if the caller may know of it. Raises NotFound.

    Afterwards the principal has the membership that the caller has now, if it is an organization.
    """
    row = await request.components.accounts.get_by_login(login)
    principal = request.principal
    if row.kind == AccountKind.ORGANIZATION and principal.signed_in and row.id not in principal.organizations:
        principal = await refresh_memberships(request)
    if not access.is_visible(row.id, row.visibility, access.towards_accounts(principal)):
        raise NotFound
    return row


async def organization_for_new(request: RepositoryRequest, login: str) -> AccountRow:
    """The organization of that name, if the caller may create repositories in it. Raises NotFound, Denied."""
    return await _organization(request, login, any_member=False)


async def joined_organization(request: RepositoryRequest, login: str) -> AccountRow:
    """The organization of that name, if the caller is a member. Raises NotFound, Denied."""
    return await _organization(request, login, any_member=True)


async def _organization(request: RepositoryRequest, login: str, *, any_member: bool) -> AccountRow:
    row = await request.components.accounts.get_by_login(login)
    if row.kind != AccountKind.ORGANIZATION:
        raise NotFound
    if not access.may_create_in(row, request.principal, any_member=any_member):
        access.require_may_create_in(row, await refresh_memberships(request), any_member=any_member)
    return row


async def require_level(
    request: RepositoryRequest, row: RepositoryRow, required: access.RequiredLevel, unit: str = ""
) -> ResolvedRepository:
    """The repository of ``row`` with the caller's level. Raises NotFound, Unauthenticated or Denied, as ``resolve``.

    A refusal that rests on memberships is final only after identity was asked for them again.
    """
    principal = request.principal
    level = access.level(row, principal)
    if (
        not access.suffices(level, required)
        and row.owner_kind == AccountKind.ORGANIZATION
        and principal.signed_in
    ):
        principal = await refresh_memberships(request)
        async with request.db.read() as db:
            fresh_row = await repositories.get(db, access.viewer(principal), row.id)
        if fresh_row is None:
            raise NotFound
        row, level = fresh_row, access.level(fresh_row, principal)
    if unit and not getattr(row, f"{unit}_enabled"):
        raise NotFound
    access.require(row, level, required, principal)
    return ResolvedRepository(row, level)
