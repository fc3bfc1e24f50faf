"""Routes that give a repository a new parent, at once or after acceptance."""

from dataclasses import dataclass
from typing import Any, cast

import msgspec
from litestar import post

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_contracts.limits import Name
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    find,
    in_repository,
    principal_of,
    require_level,
    require_present_name,
    sender_of,
    visible_account,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.forks import store
from ingot_repos.forks.rules import parents
from ingot_repos.forks.store import ReparentRow

NONE_WAITS = "no request for a new parent waits for an answer"


class ReparentRepoOption(msgspec.Struct, kw_only=True):
    """A request for a new parent. `new_owner` owns the new parent.

    The parent is the repository of that owner in the same network of forks. If there are several, it is the
    repository with the same name.
    """

    new_owner: Name


@dataclass(frozen=True)
class WaitingReparent:
    """A pending request for a new parent that the caller may answer, with its repository."""

    repository: ResolvedRepository
    row: ReparentRow


def waiting_reparent(*, for_asker: bool = False) -> Policy:
    """Policy for answering a request for a new parent.

    Administrators of the new parent may call the route. They need no access to the repository. With
    ``for_asker``, administrators of the repository are allowed, too.
    """

    async def decide(connection: Connection, _level: str) -> WaitingReparent:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        row = await find(request, names["owner"], names["repo"])
        async with request.db.read() as db:
            waiting = await store.get_reparent(db, row.id)
        if waiting is not None and await _administers(request, waiting.parent_id):
            resolved = ResolvedRepository(row, access.access_to(row, request.principal))
            require_present_name(request, resolved)
            return WaitingReparent(resolved, waiting)
        resolved = await require_level(request, row, "signed-in", unit=None)
        require_present_name(request, resolved)
        access.require_unrestricted(request.principal)
        if waiting is None:
            raise NotFound(NONE_WAITS)
        if for_asker and reaches(resolved.level, "admin"):
            return WaitingReparent(resolved, waiting)
        raise Denied("only administrators of the new parent may answer the request")

    return resource("signed-in", "write:repository", decide)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/reparent",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoReparent",
    tags=["repository"],
    status_code=202,
)
async def reparent(request: RepositoryRequest, data: ReparentRepoOption) -> Repository:
    """Make a repository a fork of another repository of its network.

    The change is immediate if the caller is an administrator of the new parent. Otherwise an administrator
    has to accept it. Only one request may be pending (409). If the other owner has blocked the caller, the
    request is rejected (403). A fork of the repository can be the new parent: the two change places. Pull
    requests with the former parent stay.
    """
    access.require_unrestricted(request.principal)
    row = request.resource.row
    parent = await _find_parent(request, await visible_account(request, data.new_owner))
    if await _administers(request, parent.id):
        return await _set_parent(request, request.resource, parent)
    # An administrator sees a request, so it must not be a way around a block.
    if await request.part(HttpIdentity).is_blocked(parent.owner_id, request.principal.id):
        raise Denied("the owner of the new parent has blocked you")
    async with request.db.transaction() as tx:
        await parents.request_parent(tx, row, parent, request.principal.id)
        await _audit(request, tx, request.resource, parent, state="waiting")
    return await present(request, request.resource)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/reparent/accept",
    policy=waiting_reparent(),
    operation_id="acceptRepoReparent",
    tags=["repository"],
    status_code=202,
)
async def accept_reparent(request: RepositoryRequest) -> Repository:
    """Accept a repository as a fork of a repository that the caller administers."""
    waiting = _waiting(request)
    sender = await principal_of(request, waiting.row.sender_id)
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(sender), waiting.row.repository_id)
        parent = await repositories.get_unfiltered(db, waiting.row.parent_id)
    if row is None or parent is None or not reaches(access.access_to(row, sender).level, "admin"):
        raise NotFound(NONE_WAITS)
    return await _set_parent(request, waiting.repository, parent, waiting.row)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/reparent/reject",
    policy=waiting_reparent(for_asker=True),
    operation_id="rejectRepoReparent",
    tags=["repository"],
    status_code=200,
)
async def reject_reparent(request: RepositoryRequest) -> Repository:
    """Reject or cancel a request for a new parent. Administrators of either repository may do this."""
    waiting = _waiting(request)
    async with request.db.transaction() as tx:
        await parents.end(tx, waiting.row)
        subject = waiting.repository.audit_subject
        await request.audit(tx, "repository.reparent", subject, state="rejected")
    return await present(request, waiting.repository)


async def _set_parent(
    request: RepositoryRequest,
    repository: ResolvedRepository,
    parent: RepositoryRow,
    waiting: ReparentRow | None = None,
) -> Repository:
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        if waiting is not None:
            await parents.end(tx, waiting)
        await parents.set_parent(tx, request.presenter, repository.id, parent.id, sender)
        await _audit(request, tx, repository, parent, state="done")
        changed = await repositories.get(tx, access.viewer(request.principal), repository.id)
    if changed is None:
        raise NotFound
    return await present(request, ResolvedRepository(changed, access.access_to(changed, request.principal)))


async def _find_parent(request: RepositoryRequest, owner: AccountRow) -> RepositoryRow:
    """Return the repository of ``owner`` in the network of the repository in the path.

    If ``owner`` has several, return the one with the same name. A repository that the caller may not read is
    treated as missing. Raises Invalid if there is none, or if none of several has the same name.
    """
    row = request.resource.row
    async with request.db.read() as db:
        network = await store.list_network(db, row.id)
        ids = await store.list_of_owner(db, network - {row.id}, owner.id)
        rows = await repositories.get_visible(db, access.viewer(request.principal, "code"), ids)
    related = list(rows.values())
    same_name = [one for one in related if one.name.lower() == row.name.lower()]
    if len(related) > 1 and not same_name:
        text = f"{owner.login} has several repositories of this network, and none of them is named {row.name}"
        raise Invalid.field(parents.FIELD, "ambiguous", text)
    if not related:
        text = f"{owner.login} has no other repository of this network; fork it for them first"
        raise Invalid.field(parents.FIELD, "unknown", text)
    return (same_name or related)[0]


async def _administers(request: RepositoryRequest, repository_id: int) -> bool:
    """True if the caller administers the repository. False for restricted tokens."""
    if not access.towards_accounts(request.principal).signed_in:
        return False
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(request.principal), repository_id)
    if row is None:
        return False
    try:
        resolved = await require_level(request, row, "admin", unit=None)
    except (Denied, NotFound):
        return False
    return reaches(resolved.level, "admin")


def _waiting(request: RepositoryRequest) -> WaitingReparent:
    return cast("WaitingReparent", cast("Any", request.scope)["resource"])


async def _audit(
    request: RepositoryRequest, tx: Any, repository: ResolvedRepository, parent: RepositoryRow, *, state: str
) -> None:
    to = f"{parent.owner_login}/{parent.name}"
    await request.audit(tx, "repository.reparent", repository.audit_subject, to=to, state=state)


routes = [reparent, accept_reparent, reject_reparent]
