"""What a route of issues gets at through its request, and the guard that decides who gets in."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any, cast

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

MOST_ASSIGNEES = 10
KNOWN_ACCOUNTS = 10_000


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
    repository = access.repository
    if repository.full_name.lower() != f"{owner}/{name}".lower():  # renamed, or another's now
        raise cast("Call", connection).moved(owner=repository.owner.login, repo=repository.name)
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
        known: OrderedDict[int, None] = self.app.state.known_accounts
        if self.who.id not in known:
            async with self.db.read() as db:
                copied = await accounts.get(db, self.who.id) is not None
            if not copied:
                account = await self.identity.account(self.who.id)
                async with self.db.transaction() as tx:
                    await accounts.add_missing(tx, account)
            known[self.who.id] = None
            if len(known) > KNOWN_ACCOUNTS:
                known.popitem(last=False)
        confined = self.who.confined_to is not None
        return Site(self.access.repository, self.who.id, Viewing(self.public_url), self.jobs, confined)

    async def assignable(self, logins: list[str], held: Collection[int] = ()) -> list[int]:
        """The ids of people who may be assigned, copied if they were not.

        Raises Invalid for a name that is nobody's and for who may not read the repository. Who is among ``held``
        is assigned already.
        """
        if len(logins) > MOST_ASSIGNEES:
            raise Invalid.field("assignees", "length", f"are more than {MOST_ASSIGNEES}")
        async with self.db.read() as db:
            known = await accounts.users_by_login(db, logins)
        for login in logins:
            if login.lower() not in known:
                known[login.lower()] = await self._copied(login)
        ids = list(dict.fromkeys(known[login.lower()] for login in logins))
        await asyncio.gather(
            *(self._require_reader(found) for found in ids if found not in held and found != self.who.id)
        )
        return ids

    async def _copied(self, login: str) -> int:
        try:
            account = await self.identity.account_named(login)
        except NotFound:
            raise Invalid.field("assignee", "unknown", f"{login!r} is no user") from None
        if account.kind != "user":
            raise Invalid.field("assignee", "unknown", f"{login!r} is no user")
        async with self.db.transaction() as tx:
            await accounts.save(tx, account)
        return account.id

    async def _require_reader(self, account_id: int) -> None:
        try:
            await self.repos.access_of_by_id(account_id, self.repository_id)
        except NotFound:
            raise Invalid.field("assignee", "access", "has no access to the repository") from None

    async def issue(self, number: int) -> IssueRow:
        """The issue or pull request of that number, with its surroundings. Raises NotFound."""
        async with self.db.read() as db:
            row = await issues.get_whole(db, self.repository_id, number)
        if row is None or (row.is_pull and not self.access.pulls_enabled):
            raise NotFound
        return row
