"""What a route of identity gets at through its request."""

from typing import Any, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.principal import ANONYMOUS, Principal
from ingot_identity.core import organizations
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.sign_ins import SignIns
from ingot_identity.core.signing import SigningKeys
from ingot_identity.core.views import Viewing
from ingot_identity.settings import Settings
from ingot_identity.store import accounts
from ingot_identity.store import organizations as store
from ingot_identity.store.accounts import AccountRow

OWN = "/api/v1/user"
"""Where the caller's own account is."""


async def keep_outside(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of public routes, where a token that is restricted to repositories has nothing of its own.

    It reads its owner's account, and else what anybody may read. What it may not change is refused before.
    """
    who: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
    if who.confined_to is None:
        return
    if handler.opt["policy"].caller == "anyone":
        connection.scope["principal"] = ANONYMOUS  # type: ignore[typeddict-unknown-key]
    elif not all(path == OWN or path.startswith(f"{OWN}/") for path in handler.paths):
        raise Denied("the token is restricted to repositories")


async def enter_as_owner(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """The guard of what owners of the organization in the path do, so that others learn nothing from their bodies.

    The use case asks again, inside its transaction.
    """
    request = cast("Call", connection)
    organization = await request.organization(connection.path_params["org"])
    async with request.db.read() as db:
        await organizations.require_owner(db, request.who, organization.id)


class Call(ApiRequest):
    """A request to identity."""

    @property
    def passwords(self) -> Passwords:
        return self.app.state.passwords  # type: ignore[no-any-return]

    @property
    def signing_keys(self) -> SigningKeys:
        return self.app.state.signing_keys  # type: ignore[no-any-return]

    @property
    def sign_ins(self) -> SignIns:
        return self.app.state.sign_ins  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def viewing(self) -> Viewing:
        return self.app.state.viewing  # type: ignore[no-any-return]

    async def user(self, username: str) -> AccountRow:
        """The user of that name. Raises NotFound."""
        return await self._account(username, "user")

    async def organization(self, login: str) -> AccountRow:
        """The organization of that name, if the caller may know of it. Raises NotFound."""
        row = await self._account(login, "organization")
        if row.visibility == "public" or self.who.admin:
            return row
        if row.visibility == "limited" and self.who.signed_in:
            return row
        async with self.db.read() as db:
            if not await store.is_member(db, row.id, self.who.id):
                raise NotFound
        return row

    async def _account(self, login: str, kind: str) -> AccountRow:
        async with self.db.read() as db:
            row = await accounts.get_by_login(db, login)
        if row is None or row.kind != kind:
            raise NotFound
        return row
