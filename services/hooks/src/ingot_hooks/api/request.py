"""The request class of hooks: what handlers reach through their request."""

from ingot_chassis.errors import NotFound
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_contracts.identity import Account
from ingot_contracts.repos import Repository
from ingot_hooks.components import Components
from ingot_hooks.settings import Settings
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow, Owner


class HooksRequest(DatabaseRequest):
    """A request to hooks."""

    @property
    def components(self) -> Components:
        return self.app.state.components  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def resource(self) -> Repository | Account | Owner:
        """The repository or organization in the path, for a caller who may use its hooks; else whose hooks they are."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def owner(self) -> Owner:
        """The owner of the hooks in the path."""
        if isinstance(self.resource, Owner):
            return self.resource
        if isinstance(self.resource, Repository):
            return Owner(repository_id=self.resource.id)
        return Owner(organization_id=self.resource.id)

    async def hook(self, hook_id: int) -> HookRow:
        """The hook with that id, if it belongs to the owner in the path. Raises NotFound."""
        async with self.db.read() as db:
            row = await store.get(db, self.owner, hook_id)
        if row is None:
            raise NotFound
        return row
