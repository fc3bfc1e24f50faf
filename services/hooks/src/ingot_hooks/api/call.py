"""What a route of hooks gets at through its request, and the guards that decide who gets in.

They run before the body is read, and leave what the hooks in the path belong to: a repository or an organization.
"""

from datetime import timedelta
from typing import Any, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import NotFound, Unauthenticated
from ingot_chassis.principal import PRINCIPAL_HEADER, Principal
from ingot_chassis.sealing import Seal
from ingot_contracts.identity import Account
from ingot_contracts.repos import Repository
from ingot_hooks.bell import Bell
from ingot_hooks.clients.identity import Identity
from ingot_hooks.clients.repos import Repos
from ingot_hooks.core import access
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow, Owner

Connection = ASGIConnection[Any, Any, Any, Any]


async def enter_repository(connection: Connection, _handler: BaseRouteHandler) -> None:
    """The guard of every route below a repository, which are for those who may write to it."""
    repos: Repos = connection.app.state.repos
    who: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
    statement = connection.headers.get(PRINCIPAL_HEADER, "")
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    found = await repos.access(owner, name, principal=statement)
    access.require_write(who, found)
    repository = found.repository
    if repository.full_name.lower() != f"{owner}/{name}".lower():  # renamed, or another's now
        raise cast("Call", connection).moved(owner=repository.owner.login, repo=repository.name)
    connection.scope["hooked"] = found.repository  # type: ignore[typeddict-unknown-key]


async def enter_organization(connection: Connection, handler: BaseRouteHandler) -> None:
    """The guard of every route below an organization: for its owners, and for all members if it says ``members``."""
    identity: Identity = connection.app.state.identity
    who: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
    if not who.signed_in:
        raise Unauthenticated("sign in to do that")
    account = await identity.account_by_name(connection.path_params["org"])
    if account.kind != "organization":
        raise NotFound
    owner = not handler.opt.get("members", False)
    if not access.suffices(who, who.organizations.get(account.id), owner=owner):
        # The principal may be older than the membership: a no is only final from identity itself.
        held = (await identity.memberships(who.id)).get(account.id)
        access.require_membership(who, account, held, owner=owner)
    connection.scope["hooked"] = account  # type: ignore[typeddict-unknown-key]


class Call(ApiRequest):
    """A request to hooks."""

    @property
    def identity(self) -> Identity:
        return self.app.state.identity  # type: ignore[no-any-return]

    @property
    def repos(self) -> Repos:
        return self.app.state.repos  # type: ignore[no-any-return]

    @property
    def seal(self) -> Seal:
        return self.app.state.seal  # type: ignore[no-any-return]

    @property
    def bell(self) -> Bell:
        return self.app.state.bell  # type: ignore[no-any-return]

    @property
    def rotation(self) -> timedelta:
        """How long a replaced secret goes on signing."""
        return timedelta(hours=self.app.state.settings.rotation_hours)

    @property
    def hooked(self) -> Repository | Account:
        """What the hooks in the path belong to."""
        return self.scope["hooked"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def owner(self) -> Owner:
        if isinstance(self.hooked, Repository):
            return Owner(repository_id=self.hooked.id)
        return Owner(organization_id=self.hooked.id)

    async def hook(self, hook_id: int) -> HookRow:
        """The hook of that number, if it belongs there. Raises NotFound."""
        async with self.db.read() as db:
            row = await store.get(db, self.owner, hook_id)
        if row is None:
            raise NotFound
        return row
