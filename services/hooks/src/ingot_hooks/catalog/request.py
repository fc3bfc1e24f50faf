"""The request class of hooks."""

from ingot_chassis.errors import NotFound
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_contracts.identity.accounts import Account
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import HookRow, Owner
from ingot_hooks.settings import Settings


class HooksRequest(DatabaseRequest):
    """A request to hooks."""

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def resource(self) -> Repository | Account | Owner:
        """Return the repository or organization in the path, or else the owner of the hooks."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def owner(self) -> Owner:
        """Return the owner of the hooks that the path names."""
        if isinstance(self.resource, Owner):
            return self.resource
        if isinstance(self.resource, Repository):
            return Owner(repository_id=self.resource.id)
        return Owner(organization_id=self.resource.id)

    async def hook(self, hook_id: int) -> HookRow:
        """Return the hook with that id, if it belongs to the owner in the path. Raises NotFound."""
        async with self.db.read() as db:
            row = await store.get(db, self.owner, hook_id)
        if row is None:
            raise NotFound
        return row
