"""Puts the app of identity together."""

from datetime import timedelta

from litestar import Litestar

from ingot_chassis.errors import CannotStart, Invalid
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import Jwks
from ingot_chassis.service import assemble
from ingot_identity.api import (
    action_variables,
    admin,
    admin_lists,
    avatars,
    blocks,
    emails,
    follows,
    gpg_keys,
    internal,
    internal_relations,
    members,
    oauth2_applications,
    oauth2_authorize,
    oauth2_grants,
    oauth2_tokens,
    organizations,
    passwords,
    sessions,
    ssh_keys,
    teams,
    tokens,
    two_factors,
    user_settings,
    users,
)
from ingot_identity.api.request import IdentityRequest
from ingot_identity.components import Components
from ingot_identity.consumers import EventSubscriptions
from ingot_identity.core import accounts, oauth2_flow, sign_in_throttle
from ingot_identity.core.credentials import SignIns
from ingot_identity.core.id_token_keys import IdTokenKeys
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.presenter import Presenter
from ingot_identity.core.signing_keys import SigningKeys
from ingot_identity.core.two_factors import TwoFactors
from ingot_identity.settings import Settings
from ingot_identity.store import list_counts
from ingot_identity.store.expiring_values import open_values
from ingot_identity.store.tables import metadata

ADD_UP_EVERY = timedelta(minutes=1)
ROUTES = [
    *action_variables.routes,
    *admin.routes,
    *admin_lists.routes,
    *avatars.routes,
    *blocks.routes,
    *emails.routes,
    *follows.routes,
    *gpg_keys.routes,
    *internal.routes,
    *internal_relations.routes,
    *members.routes,
    *oauth2_applications.routes,
    *oauth2_authorize.routes,
    *oauth2_grants.routes,
    *oauth2_tokens.routes,
    *organizations.routes,
    *passwords.routes,
    *sessions.routes,
    *ssh_keys.routes,
    *teams.routes,
    *tokens.routes,
    *two_factors.routes,
    *user_settings.routes,
    *users.routes,
]


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of identity. It calls no other service, so ``peers`` stays empty. Raises SettingsError."""

    async def own_keys() -> Jwks:
        return await components.signing_keys.published()

    presenter = Presenter(settings.public_url, settings.noreply_address)
    parts = assemble(
        "identity",
        settings,
        metadata=metadata,
        bus=bus,
        peers=peers,
        fetch_keys=own_keys,
    )
    database = parts.require_database()
    values = open_values(settings.store_url, "identity", seconds=sign_in_throttle.WINDOW)
    components = Components(
        presenter=presenter,
        sign_ins=SignIns(
            passwords=Passwords(
                memory_kib=settings.password_memory_kib,
                rounds=settings.password_rounds,
                length=settings.password_length,
            ),
            throttle=sign_in_throttle.SignInThrottle(values, free=settings.free_sign_ins),
            two_factors=TwoFactors(settings),
        ),
        signing_keys=SigningKeys(database, settings),
        id_token_keys=IdTokenKeys(database, settings),
        issuer=settings.public_url.rstrip("/"),
    )

    async def delete_expired_sign_ins() -> None:
        async with database.transaction() as tx:
            await oauth2_flow.remove_expired(tx)

    async def recount_lists() -> None:
        async with database.transaction() as tx:
            await list_counts.recount(tx)

    async def add_up_list_counts() -> None:
        async with database.transaction() as tx:
            await list_counts.add_up(tx)

    async def first_administrator() -> None:
        if not settings.admin_password:
            return
        try:
            await accounts.ensure_administrator(
                database,
                presenter,
                components.sign_ins.passwords,
                login=settings.admin_username,
                email=settings.admin_email,
                password=settings.admin_password,
            )
        except Invalid as error:
            raise CannotStart(
                f"INGOT_IDENTITY_ADMIN_…: the first administrator cannot be created: {error}"
            ) from error

    parts.subscribe(EventSubscriptions(presenter).subscriptions())
    parts.close.append(values.close)
    parts.start.append(first_administrator)
    parts.tasks.append(
        PeriodicTask("identity_rotate_signing_keys", timedelta(hours=1), components.signing_keys.rotate)
    )
    parts.tasks.append(
        PeriodicTask("identity_rotate_id_token_keys", timedelta(hours=1), components.id_token_keys.rotate)
    )
    parts.tasks.append(PeriodicTask("identity_delete_expired_sign_ins", CLEANUP, delete_expired_sign_ins))
    parts.tasks.append(PeriodicTask("identity_recount", CLEANUP, recount_lists))
    parts.tasks.append(PeriodicTask("identity_add_up_counts", ADD_UP_EVERY, add_up_list_counts))
    return service_app(parts, routes=ROUTES, request_class=IdentityRequest, state={"components": components})
