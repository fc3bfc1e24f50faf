"""What a route of issues gets at through its request, and the guard that decides who gets in."""

from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_chassis.jobs import Jobs
from ingot_chassis.principal import PRINCIPAL_HEADER
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.clients.identity import Identity
from ingot_issues.clients.repos import Repos
from ingot_issues.core.access import require
from ingot_issues.core.site import Site
from ingot_issues.core.views import Viewing
from ingot_issues.store import accounts, issues
from ingot_issues.store.issues import IssueRow


async def enter_repository(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of every route below a repository: decides before the body is read.

    What is remembered is good for letting in; before refusing, repos is asked anew.
    """
    repos: Repos = connection.app.state.repos
    who, statement = connection.scope["principal"], connection.headers.get(PRINCIPAL_HEADER, "")  # type: ignore[typeddict-item]
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    asked, unit = handler.opt["policy"].level, handler.opt.get("unit", "")
    access = repos.remembered(owner, name, statement)
    if access is None or not _allows(access, who, asked, unit):
        access = await repos.access(owner, name, statement)
    require(access, who, asked, unit)
    connection.scope["repository_access"] = access  # type: ignore[typeddict-unknown-key]


def _allows(access: RepositoryAccess, who: Any, asked: Any, unit: Any) -> bool:
    try:
        require(access, who, asked, unit)
    except ApiError:
        return False
    return True


class Call(ApiRequest):
    """A request to issues."""

    @property
    def access(self) -> RepositoryAccess:
        """What the caller may do to the repository in the path."""
        return self.scope["repository_access"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def repository_id(self) -> int:
        return self.access.repository.id

    @property
    def repos(self) -> Repos:
        return self.app.state.repos  # type: ignore[no-any-return]

    @property
    def identity(self) -> Identity:
        return self.app.state.identity  # type: ignore[no-any-return]

    @property
    def jobs(self) -> Jobs:
        return self.app.state.jobs  # type: ignore[no-any-return]

    @property
    def viewing(self) -> Viewing:
        """Addresses of people are for people who are signed in."""
        return Viewing(self.public_url, show_email=self.who.signed_in)

    async def allowed(self, may: Callable[[RepositoryAccess], bool]) -> bool:
        """Whether the caller may; a *no* only after asking repos anew."""
        if may(self.access):
            return True
        owner, name = self.path_params["owner"], self.path_params["repo"]
        return may(await self.repos.access(owner, name, self.statement))

    async def site(self) -> Site:
        """The repository with the caller, whose account is copied if it was not."""
        async with self.db.read() as db:
            known = await accounts.get(db, self.who.id) is not None
        if not known:
            account = await self.identity.account(self.who.id)
            async with self.db.transaction() as tx:
                await accounts.add_missing(tx, account)
        return Site(self.access.repository, self.who.id, Viewing(self.public_url))

    async def people(self, logins: list[str], field: str = "assignees") -> list[int]:
        """The ids of users by name, copied if they were not. Raises Invalid for a name that is nobody's."""
        async with self.db.read() as db:
            known = await accounts.users_by_login(db, logins)
        for login in logins:
            if login.lower() in known:
                continue
            try:
                account = await self.identity.account_named(login)
            except NotFound:
                raise Invalid.field(field, "unknown", f"{login!r} is no user") from None
            if account.kind != "user":
                raise Invalid.field(field, "unknown", f"{login!r} is no user")
            async with self.db.transaction() as tx:
                await accounts.save(tx, account)
            known[login.lower()] = account.id
        return list(dict.fromkeys(known[login.lower()] for login in logins))

    async def issue(self, number: int) -> IssueRow:
        """The issue or pull request of that number. Raises NotFound."""
        async with self.db.read() as db:
            row = await issues.get(db, self.repository_id, number)
        if row is None:
            raise NotFound
        return row
