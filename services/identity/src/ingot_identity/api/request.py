"""What a route of identity reaches through its request."""

from collections.abc import Sequence
from datetime import timedelta

from ingot_chassis.db.driver import Executor
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_identity.components import Components
from ingot_identity.core import access
from ingot_identity.core.access import UserInOrganization
from ingot_identity.core.presenter import UserProfile
from ingot_identity.settings import Settings
from ingot_identity.store import follows
from ingot_identity.store.tables import AccountRow, TeamRow


class IdentityRequest(DatabaseRequest):
    """A request to identity."""

    @property
    def components(self) -> Components:
        return self.app.state.components  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def former_names_reserved_for(self) -> timedelta:
        return timedelta(days=self.settings.former_name_days)

    @property
    def account(self) -> AccountRow:
        """The account in the path of a route with the policy ``of_user``, ``of_account`` or ``own_second_factor``."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def organization(self) -> AccountRow:
        """The organization in the path of a route with the policy ``in_organization``."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def user_in_organization(self) -> UserInOrganization:
        """The user and the organization in the path of a route with the policy ``of_membership``."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def team(self) -> TeamRow:
        """The team in the path of a route with the policy ``of_team``."""
        return self.resource  # type: ignore[no-any-return]

    async def present_users(self, db: Executor, rows: Sequence[AccountRow]) -> list[UserProfile]:
        """Accounts as the caller may see them."""
        counts = await follows.list_counts(db, [row.id for row in rows])
        presenter = self.components.presenter
        return [presenter.user(row, counts.get(row.id), self.principal) for row in rows]

    async def present_user(self, db: Executor, row: AccountRow) -> UserProfile:
        """One of them."""
        return (await self.present_users(db, [row]))[0]

    async def user(self, username: str) -> AccountRow:
        """The user of that name, where the path names one beside its resource. Raises NotFound."""
        async with self.db.read() as db:
            return await access.user(db, username)
