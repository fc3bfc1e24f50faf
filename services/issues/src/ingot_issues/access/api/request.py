"""The request that every route of issues gets."""

from collections.abc import Callable

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.components import AccessComponents
from ingot_issues.access.rules.repositories import (
    NEEDS_WRITE,
    RequiredLevel,
    Unit,
    in_unit,
    may_administer,
    may_edit_comment,
    may_write,
)
from ingot_issues.accounts import store as accounts
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.settings import Settings

UNIT, REQUIRED_LEVEL = "unit", "required_level"
"""Keys of the scope: unit and level of the policy that allowed the request."""


class IssuesRequest(DatabaseRequest):
    """A request to issues."""

    @property
    def access(self) -> RepositoryAccess:
        """Return the access of the caller to the repository in the path, in the unit of the route.

        ``policies.in_repository`` sets it. After ``enter``, a "numbered" unit is issues or pull requests.
        """
        return in_unit(self.whole_access, self._unit)

    @property
    def whole_access(self) -> RepositoryAccess:
        """Return the access of the caller to the repository in the path, with its levels by unit."""
        return self.resource  # type: ignore[no-any-return]

    @property
    def _unit(self) -> Unit:
        return self.scope[UNIT]  # type: ignore[literal-required,no-any-return]

    async def enter(self, *, is_pull: bool) -> None:
        """Require the access that the route needs to an issue or, with ``is_pull``, a pull request.

        Routes call it after they have read the row. Raises NotFound or Denied.
        """
        if self._unit == "numbered":
            self.scope[UNIT] = "pulls" if is_pull else "issues"  # type: ignore[literal-required]
        required: RequiredLevel = self.scope[REQUIRED_LEVEL]  # type: ignore[literal-required]
        if is_pull and not self.whole_access.pulls_enabled:
            raise NotFound
        if not await self.allowed(lambda access: reaches(access.level, "read")):
            raise NotFound
        if required == "write" and not await self.allowed(may_write):
            raise Denied(NEEDS_WRITE)

    @property
    def repository_id(self) -> int:
        return self.access.repository.id

    @property
    def components(self) -> AccessComponents:
        return self.part(AccessComponents)

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def presenter(self) -> Presenter:
        """Return the presenter. It shows e-mail addresses only to callers who are signed in."""
        return Presenter(self.public_url, show_email=self.principal.signed_in)

    async def allowed(self, may: Callable[[RepositoryAccess], bool]) -> bool:
        """Return whether ``may`` is True for the caller's access. Asks repos again before returning False."""
        if may(self.access):
            return True
        repository = self.whole_access.repository
        access = await self.components.repos.access(
            repository.owner.login, repository.name, self.principal_token
        )
        return may(in_unit(access, self._unit))

    def require_reader(self, access: RepositoryAccess) -> None:
        """Raise NotFound if ``access``, of another user, does not include the unit of the route."""
        if not reaches(in_unit(access, self._unit).level, "read"):
            raise NotFound

    async def require_own_comment(self, author_id: int, change: str = "it") -> None:
        """Raise Denied unless the caller may change a comment of ``author_id``.

        ``change`` names the changed part in the error message.
        """
        if not await self.allowed(lambda access: may_edit_comment(access, self.principal, author_id)):
            raise Denied(f"only its author and administrators of the repository may change {change}")

    async def require_unblocked(self, *author_ids: int) -> None:
        """Raise Denied if the owner of the repository, or one of the authors, blocks the caller.

        Blocks do not apply to administrators of the repository or the site. The owner trusts administrators.
        """
        caller = self.principal
        if may_administer(self.access) or caller.admin:
            return
        for account_id in (self.access.repository.owner.id, *author_ids):
            if account_id != caller.id and await self.components.identity.is_blocked(account_id, caller.id):
                raise Denied("the owner of the repository, or the author, has blocked you")

    async def context(self) -> RepositoryContext:
        """Return the repository with the caller as actor. Copies the caller's account if there is no copy."""
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
            writes_issues=may_write(in_unit(self.whole_access, "issues")),
        )
