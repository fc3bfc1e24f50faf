"""Locks on an account until the transaction ends. All three raise NotFound when there is no such account."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_identity.store import accounts
from ingot_identity.store.accounts import LockMode
from ingot_identity.store.tables import AccountRow


async def lock_for_share(tx: Tx, account_id: int) -> AccountRow:
    """Before rows that refer to the account are inserted: nobody else deletes it. Any number may share the lock."""
    return await _lock(tx, account_id, LockMode.SHARE)


async def lock_for_update(tx: Tx, account_id: int) -> AccountRow:
    """Before the account is changed: nobody else changes or deletes it."""
    return await _lock(tx, account_id, LockMode.UPDATE)


async def lock_for_deletion(tx: Tx, account_id: int) -> AccountRow:
    """Before the account is deleted: nobody else inserts rows that refer to it."""
    return await _lock(tx, account_id, LockMode.DELETION)


async def _lock(tx: Tx, account_id: int, mode: LockMode) -> AccountRow:
    row = await accounts.lock(tx, account_id, mode)
    if row is None:
        raise NotFound
    return row
