"""Policies of routes: each finds the resource in the path and checks the access of the caller."""

from typing import cast

import msgspec

from ingot_chassis.errors import Denied, NotAllowed, NotFound, Unavailable
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.teams import Team
from ingot_contracts.identity.units import Unit
from ingot_contracts.repos.access import AccessLevel, reaches
from ingot_repos.access.api.former_names import find_by_former_name
from ingot_repos.access.api.request import RepositoryRequest, TeamRepository, WaitingTransfer
from ingot_repos.access.rules import account_copies as accounts
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import repositories, transfers
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import AccountKind, RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.placement.api.replicas import READS, require_replica
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.presentation.rules.presenter import as_user


def in_repository(
    level: access.RequiredLevel,
    scope: str,
    *,
    on_disk: bool = False,
    with_other_files: bool = False,
    unit: Unit | None = "code",
    of_caller: bool = False,
) -> Policy:
    """Policy for routes below ``{owner}/{repo}``, decided before the body is read. Sets ``request.resource``.

    - ``on_disk``: the route reads or writes files of git. A replica may answer requests that only read.
    - ``with_other_files``: the route also needs forks, or files outside of git, so no replica answers it.
    - ``unit``: the unit whose access counts, or None. While it is switched off, the route answers 404.
    - ``of_caller``: the route is about data of the caller, such as a star. It requires a login first. It also
      accepts former names; other routes raise Moved for them.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        if of_caller:
            access.require_signed_in(request.principal)
        resolved = await resolve(request, names["owner"], names["repo"], level, unit)
        if not of_caller:
            require_present_name(request, resolved)
        if on_disk and request.method in READS and not with_other_files:
            await require_readable(request, resolved)
        elif on_disk:
            require_on_disk(request, resolved)
        return resolved

    return resource(level, scope, decide)


def repository_by_id(scope: str, *, level: access.RequiredLevel = "read", anonymous: bool = False) -> Policy:
    """Policy for ``{repository_id}``. Sets ``request.resource``.

    Requires a login, unless ``anonymous`` allows anonymous callers, too.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request = cast("RepositoryRequest", connection)
        if not anonymous:
            access.require_signed_in(request.principal)
        return await resolve_by_id(request, connection.path_params["repository_id"], level, unit=None)

    return resource(level, scope, decide)


def collaboration(scope: str) -> Policy:
    """Policy for the permission of ``{collaborator}``. Allows this user, and repository administrators."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        is_own = names["collaborator"].lower() == request.principal.name.lower()
        level: access.RequiredLevel = "signed-in" if is_own else "admin"
        resolved = await resolve(request, names["owner"], names["repo"], level, unit=None)
        require_present_name(request, resolved)
        return resolved

    return resource("signed-in", scope, decide)


def of_user(scope: str, *, of_caller: bool = False) -> Policy:
    """Policy for lists of the account ``{username}``, if the caller may see it. Sets ``request.account``.

    With ``of_caller`` it requires a login.
    """

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        if of_caller:
            access.require_signed_in(request.principal)
        return await visible_account(request, connection.path_params["username"])

    return resource("read", scope, decide)


def of_organization(scope: str) -> Policy:
    """Policy for lists of the organization ``{org}``, if the caller may see it. Sets ``request.account``."""

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        row = await visible_account(request, connection.path_params["org"])
        if row.kind != AccountKind.ORGANIZATION:
            raise NotFound
        return row

    return resource("read", scope, decide)


def in_team(scope: str) -> Policy:
    """Policy for ``{team_id}``: for members of its organization and site administrators.

    Sets ``request.team``.
    """

    async def decide(connection: Connection, _level: str) -> Team:
        return await _team(cast("RepositoryRequest", connection))

    return resource("read", scope, decide)


def repository_of_team(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for ``{org}/{repo}`` below ``{team_id}``. Sets ``request.team_repository``.

    Raises NotFound unless the team belongs to the owner of the repository.
    """

    async def decide(connection: Connection, _level: str) -> TeamRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        team = await _team(request)
        repository = await resolve(request, names["org"], names["repo"], unit=None)
        if repository.row.owner_id != team.organization_id:
            raise NotFound
        return TeamRepository(team, await require_level(request, repository.row, level, unit=None))

    return resource(level, scope, decide)


def teams_of_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the teams of ``{owner}/{repo}``: for its administrators and members of the organization.

    Sets ``request.resource``.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        return await _with_teams(cast("RepositoryRequest", connection), level)

    return resource(level, scope, decide)


def named_team_of_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the team named ``{team}``, with or without access to ``{owner}/{repo}``.

    Allows repository administrators and members of the organization. Sets ``request.team_repository``.
    """

    async def decide(connection: Connection, _level: str) -> TeamRepository:
        request = cast("RepositoryRequest", connection)
        repository = await _with_teams(request, level)
        teams = await request.part(HttpIdentity).teams(
            repository.row.owner_id, name=connection.path_params["team"]
        )
        if not teams:
            raise NotFound
        return TeamRepository(teams[0], repository)

    return resource(level, scope, decide)


async def _with_teams(request: RepositoryRequest, level: access.RequiredLevel) -> ResolvedRepository:
    """Return the repository in the path, if the caller may see its teams.

    Raises the errors of ``resolve``. Raises NotAllowed if a user owns the repository.
    """
    names = request.path_params
    resolved = await resolve(request, names["owner"], names["repo"], level, unit=None)
    require_present_name(request, resolved)
    row = resolved.row
    if row.owner_kind != AccountKind.ORGANIZATION:
        raise NotAllowed("the repository belongs to a user, who has no teams", headers={"Allow": ""})
    if not access.knows_teams_of(row, resolved.level, request.principal):
        principal = await refresh_memberships(request)
        if not access.knows_teams_of(row, resolved.level, principal):
            raise Denied("only for members of the organization and administrators of the repository")
    return resolved


def require_present_name(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """Raise Moved if the path has a former name of the repository."""
    if not resolved.is_named(request.path_params["owner"], request.path_params["repo"]):
        raise request.moved(owner=resolved.row.owner_login, repo=resolved.row.name)


async def _team(request: RepositoryRequest) -> Team:
    """Return the team in the path. Raises Unauthenticated, NotFound."""
    access.require_signed_in(request.principal)
    team = await request.part(HttpIdentity).team(request.path_params["team_id"])
    if not access.knows_team(team, request.principal):
        await refresh_memberships(request)
    if not access.knows_team(team, request.principal):
        raise NotFound
    return team


def waiting_transfer(scope: str, *, for_giver: bool = False) -> Policy:
    """Policy for answering a transfer. Sets ``request.waiting_transfer``.

    The new owner, owners of the receiving organization and site administrators may call the route. They need
    no access to the repository. With ``for_giver``, callers who may transfer the repository are allowed, too.
    """

    async def decide(connection: Connection, _level: str) -> WaitingTransfer:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        viewer = access.viewer(request.principal)
        async with request.db.read() as db:
            row = await repositories.get_by_name(db, viewer, names["owner"], names["repo"])
        if row is None:
            row = await find_by_former_name(request, names["owner"], names["repo"])
        async with request.db.read() as db:
            waiting = await transfers.get(db, row.id)
        if waiting is not None and await acts_for(request, waiting.recipient_id):
            resolved = ResolvedRepository(row, access.access_to(row, request.principal))
            require_present_name(request, resolved)
            return WaitingTransfer(resolved, waiting)
        resolved = await require_level(request, row, "signed-in", unit=None)
        require_present_name(request, resolved)
        access.require_unrestricted(request.principal)
        if waiting is None:
            raise NotFound("no transfer waits for an answer")
        if for_giver and reaches(resolved.level, "owner"):
            return WaitingTransfer(resolved, waiting)
        raise Denied("only the new owner may answer the transfer")

    return resource("signed-in", scope, decide)


async def acts_for(request: RepositoryRequest, account_id: int) -> bool:
    """Return whether the caller may act for the account. Refreshes memberships before it returns False."""
    principal = request.principal
    if not access.towards_accounts(principal).signed_in:
        return False
    return access.acts_for(principal, account_id) or access.acts_for(
        await refresh_memberships(request), account_id
    )


def into_organization(scope: str) -> Policy:
    """Policy for routes below ``{org}``: for callers who may create repositories there.

    Sets ``request.account``.
    """

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        access.require_unrestricted(request.principal)
        return await organization_for_new(request, connection.path_params["org"])

    return resource("owner", scope, decide)


def owner_of_organization(scope: str) -> Policy:
    """Policy for ``{org}``, for its owners and site administrators. Sets ``request.account``."""

    async def decide(connection: Connection, _level: str) -> AccountRow:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        access.require_unrestricted(request.principal)
        row = await visible_account(request, connection.path_params["org"])
        if row.kind != AccountKind.ORGANIZATION:
            raise NotFound
        if not access.acts_for(await refresh_memberships(request), row.id):
            raise Denied("only for owners of the organization")
        return row

    return resource("owner", scope, decide)


def writable(request: RepositoryRequest) -> ResolvedRepository:
    """Return ``request.resource`` if its contents may change. Raises Denied if it is archived."""
    access.require_unarchived(request.resource.row)
    return request.resource


async def resolve(
    request: RepositoryRequest,
    owner: str,
    name: str,
    level: access.RequiredLevel = "read",
    unit: Unit | None = "code",
) -> ResolvedRepository:
    """Find a repository by current or former name and check that the caller has access at ``level``.

    ``unit`` is the unit whose access counts. Raises NotFound if the caller may not see the repository, or if
    the unit is switched off. Raises Unauthenticated or Denied if the access is lower than ``level``.
    """
    return await require_level(request, await find(request, owner, name), level, unit)


async def find(request: RepositoryRequest, owner: str, name: str) -> RepositoryRow:
    """Find a repository by current or former name, without an access check. Raises NotFound."""
    async with request.db.read() as db:
        row = await repositories.get_by_name(db, access.viewer(request.principal), owner, name)
    return row or await find_by_former_name(request, owner, name)


async def resolve_by_id(
    request: RepositoryRequest,
    repository_id: int,
    level: access.RequiredLevel = "read",
    unit: Unit | None = "code",
) -> ResolvedRepository:
    """Find a repository by id and check access like ``resolve``."""
    return await require_level(request, await find_by_id(request, repository_id), level, unit)


async def find_by_id(request: RepositoryRequest, repository_id: int) -> RepositoryRow:
    """Find a repository by id, without an access check. Raises NotFound."""
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(request.principal), repository_id)
    if row is None:
        raise NotFound
    return row


async def resolve_for_peer(request: RepositoryRequest, repository_id: int) -> ResolvedRepository:
    """Find a repository by id for a worker of another service. Raises NotFound.

    The worker acts for no user, so access is not checked.
    """
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, repository_id)
    if row is None:
        raise NotFound
    return ResolvedRepository(row, AccessLevel(level="owner"))


def require_on_disk(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """Raise an error if this shard cannot serve the files of the repository.

    Raises Unavailable while an import or fork is being fetched, and NotFound if the fetch failed. Raises
    OnAnotherShard if another shard has the files; the request is then forwarded.
    """
    row = resolved.row
    if row.state == RepositoryState.FAILED:
        raise NotFound("its commits could not be fetched")
    if row.state != RepositoryState.READY:
        raise Unavailable("its commits are on their way")
    if row.shard != request.settings.shard:
        raise OnAnotherShard(row.shard)


async def require_readable(request: RepositoryRequest, resolved: ResolvedRepository) -> None:
    """Raise OnAnotherShard unless this shard has the files of git, or a current replica of them.

    Raises the other errors of ``require_on_disk``.
    """
    try:
        require_on_disk(request, resolved)
    except OnAnotherShard as error:
        await require_replica(request, resolved.id, error)


async def refresh_memberships(request: RepositoryRequest) -> Principal:
    """Fetch the memberships of the caller and return the new principal. Updates ``request.principal``."""
    organizations = await request.part(HttpIdentity).memberships(request.principal.id)
    principal = msgspec.structs.replace(request.principal, organizations=organizations)
    request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    return principal


async def principal_of(request: RepositoryRequest, user_id: int) -> Principal:
    """Return the principal of a user other than the caller. See ``account_copies.principal_of``."""
    return await accounts.principal_of(request.part(HttpIdentity), user_id)


async def own_account(request: RepositoryRequest) -> AccountRow:
    """Return the account of the caller. Raises NotFound if it was just deleted."""
    return await request.part(AccountCopies).get(request.principal.id)


async def sender_of(request: RepositoryRequest) -> User:
    """Return the caller in the form of event payloads."""
    return as_user(await own_account(request))


async def visible_account(request: RepositoryRequest, login: str) -> AccountRow:
    """Return the named user or organization, if the caller may see it. Raises NotFound.

    For an organization without a known membership of the caller, ``request.principal`` is refreshed first.
    """
    row = await request.part(AccountCopies).get_by_login(login)
    principal = request.principal
    if row.kind == AccountKind.ORGANIZATION and principal.signed_in and row.id not in principal.organizations:
        principal = await refresh_memberships(request)
    if not access.may_see(row, access.towards_accounts(principal)):
        raise NotFound
    return row


async def organization_for_new(request: RepositoryRequest, login: str) -> AccountRow:
    """Return the named organization, if the caller may create repositories in it.

    Raises NotFound, Denied.
    """
    return await _organization(request, login, any_member=False)


async def joined_organization(request: RepositoryRequest, login: str) -> AccountRow:
    """Return the named organization, if the caller is a member. Raises NotFound, Denied."""
    return await _organization(request, login, any_member=True)


async def _organization(request: RepositoryRequest, login: str, *, any_member: bool) -> AccountRow:
    row = await request.part(AccountCopies).get_by_login(login)
    if row.kind != AccountKind.ORGANIZATION:
        raise NotFound
    if not access.may_create_in(row, request.principal, any_member=any_member):
        access.require_may_create_in(row, await refresh_memberships(request), any_member=any_member)
    return row


async def require_level(
    request: RepositoryRequest,
    row: RepositoryRow,
    required: access.RequiredLevel,
    unit: Unit | None = "code",
) -> ResolvedRepository:
    """Return the repository of ``row`` with the access of the caller. Raises the errors of ``resolve``.

    Before access is denied, memberships are fetched again from identity.
    """
    principal = request.principal
    own = access.access_to(row, principal)
    if (
        not access.suffices(own.of(unit), required)
        and row.owner_kind == AccountKind.ORGANIZATION
        and principal.signed_in
    ):
        principal = await refresh_memberships(request)
        async with request.db.read() as db:
            fresh_row = await repositories.get(db, access.viewer(principal), row.id)
        if fresh_row is None:
            raise NotFound
        row, own = fresh_row, access.access_to(fresh_row, principal)
    require_unit(row, unit)
    access.require(row, own.of(unit), required, principal)
    return ResolvedRepository(row, own)


def require_unit(row: RepositoryRow, unit: Unit | None) -> None:
    """Raise NotFound while the unit is switched off. The unit ``code`` is always on."""
    if unit and not getattr(row, f"{unit}_enabled", True):
        raise NotFound
