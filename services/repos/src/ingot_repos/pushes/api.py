"""Sessions over SSH: the repository that a key gives access to, and the pusher."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.policy import Connection, Policy
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.units import Unit
from ingot_repos.access.api.maintainers import maintained_branches
from ingot_repos.access.api.policies import (
    find,
    require_level,
    require_on_disk,
    require_readable,
    require_unit,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.wikis import CODE, WIKI, split_name, with_files
from ingot_repos.access.rules import deploy_keys
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.access.store import deploy_keys as deploy_key_store
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.protection.rules.decisions import Actor, actor_of
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.pushes.rules.ref_updates import require_changeable
from ingot_ssh.sessions import KEY_HEADER, LEVELS

FindRow = Callable[[], Awaitable[RepositoryRow]]
"""Finds the repository of a session, by name or by id; raises NotFound."""


@dataclass(frozen=True)
class SshSession:
    """A repository that a key gives access to, and the pusher with that key."""

    repository: ResolvedRepository
    pusher: Pusher


def opened_by_key(command: str = "") -> Policy:
    """Return the policy of a session of the repository in the path. Only the SSH server may call it.

    The session has the access of the user whose key is in the header, or else of the deploy key. Without
    ``command`` the path names the command.
    """

    async def decide(connection: Connection, _level: str) -> SshSession:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        level = cast("access.RequiredLevel | None", LEVELS.get(command or names["command"]))
        if level is None:
            raise NotFound
        name, unit = split_name(names["repo"])
        if unit == WIKI and command:  # a wiki has no LFS
            raise NotFound
        session = await find_session(
            request,
            partial(find, request, names["owner"], name),
            level,
            unit,
            proposes=not command and unit == CODE,
        )
        if level == "write" or command:  # sessions of LFS need its files
            require_on_disk(request, session.repository)
        else:
            await require_readable(request, session.repository)
        return session

    return Policy("service", services=("repos",), decide=decide)


async def find_session(
    request: RepositoryRequest,
    find_row: FindRow,
    level: access.RequiredLevel,
    unit: Unit = CODE,
    *,
    proposes: bool = True,
) -> SshSession:
    """Return the session of the key in the header. Raises NotFound, Denied.

    With the unit ``wiki``, return a session of the wiki, which a push creates if it does not exist.
    ``proposes``: users with read access may propose commits.
    """
    fingerprint = request.headers.get(KEY_HEADER, "")
    try:
        session = await session_of_key(request, find_row, level, fingerprint, unit)
    except Denied:
        if not proposes or level != "write":
            raise
        # `push` decides by the refs.
        session = await session_of_key(request, find_row, "signed-in", fingerprint)
        if not session.pusher.actor.id:
            raise
    if level == "write":
        access.require_unarchived(session.repository.row)
    files = await with_files(request, session.repository, unit, creates=level == "write")
    session = replace(session, repository=files)
    if level == "write":
        require_changeable(session.repository.row)
    return session


async def session_of_key(
    request: RepositoryRequest,
    find_row: FindRow,
    level: access.RequiredLevel,
    fingerprint: str,
    unit: Unit = CODE,
) -> SshSession:
    """Return the session of the user with this key, or of the deploy key. Raises NotFound, Denied.

    ``find_row`` finds the repository as that user sees it. A running session keeps its repository even if
    another repository gets its name.
    """
    refusal: NotFound | Denied = NotFound()
    try:
        user = await request.part(HttpIdentity).owner_of_ssh_key(fingerprint, used=True)
        request.scope["principal"] = user.principal  # type: ignore[typeddict-unknown-key]
        _require_writing(user.principal, level)
        repository = await require_level(request, await find_row(), level, unit)
        actor = actor_of(request.principal, repository.row, repository.access.of(unit))
        reads_pulls = repository.access.of("pulls") != "none"
        pusher = Pusher(
            request.principal.id,
            actor,
            restricted=False,
            reads_pulls=reads_pulls,
            maintained=await maintained_branches(request, repository) if unit == CODE else frozenset(),
        )
        return SshSession(repository, pusher)
    except (NotFound, Denied) as error:
        refusal = error
    row = await find_row()
    require_unit(row, unit)
    async with request.db.read() as db:
        key = await deploy_key_store.get_opening(db, row.id, fingerprint)
    if key is None or not await deploy_keys.is_valid(request.part(HttpIdentity), key):
        raise refusal
    opened = ResolvedRepository(row, access.access_of_deploy_key(level, read_only=key.read_only))
    actor = Actor(0, level=opened.level, is_deploy_key=True)
    # Events name a person: the owner, as for the deploy keys of Gitea.
    return SshSession(opened, Pusher(row.owner_id, actor, restricted=True))


def _require_writing(principal: Principal, level: access.RequiredLevel) -> None:
    """Raise Denied if the session is for a push and the key is read-only."""
    if level != "read" and not principal.may("write:repository"):
        raise Denied("the key may only read")
