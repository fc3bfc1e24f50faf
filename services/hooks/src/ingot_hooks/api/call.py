"""What a route of hooks gets at through its request: the owner of hooks, once the caller may."""

from datetime import timedelta

from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import NotFound
from ingot_chassis.sealing import Seal
from ingot_contracts.repos import RepositoryAccess
from ingot_hooks.bell import Bell
from ingot_hooks.clients.identity import Identity
from ingot_hooks.clients.repos import Repos
from ingot_hooks.core import access
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow, Owner


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

    async def writable(self, owner: str, name: str) -> RepositoryAccess:
        """The repository, if the caller may write to it. Raises NotFound, Unauthenticated or Denied."""
        found = await self.repos.access(owner, name, principal=self.statement)
        access.require_write(self.who, found)
        return found

    async def repository(self, owner: str, name: str) -> Owner:
        """The same repository as an owner of hooks."""
        return Owner(repository_id=(await self.writable(owner, name)).repository.id)

    async def hook(self, owner: Owner, hook_id: int) -> HookRow:
        """The hook of that owner. Raises NotFound."""
        async with self.db.read() as db:
            row = await store.get(db, owner, hook_id)
        if row is None:
            raise NotFound
        return row

    async def organization(self, login: str, *, owners_only: bool = False) -> Owner:
        """The organization, if the caller is a member (or an owner) of it. Raises NotFound or Denied."""
        account = await self.identity.account_by_name(login)
        if account.kind != "organization":
            raise NotFound
        if not access.suffices(self.who, self.who.organizations.get(account.id), owner=owners_only):
            # The principal may be older than the membership: a no is only final from identity itself.
            held = (await self.identity.memberships(self.who.id)).get(account.id)
            access.require_membership(self.who, account, held, owner=owners_only)
        return Owner(organization_id=account.id)
