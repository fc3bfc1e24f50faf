"""What a route of repos gets at through its request: above all the repository in the path, and access to it."""

from typing import TYPE_CHECKING, Any, cast

import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import ApiError, Denied, NotFound, Unavailable
from ingot_chassis.hop import Origin
from ingot_chassis.jobs import Jobs, Workers
from ingot_chassis.principal import Principal
from ingot_chassis.sealing import Seal
from ingot_chassis.telemetry import client_address
from ingot_contracts.identity import Account, Ownership, User
from ingot_contracts.repos import Level, Repository
from ingot_repos.api.places import Places
from ingot_repos.clients.identity import Identity
from ingot_repos.clients.proxy import Proxy
from ingot_repos.core import access
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.releases import Releasing
from ingot_repos.core.repositories import Creating, take_back
from ingot_repos.core.views import Viewing, copied, user
from ingot_repos.git.archive import Archives
from ingot_repos.git.storage import Storage
from ingot_repos.settings import Settings
from ingot_repos.store import accounts, remotes, repositories
from ingot_repos.store.accounts import AccountRow

if TYPE_CHECKING:
    from ingot_repos.api.shards import Shards

HANDED_ON = "ingot-shard"
"""The header that names the shard which handed a request on; such a request is not handed on once more."""


class Parts(msgspec.Struct, frozen=True):
    """The objects that live as long as the process."""

    identity: Identity
    storage: Storage
    archives: Archives
    viewing: Viewing
    pushes: Pushes
    creating: Creating
    releasing: Releasing
    jobs: Jobs
    workers: Workers
    migrators: Workers
    mirrorers: Workers
    seal: Seal
    shards: "Shards"
    proxy: Proxy
    places: Places
    max_push_bytes: int
    default_branch: str


class Elsewhere(Exception):
    """The files of the repository are another shard's."""

    def __init__(self, origin: Origin) -> None:
        super().__init__("on another shard")
        self.origin = origin


class Found(msgspec.Struct, frozen=True):
    """A repository in the path, and what the caller may do to it."""

    row: Any
    level: Level

    @property
    def id(self) -> int:
        return int(self.row.id)

    @property
    def full_name(self) -> str:
        return f"{self.row.owner_login}/{self.row.name}"

    def is_named(self, owner: str, name: str) -> bool:
        """False when it was found by a name that it has no more."""
        return self.full_name.lower() == f"{owner}/{name}".lower()


async def enter_repository(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of public routes: where the policy names a level, it is decided before the body is read.

    A ``unit`` that is switched off has no routes. Routes that are declared ``on_disk`` read or write git's files;
    they wait until there are some.
    """
    policy = handler.opt["policy"]
    if policy.caller == "resource":
        request, names = cast("Call", connection), connection.path_params
        owner, name = names["owner"], names["repo"]
        found = await request.repository(owner, name, policy.level, handler.opt.get("unit", ""))
        if not found.is_named(owner, name):
            raise request.moved(owner=found.row.owner_login, repo=found.row.name)
        if handler.opt.get("on_disk"):
            request.require_on_disk(found)
        request.scope["repository"] = found  # type: ignore[typeddict-unknown-key]


class Call(ApiRequest):
    """A request to repos."""

    @property
    def parts(self) -> Parts:
        return self.app.state.repos  # type: ignore[no-any-return]

    @property
    def storage(self) -> Storage:
        return self.parts.storage

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def viewing(self) -> Viewing:
        """How the caller sees things. Addresses of people are for those who are signed in."""
        return self.parts.viewing if self.who.signed_in else self.parts.viewing.outside

    @property
    def most_repositories(self) -> int:
        """How many repositories the caller may let an account have; 0: no limit."""
        return 0 if self.who.admin else self.settings.max_repositories

    def take_place(self) -> None:
        """Count this among the requests of the caller that cost a lot. Raises TooManyRequests."""
        caller = f"user {self.who.id}" if self.who.signed_in else client_address()
        self.parts.places.take(self.scope, caller)

    def rest_of_path(self, segments: int) -> str:
        """What of the path stands behind that many segments, slashes and all."""
        parts = self.scope["path"].split("/", segments + 1)
        return parts[-1].strip("/") if len(parts) == segments + 2 else ""

    @property
    def found(self) -> Found:
        """The repository in the path of a route whose policy is ``resource``."""
        return self.scope["repository"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def writable(self) -> Found:
        """The same, if its contents may change now. Raises Denied."""
        access.require_open(self.found.row)
        return self.found

    def require_on_disk(self, found: Found) -> None:
        """Raises Unavailable while the commits of a fork or a migration are on their way, NotFound if none came.

        Raises Elsewhere when they lie on another shard; the request is then handed on to it.
        """
        if found.row.state == "failed":
            raise NotFound("its commits could not be fetched")
        if found.row.state != "ready":
            raise Unavailable("its commits are on their way")
        if found.row.shard != self.settings.shard:
            if HANDED_ON in self.headers:
                raise Unavailable("the shards do not agree on where the repository lies")
            raise Elsewhere(self.parts.shards.origin(found.row.shard))

    async def repository(self, owner: str, name: str, level: access.Asked = "read", unit: str = "") -> Found:
        """The repository that has that name or had it last, if the caller reaches ``level``.

        Raises NotFound when they may not know of it or ``unit`` is switched off, then Unauthenticated, then Denied.
        """
        async with self.db.read() as db:
            row = await repositories.get_by_name(db, access.viewer(self.who), owner, name)
        if row is None:
            row = await self._at_another_name(owner, name)
        return await self._granted(row, level, unit)

    async def repository_by_id(self, repository_id: int, level: access.Asked = "read") -> Found:
        """The same, by id."""
        async with self.db.read() as db:
            row = await repositories.get(db, access.viewer(self.who), repository_id)
        if row is None:
            raise NotFound
        return await self._granted(row, level)

    async def unattended(self, repository_id: int) -> Found:
        """The same for a worker of a sister, behind which there is no person. Raises NotFound."""
        async with self.db.read() as db:
            row = await repositories.get_raw(db, repository_id)
        if row is None:
            raise NotFound
        return Found(row, "owner")

    async def _at_another_name(self, owner: str, name: str) -> Any:
        """What is found by a name that it has no more, or by that of an account that is not copied yet."""
        viewer = access.viewer(self.who)
        async with self.db.read() as db:
            row = await repositories.get_by_former_name(db, viewer, owner, name)
            known = row is not None or await accounts.get_by_login(db, owner) is not None
        if known and row is None:
            raise NotFound
        if known:
            return row
        await self.account(owner)
        async with self.db.read() as db:
            row = await repositories.get_by_name(db, viewer, owner, name)
        if row is None:
            raise NotFound
        return row

    async def _granted(self, row: Any, asked: access.Asked, unit: str = "") -> Found:
        held = access.level(row, self.who)
        if not access.suffices(held, asked) and row.owner_kind == "organization" and self.who.signed_in:
            who = await self.refreshed()
            async with self.db.read() as db:
                row = await repositories.get(db, access.viewer(who), row.id)
            if row is None:
                raise NotFound
            held = access.level(row, who)
        if unit and not getattr(row, f"{unit}_enabled"):
            raise NotFound
        access.require(row, held, asked, self.who)
        return Found(row, held)

    async def refreshed(self) -> Principal:
        """The caller with the organizations they are in now; from here on also ``who``."""
        organizations = await self.parts.identity.organizations(self.who.id)
        who = msgspec.structs.replace(self.who, organizations=organizations)
        self.scope["principal"] = who  # type: ignore[typeddict-unknown-key]
        return who

    async def account(self, login: str) -> AccountRow:
        """The user or organization of that name, copied from identity if need be. Raises NotFound."""
        async with self.db.read() as db:
            row = await accounts.get_by_login(db, login)
        return row or await self._copied(await self.parts.identity.account_by_name(login))

    async def visible_account(self, login: str) -> AccountRow:
        """The same, if the caller may know of it. Raises NotFound.

        Afterwards it is known whether the caller is in it now, if it is an organization.
        """
        row = await self.account(login)
        if row.kind == "organization" and self.who.signed_in and row.id not in self.who.organizations:
            await self.refreshed()
        if not access.is_visible(row.id, row.visibility, access.outside(self.who)):
            raise NotFound
        return row

    async def own_account(self) -> AccountRow:
        """The caller's account. Raises NotFound when it was deleted meanwhile."""
        async with self.db.read() as db:
            row = await accounts.get(db, self.who.id)
        return row or await self._copied(await self.parts.identity.account(self.who.id))

    async def _copied(self, account: Account | None) -> AccountRow:
        if account is None:
            raise NotFound
        async with self.db.transaction() as tx:
            await accounts.put(tx, copied(account))
            row = await accounts.get(tx, account.id)
        if row is None:
            raise NotFound
        return row

    async def sender(self) -> User:
        """The caller as events name them."""
        return user(await self.own_account())

    async def own(self, row: Any) -> None:
        """Tell identity whose the new repository of ``row`` is; without that nothing is left. Raises NotFound, Unavailable."""
        told = Ownership(owner_id=row.owner_id, name=row.name, private=row.private)
        try:
            await self.parts.identity.own(row.id, told)
        except ApiError:
            async with self.db.transaction() as tx:
                await take_back(tx, self.parts.jobs, self.viewing, row.id)
            raise

    async def owned_organization(self, login: str) -> AccountRow:
        """The organization of that name, if the caller owns it. Raises NotFound, Denied."""
        return await self._organization(login, must_own=True)

    async def joined_organization(self, login: str) -> AccountRow:
        """The organization of that name, if the caller is in it. Raises NotFound, Denied."""
        return await self._organization(login, must_own=False)

    async def _organization(self, login: str, *, must_own: bool) -> AccountRow:
        row = await self.account(login)
        if row.kind != "organization":
            raise NotFound
        for who in (self.who, None):
            membership = (who or await self.refreshed()).organizations.get(row.id)
            if self.who.admin or (membership and (membership.owner or not must_own)):
                return row
        if row.visibility == "private" and membership is None:
            raise NotFound
        raise Denied("only for owners of the organization" if must_own else "only for its members")

    async def view(self, found: Found) -> Repository:
        """One repository as the caller sees it."""
        return (await self.views([found.row], level=found.level))[0]

    async def views(self, rows: list[Any], *, level: Level | None = None) -> list[Repository]:
        """Repositories as the caller sees them; one statement more each if there are forks or mirrors among them."""
        parents: dict[int, Repository] = {}
        mirrors: dict[int, Any] = {}
        forked = {row.fork_of for row in rows if row.fork_of is not None}
        mirrored = [row.id for row in rows if row.mirror]
        if forked or mirrored:
            async with self.db.read() as db:
                found = await repositories.parents(db, access.viewer(self.who), forked)
                mirrors = await remotes.mirrors(db, mirrored)
            parents = {
                row.id: self.viewing.repository(row, access.level(row, self.who)) for row in found.values()
            }
        return [
            self.viewing.repository(
                row,
                level or access.level(row, self.who),
                parent=parents.get(row.fork_of or 0),
                mirror=mirrors.get(row.id),
            )
            for row in rows
        ]
