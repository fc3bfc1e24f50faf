"""What a route of issues reaches through its request."""

from collections.abc import Callable

from ingot_chassis.errors import Denied
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.components import Components
from ingot_issues.core.access import may_administer, may_edit_comment
from ingot_issues.core.presenter import Presenter
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.settings import Settings
from ingot_issues.store import accounts


class IssuesRequest(DatabaseRequest):
    """A request to issues."""

    @property
    def access(self) -> RepositoryAccess:
        """What the caller may do to the repository in the path, as ``policies.in_repository`` decided."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def repository_id(self) -> int:
        return self.access.repository.id

    @property
    def components(self) -> Components:
        return self.app.state.components  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def presenter(self) -> Presenter:
        """Only a caller who is signed in gets the addresses of people."""
        return Presenter(self.public_url, show_email=self.principal.signed_in)

    async def allowed(self, may: Callable[[RepositoryAccess], bool]) -> bool:
        """Whether the caller may. Before the answer is no, repos is asked again."""
        if may(self.access):
            return True
        owner, name = self.path_params["owner"], self.path_params["repo"]
        return may(await self.components.repos.access(owner, name, self.principal_token))

    async def require_own_comment(self, author_id: int, change: str = "it") -> None:
        """Raises Denied unless the caller may change a comment of that author: its text, or what ``change`` names."""
        if not await self.allowed(lambda access: may_edit_comment(access, self.principal, author_id)):
            raise Denied(f"only its author and administrators of the repository may change {change}")

    async def require_unblocked(self, *author_ids: int) -> None:
        """Raises Denied when the owner of the repository or one of these people blocks the caller.

        Administrators of the repository, whom its owner trusts, are heard all the same.
        """
        caller = self.principal
        if may_administer(self.access) or caller.admin:
            return
        for account_id in (self.access.repository.owner.id, *author_ids):
            if account_id != caller.id and await self.components.identity.is_blocked(account_id, caller.id):
                raise Denied("the owner of the repository, or the author, has blocked you")

    async def context(self) -> RepositoryContext:
        """The repository with the caller as actor. Copies the caller's account if there is no copy."""
        copied = self.components.copied_accounts
        if self.principal.id not in copied:
            async with self.db.read() as db:
                exists = await accounts.exists(db, self.principal.id)
            if not exists:
                account = await self.components.identity.account(self.principal.id)
                async with self.db.transaction() as tx:
                    await accounts.add_missing(tx, account)
            copied[self.principal.id] = True
        return RepositoryContext(
            repository=self.access.repository,
            actor_id=self.principal.id,
            presenter=Presenter(self.public_url),
            jobs=self.components.jobs,
            restricted=self.principal.restricted_to is not None,
        )
