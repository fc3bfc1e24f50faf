"""Wiring of identity."""

from pathlib import Path

from litestar import Litestar, Router

from ingot_chassis.app import service_app
from ingot_chassis.assembly import assemble
from ingot_chassis.bus import Bus
from ingot_chassis.keys import Jwks
from ingot_chassis.peers import Peers
from ingot_chassis.stores import open_store
from ingot_identity.api import (
    admin,
    avatars,
    emails,
    follows,
    gpg_keys,
    internal,
    keys,
    members,
    organizations,
    profile,
    teams,
    tokens,
    users,
)
from ingot_identity.api.call import Call, keep_outside
from ingot_identity.consumers import Following
from ingot_identity.core import accounts, sign_ins
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.signing import SigningKeys
from ingot_identity.core.views import Viewing
from ingot_identity.settings import Settings
from ingot_identity.store.tables import metadata

SCRIPTS = Path(__file__).parent / "store" / "migrations"
PUBLIC = Router(
    path="/",
    guards=[keep_outside],
    route_handlers=[
        *admin.routes,
        *emails.routes,
        *follows.routes,
        *gpg_keys.routes,
        *keys.routes,
        *members.routes,
        *organizations.routes,
        *profile.routes,
        *teams.routes,
        *tokens.routes,
        *users.routes,
    ],
)


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of identity. It calls no other service, so ``peers`` stays empty."""

    async def own_keys() -> Jwks:
        return await signing_keys.published()

    viewing = Viewing(settings.public_url, settings.noreply_address)
    parts = assemble(
        "identity",
        settings,
        metadata=metadata,
        bus=bus,
        peers=peers,
        subscriptions=Following(viewing).subscriptions(),
        fetch_keys=own_keys,
    )
    database = parts.require_database()
    passwords = Passwords(memory_kib=settings.password_memory_kib, rounds=settings.password_rounds)
    signing_keys = SigningKeys(database, settings)
    store = open_store(settings.store_url, "identity", seconds=sign_ins.WINDOW)
    parts.close.append(store.close)

    async def first_administrator() -> None:
        if settings.admin_password:
            await accounts.ensure_administrator(
                database,
                viewing,
                passwords,
                login=settings.admin_username,
                email=settings.admin_email,
                password=settings.admin_password,
            )

    parts.start.append(first_administrator)
    parts.loops.append(("identity rotates keys", signing_keys.rotate_for_ever))
    return service_app(
        parts,
        routes=[PUBLIC, *avatars.routes, *internal.routes],
        request_class=Call,
        state={
            "signing_keys": signing_keys,
            "passwords": passwords,
            "viewing": viewing,
            "sign_ins": sign_ins.SignIns(store, free=settings.free_sign_ins),
        },
    )
