"""Creates the app of identity and connects its parts."""

from collections.abc import Sequence
from datetime import timedelta

from litestar import Litestar

from ingot_chassis.errors import CannotStart, Conflict, Invalid
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import Jwks
from ingot_chassis.security.own_servers import own_servers
from ingot_chassis.service import assemble
from ingot_identity.accounts import internal as account_internal
from ingot_identity.accounts.components import AccountComponents
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store.tables import metadata
from ingot_identity.actions import api as actions
from ingot_identity.authentication import internal as authentication
from ingot_identity.authentication.components import AuthenticationComponents
from ingot_identity.authentication.rules.signing_keys import SigningKeys
from ingot_identity.avatars import api as avatars
from ingot_identity.badges import api as badges
from ingot_identity.blocks import api as blocks
from ingot_identity.blocks import internal as block_internal
from ingot_identity.deletions import api as deletions
from ingot_identity.deletions import internal as deletion_internal
from ingot_identity.deletions.events import EventSubscriptions
from ingot_identity.directories import jobs as directory_jobs
from ingot_identity.directories.clients.ldap import Directories
from ingot_identity.directories.rules.sign_ins import DirectoryPasswords
from ingot_identity.directories.rules.synchronization import Synchronization
from ingot_identity.emails import internal as email_internal
from ingot_identity.emails.api import admin as email_admin
from ingot_identity.emails.api import own as emails
from ingot_identity.follows import api as follows
from ingot_identity.invitations import api as invitations
from ingot_identity.invitations import internal as invitation_internal
from ingot_identity.invitations import jobs as invitation_jobs
from ingot_identity.invitations.components import InvitationComponents
from ingot_identity.keys import internal as key_internal
from ingot_identity.keys.api import gpg as gpg_keys
from ingot_identity.keys.api import ssh as ssh_keys
from ingot_identity.mappings import api as mappings
from ingot_identity.members import api as members
from ingot_identity.members import internal as member_internal
from ingot_identity.messages import jobs as message_jobs
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.rules import Messages
from ingot_identity.networks import jobs as network_jobs
from ingot_identity.oauth2 import jobs as oauth2_jobs
from ingot_identity.oauth2.api import applications as oauth2_applications
from ingot_identity.oauth2.api import grants as oauth2_grants
from ingot_identity.oauth2.api import tokens as oauth2_tokens
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.rules import built_in
from ingot_identity.oauth2.rules.id_token_keys import IdTokenKeys
from ingot_identity.organizations import internal as organization_internal
from ingot_identity.organizations.api import admin as organization_admin
from ingot_identity.organizations.api import profiles as organizations
from ingot_identity.passkeys.rules.ceremonies import Passkeys
from ingot_identity.passwords import api as passwords
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.passwords.rules import throttle as throttling
from ingot_identity.passwords.rules.hashing import Passwords
from ingot_identity.passwords.rules.proofs import PasswordChecks
from ingot_identity.passwords.rules.quotas import NetworkQuota
from ingot_identity.passwords.store import open_values
from ingot_identity.providers.clients.http import ProviderHttp
from ingot_identity.providers.clients.metadata import PublishedMetadata
from ingot_identity.providers.components import ProviderComponents
from ingot_identity.providers.rules.requests import Envelope, PersonReader
from ingot_identity.recovery import internal as recovery_internal
from ingot_identity.recovery.api import addresses as address_confirmation
from ingot_identity.recovery.api import passwords as forgotten_passwords
from ingot_identity.recovery.components import MOST_REQUESTS, RecoveryComponents
from ingot_identity.registrations import jobs as registration_jobs
from ingot_identity.registrations.api import admin as registration_admin
from ingot_identity.registrations.api import invited, sign_up
from ingot_identity.registrations.components import MOST_REGISTRATIONS, RegistrationComponents
from ingot_identity.registrations.rules.admission import Admission
from ingot_identity.registrations.rules.work import WorkChallenges
from ingot_identity.reverse_proxies import internal as reverse_proxy_internal
from ingot_identity.reverse_proxies.components import ReverseProxyComponents
from ingot_identity.scim import jobs as scim_jobs
from ingot_identity.scim.api import discovery as scim_discovery
from ingot_identity.scim.api import groups as scim_groups
from ingot_identity.scim.api import tokens as scim_tokens
from ingot_identity.scim.api import users as scim_users
from ingot_identity.sessions import api as sessions
from ingot_identity.sessions import jobs as session_jobs
from ingot_identity.settings import Settings
from ingot_identity.sign_in.api import enrolments, oidc_logouts
from ingot_identity.sign_in.api import oidc as oidc_sign_in
from ingot_identity.sign_in.api import pages as sign_in
from ingot_identity.sign_in.api import passkeys as passkey_sign_in
from ingot_identity.sign_in.api import proofs as sign_in_proofs
from ingot_identity.sources.api import admin as source_admin
from ingot_identity.sources.components import SourceComponents
from ingot_identity.sources.rules.declarations import read_declared
from ingot_identity.sources.rules.sources import Secrets, declare
from ingot_identity.teams import api as teams
from ingot_identity.teams import internal as team_internal
from ingot_identity.tokens import api as tokens
from ingot_identity.two_factors import api as two_factors
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.codes import TwoFactors
from ingot_identity.two_factors.rules.proofs import SignIns
from ingot_identity.users import jobs as user_jobs
from ingot_identity.users import rules as user_rules
from ingot_identity.users.api import admin as user_admin
from ingot_identity.users.api import lists as user_lists
from ingot_identity.users.api import profiles as users
from ingot_identity.users.api import settings as user_settings

ROTATE_EVERY = timedelta(hours=1)
ROUTES = [
    *account_internal.routes,
    *actions.routes,
    *address_confirmation.routes,
    *authentication.routes,
    *avatars.routes,
    *badges.routes,
    *block_internal.routes,
    *blocks.routes,
    *deletion_internal.routes,
    *deletions.routes,
    *email_admin.routes,
    *email_internal.routes,
    *emails.routes,
    *follows.routes,
    *forgotten_passwords.routes,
    *gpg_keys.routes,
    *invitation_internal.routes,
    *invitations.routes,
    *invited.routes,
    *key_internal.routes,
    *mappings.routes,
    *member_internal.routes,
    *members.routes,
    *oauth2_applications.routes,
    *oauth2_grants.routes,
    *oauth2_tokens.routes,
    *organization_admin.routes,
    *organization_internal.routes,
    *organizations.routes,
    *passwords.routes,
    *recovery_internal.routes,
    *registration_admin.routes,
    *reverse_proxy_internal.routes,
    *scim_discovery.routes,
    *scim_groups.routes,
    *scim_tokens.routes,
    *scim_users.routes,
    *sessions.routes,
    *sign_up.routes,
    *oidc_sign_in.routes,
    *oidc_logouts.routes,
    *passkey_sign_in.routes,
    *sign_in_proofs.routes,
    *enrolments.routes,
    *sign_in.routes,
    *source_admin.routes,
    *ssh_keys.routes,
    *team_internal.routes,
    *teams.routes,
    *tokens.routes,
    *two_factors.routes,
    *user_admin.routes,
    *user_lists.routes,
    *user_settings.routes,
    *users.routes,
]


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    own_urls: Sequence[str] | None = None,
) -> Litestar:
    """Return the app of identity. It calls no other service, so ``peers`` stays empty. Raises SettingsError.

    ``own_urls``: URLs of Ingot; None means the URLs in the settings.
    """

    async def own_keys() -> Jwks:
        return await signing_keys.published()

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
    values = open_values(settings.store_url, "identity", seconds=throttling.WINDOW)
    hashing = Passwords(
        memory_kib=settings.password_memory_kib,
        rounds=settings.password_rounds,
        length=settings.password_length,
    )
    throttle = throttling.SignInThrottle(values, free=settings.free_sign_ins)
    signing_keys = SigningKeys(database, settings)
    id_token_keys = IdTokenKeys(database, settings)
    secrets, declared = Secrets(settings.sealing_key), read_declared(settings.sources)
    own = own_servers(settings, (), own_urls, ())
    http = ProviderHttp(settings.allowed_providers, own, authorities=settings.provider_authorities)
    published = PublishedMetadata(http)
    directories = Directories(settings.allowed_directories, own)
    directory_passwords = DirectoryPasswords(
        database, presenter, secrets, directories, avatar_bytes=settings.avatar_bytes
    )
    components = Parts(
        AccountComponents(presenter),
        PasswordComponents(PasswordChecks(hashing, throttle, directory_passwords)),
        TwoFactorComponents(
            SignIns(
                hashing,
                throttle,
                directory_passwords,
                TwoFactors(settings),
                Passkeys(settings),
                settings.second_factor_required,
            )
        ),
        AuthenticationComponents(signing_keys),
        SourceComponents(secrets),
        ProviderComponents(published, PersonReader(http, published), Envelope(settings.sealing_key)),
        MessageComponents(Messages(settings.sealing_key, settings.public_url, is_on=settings.sends_mail)),
        InvitationComponents(may_register=settings.invitations_register),
        RegistrationComponents(
            NetworkQuota(values, most=MOST_REGISTRATIONS),
            Admission(settings.registration, settings.registration_domains, sends_mail=settings.sends_mail),
            WorkChallenges(settings.sealing_key, values, bits=settings.registration_work_bits),
        ),
        ReverseProxyComponents(settings.proxy_first_sign_in, is_on=settings.proxy_sign_ins),
        RecoveryComponents(NetworkQuota(values, most=MOST_REQUESTS)),
        OAuth2Components(id_token_keys, issuer=settings.public_url.rstrip("/")),
    )

    async def first_administrator() -> None:
        if not settings.admin_password:
            return
        try:
            await user_rules.ensure_administrator(
                database,
                presenter,
                hashing,
                login=settings.admin_username,
                email=settings.admin_email,
                password=settings.admin_password,
            )
        except Invalid as error:
            raise CannotStart(
                f"INGOT_IDENTITY_ADMIN_…: the first administrator cannot be created: {error}"
            ) from error

    async def built_in_applications() -> None:
        async with database.transaction() as tx:
            await built_in.register(tx, enabled=settings.git_clients_enabled)

    async def sources_of_settings() -> None:
        try:
            async with database.transaction() as tx:
                await declare(tx, secrets, declared)
        except (Conflict, Invalid) as error:
            raise CannotStart(f"INGOT_IDENTITY_SOURCES: {error}") from error

    parts.subscribe(EventSubscriptions(presenter).subscriptions())
    parts.close += [values.close, directories.close]
    parts.start += [first_administrator, built_in_applications, sources_of_settings]
    parts.tasks += [
        PeriodicTask("identity_rotate_signing_keys", ROTATE_EVERY, signing_keys.rotate),
        PeriodicTask("identity_rotate_id_token_keys", ROTATE_EVERY, id_token_keys.rotate),
        *directory_jobs.tasks(database, Synchronization(database, presenter, secrets, directories)),
        *invitation_jobs.tasks(database),
        *message_jobs.tasks(database),
        *network_jobs.tasks(database),
        *oauth2_jobs.tasks(database),
        *registration_jobs.tasks(database),
        *session_jobs.tasks(database),
        *scim_jobs.tasks(database, presenter),
        *user_jobs.tasks(database),
    ]
    return service_app(
        parts,
        routes=ROUTES,
        request_class=IdentityRequest,
        state={PARTS: components},
    )
