"""The request class of identity."""

from collections.abc import Sequence
from datetime import timedelta

from ingot_chassis.db.driver import Executor
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_identity.accounts.components import AccountComponents
from ingot_identity.accounts.rules.edits import get_user
from ingot_identity.accounts.rules.presenter import Presenter, UserProfile
from ingot_identity.accounts.store import follows
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.settings import Settings


class IdentityRequest(DatabaseRequest):
    """A request to identity, with the account that the path names."""

    @property
    def presenter(self) -> Presenter:
        return self.part(AccountComponents).presenter

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def former_names_reserved_for(self) -> timedelta:
        return timedelta(days=self.settings.former_name_days)

    @property
    def account(self) -> AccountRow:
        """The account that the policy ``of_user``, ``of_account`` or ``own_second_factor`` found."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def organization(self) -> AccountRow:
        """The organization in the path, in routes with the policy ``in_organization``."""
        return self.resource  # type: ignore[no-any-return]

    async def present_users(self, db: Executor, rows: Sequence[AccountRow]) -> list[UserProfile]:
        """Return accounts in the form that the caller may see."""
        counts = await follows.list_counts(db, [row.id for row in rows])
        return [self.presenter.user(row, counts.get(row.id), self.principal) for row in rows]

    async def present_user(self, db: Executor, row: AccountRow) -> UserProfile:
        """Return one account in the form that the caller may see."""
        return (await self.present_users(db, [row]))[0]

    async def user(self, username: str) -> AccountRow:
        """Return the user of that name, for paths that also name another resource. Raises NotFound."""
        async with self.db.read() as db:
            return await get_user(db, username)
