"""Users of a source: creation, changes, deactivation and deletion.

An account is found only by the id of the person at the source. A client changes only accounts that are linked
with its source, and no administrator whom this site appointed. The name, the full name and the address follow
the source only if it is the source of the account.
"""

from collections.abc import Callable

from ingot_chassis.db.audit import add_entry
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.operations import Detail
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.store import former_names
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import rules as emails
from ingot_identity.oauth2.rules import flow
from ingot_identity.scim.rules.errors import ScimError, Taken, VersionMismatch
from ingot_identity.scim.rules.people import ScimPerson, checked_email, read_person, values_of
from ingot_identity.scim.rules.provisioning import SourceClient, end_rights, lock_name
from ingot_identity.scim.store import users as store
from ingot_identity.scim.store.tables import ScimUserRow
from ingot_identity.sources.rules.identities import keep_restriction
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import IdentityRow
from ingot_identity.users import rules as users


async def create(client: SourceClient, person: ScimPerson) -> ScimUserRow:
    """Create a user, with a new account or the account that is linked with the id of the person.

    The user is in no group yet. A restriction from the source is kept, as if an administrator had set it.

    Raises ScimError, Taken, Denied.
    """
    if not person.external_id:
        raise ScimError("invalidValue", "externalId is required: the id by which the person signs in")
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        await accounts.lock_administrators(tx)
        identity = await identities.get(tx, source.id, person.external_id)
        account = await _create_account(tx, client, person) if identity is None else None
        identity = identity or await identities.get(tx, source.id, person.external_id)
        if identity is None:
            raise NotFound
        is_new = account is not None
        account = account or await _lock_account(tx, identity)
        if not await store.add(tx, identity.id, source.id, **person.columns()):
            raise Taken("the source has a user with this userName or externalId")
        await identities.change(tx, identity.id, managed=True)
        await keep_restriction(tx, identity)
        if not is_new:
            account = await _follow(tx, client, account, None, person)
        await _set_active(tx, client, identity, account, active=person.active)
        row = await _get(tx, source.id, identity.id)
        details: dict[str, Detail] = {"source": source.name, "id": account.id, "new": is_new}
        await add_entry(tx, actor, "scim_user.create", f"user {row.login}", details)
        return row


async def replace(
    client: SourceClient,
    identity_id: int,
    change: Callable[[ScimUserRow], ScimPerson],
    *,
    version: int | None = None,
) -> ScimUserRow:
    """Replace a user by ``change(row)``, a person. Raises ScimError, Taken, Denied, NotFound.

    Raises VersionMismatch unless the user has ``version``.
    """
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        await accounts.lock_administrators(tx)
        row = await _get(tx, source.id, identity_id)
        if version is not None and row.version != version:
            raise VersionMismatch
        person = change(row)
        if person.external_id not in ("", row.external_id):
            raise ScimError("mutability", "externalId cannot be changed: the person signs in by it")
        if await store.id_by_user_name(tx, source.id, person.user_name) not in (None, identity_id):
            raise Taken("the source has another user with this userName")
        identity = await _link_of(tx, row)
        account = await _lock_account(tx, identity)
        await store.change(tx, identity_id, **person.columns())
        account = await _follow(tx, client, account, read_person(values_of(row)), person)
        await _set_active(tx, client, identity, account, active=person.active)
        changed = await _get(tx, source.id, identity_id)
        details: dict[str, Detail] = {"source": source.name, "active": changed.active}
        await add_entry(tx, actor, "scim_user.edit", f"user {changed.login}", details)
        return changed


async def delete(client: SourceClient, identity_id: int, *, version: int | None = None) -> None:
    """Deactivate the account of a user, remove rights from its groups, and delete the user.

    The account keeps its link, so the same person gets it back. A restriction stays, and only an
    administrator ends it. Raises the errors of ``replace``.
    """
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        await accounts.lock_administrators(tx)
        row = await _get(tx, source.id, identity_id)
        if version is not None and row.version != version:
            raise VersionMismatch
        identity = await _link_of(tx, row)
        account = await _lock_account(tx, identity)
        await _set_active(tx, client, identity, account, active=False)
        await store.remove(tx, identity_id)
        await identities.change(tx, identity_id, managed=False)
        await keep_restriction(tx, identity)
        await add_entry(tx, actor, "scim_user.delete", f"user {row.login}", {"source": source.name})
    await end_rights(client, row.account_id)


async def _get(tx: Tx, source_id: int, identity_id: int) -> ScimUserRow:
    row = await store.get(tx, source_id, identity_id)
    if row is None:
        raise NotFound
    return row


async def _link_of(tx: Tx, row: ScimUserRow) -> IdentityRow:
    identity = await identities.get_of_account(tx, row.account_id, row.source_id)
    if identity is None:
        raise NotFound
    return identity


async def _lock_account(tx: Tx, identity: IdentityRow) -> AccountRow:
    """Return the account, locked. Raises Denied for an administrator not appointed by the source's groups."""
    account = await lock_for_update(tx, identity.account_id)
    if account.admin and not identity.gave_admin:
        raise Denied("the account is an administrator of this site, whom only this site changes")
    return account


async def _create_account(tx: Tx, client: SourceClient, person: ScimPerson) -> AccountRow:
    """Create the account of a person. Raises ScimError, Taken."""
    login = await _free_login(tx, person)
    email = person.email or checked_email(person.user_name)
    try:
        return await users.create_user(
            tx,
            client.presenter,
            login=login,
            email=email,
            email_confirmed=client.config.trust_email,
            password_hash="",
            full_name=person.full_name,
            source_id=client.source.id,
            login_name=person.external_id,
        )
    except Invalid as error:
        raise _as_taken(error) from error


async def _free_login(tx: Tx, person: ScimPerson, account_id: int = 0) -> str:
    """Return the best name that the account has or may have. Raises ScimError."""
    for login in names.login_candidates(person.user_name):
        try:
            names.check_login(login)
        except Invalid:
            continue
        row = await accounts.get_by_login(tx, login)
        reserved = await former_names.get(tx, login)
        if {holder for holder in (row and row.id, reserved and reserved.account_id) if holder} <= {
            account_id
        }:
            return login
    raise ScimError("invalidValue", "userName gives no name that an account of this site may have")


async def _follow(
    tx: Tx, client: SourceClient, account: AccountRow, before: ScimPerson | None, person: ScimPerson
) -> AccountRow:
    """Apply changes of the name, the full name and the address to the account. Return its row.

    Raises ScimError, Taken.
    """
    if account.source_id != client.source.id:
        return account
    try:
        if before is None or before.user_name != person.user_name:
            login = await _free_login(tx, person, account.id)
            if login != account.login:
                account = await users.rename_user(
                    tx, client.presenter, account.id, login, reserved_for=client.names_reserved_for
                )
        if person.email and (before is None or before.email != person.email):
            address = person.email.lower()
            if address != account.email:
                is_confirmed = client.config.trust_email
                await emails.set_primary(tx, account.id, person.email, confirmed=is_confirmed)
                account = await users.edit_user(tx, client.presenter, account.id, {})
        if before is None or before.full_name != person.full_name:
            changes = {"full_name": person.full_name}
            account = await users.edit_user(tx, client.presenter, account.id, changes)
    except Invalid as error:
        raise _as_taken(error) from error
    return account


async def _set_active(
    tx: Tx, client: SourceClient, identity: IdentityRow, account: AccountRow, *, active: bool
) -> None:
    """Deactivate the account, or activate it again if nothing else has deactivated it. Raises Denied.

    All sessions and grants to applications end permanently. Tokens and keys work again after activation.
    """
    if not active and account.active:
        try:
            await users.edit_user(tx, client.presenter, account.id, {"active": False})
        except Invalid as error:
            raise Denied("the account is the last administrator of this site") from error
        await flow.end_all(tx, account.id)
        await identities.change(tx, identity.id, deactivated=True)
    elif active and identity.deactivated:
        await identities.change(tx, identity.id, deactivated=False)
        links = await identities.list_of_account(tx, account.id)
        if not any(link.deactivated for link in links):
            await users.edit_user(tx, client.presenter, account.id, {"active": True})


def _as_taken(error: Invalid) -> Taken | ScimError:
    """Return the error for a taken name or address. Such a value never leads to the other account."""
    if error.errors[0].code in ("taken", "reserved"):
        return Taken(f"another account of this site has the {error.errors[0].field}")
    return ScimError("invalidValue", error.message)
