"""Passkeys as second factors, and removal of second factors with their recovery codes."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.passkeys import store as passkeys
from ingot_identity.passkeys.rules.ceremonies import NewPasskey
from ingot_identity.sources.store import identities
from ingot_identity.two_factors import store
from ingot_identity.two_factors.rules.codes import new_recovery_codes

MOST_PASSKEYS = 50


async def add_passkey(tx: Tx, account_id: int, new: NewPasskey, name: str) -> tuple[int, list[str]]:
    """Add a passkey. Return its id, and recovery codes if it is the first second factor.

    Raises Conflict if the account has too many passkeys or the passkey is already registered. Also raises
    Conflict if another passkey was added at the same time.
    """
    await lock_for_update(tx, account_id)
    rows = await passkeys.list_of(tx, account_id)
    if len(rows) >= MOST_PASSKEYS:
        raise Conflict(f"an account has at most {MOST_PASSKEYS} passkeys; delete one first")
    if any(row.user_handle != new.user_handle for row in rows):
        raise Conflict("another passkey was added at the same time; try again")
    was_enabled = await store.is_enabled(tx, account_id)
    passkey_id = await passkeys.add(tx, account_id, name=name, **new._asdict())
    if passkey_id is None:
        raise Conflict("this passkey is registered already")
    if was_enabled:
        return passkey_id, []
    # A password that is cached as sufficient needs more now.
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)
    return passkey_id, await new_recovery_codes(tx, account_id)


async def remove_passkey(tx: Tx, account_id: int, passkey_id: int, *, has_other_way: bool = False) -> None:
    """Remove a passkey. Raises NotFound, and Conflict if it is the only way to sign in.

    ``has_other_way``: the account can sign in by the reverse proxy.
    """
    account = await lock_for_update(tx, account_id)
    if not await passkeys.remove(tx, account_id, passkey_id):
        raise NotFound
    has_other_way = has_other_way or bool(account.password_hash)
    has_other_way = has_other_way or await identities.has_enabled(tx, account_id)
    if not has_other_way and not await passkeys.count_of(tx, account_id):
        raise Conflict("it is the only way to sign in to this account; set a password first")
    await _remove_orphaned_codes(tx, account_id)


async def remove_app(tx: Tx, account_id: int) -> None:
    """Remove the app. Passkeys are not removed. Raises NotFound."""
    await lock_for_update(tx, account_id)
    if not await store.remove(tx, account_id):
        raise NotFound
    await _remove_orphaned_codes(tx, account_id)


async def remove_all(tx: Tx, account_id: int) -> None:
    """Remove the app, all passkeys and the recovery codes. Raises NotFound without app and passkeys."""
    await lock_for_update(tx, account_id)
    had_app = await store.remove(tx, account_id)
    if not await passkeys.remove_all(tx, account_id) and not had_app:
        raise NotFound
    await store.remove_recovery_codes(tx, account_id)


async def _remove_orphaned_codes(tx: Tx, account_id: int) -> None:
    """Delete recovery codes unless the account still has a second factor."""
    if not await store.is_enabled(tx, account_id):
        await store.remove_recovery_codes(tx, account_id)
