"""Locks on an account until the transaction ends. All raise NotFound if the account does not exist."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.queries import LockMode
from ingot_identity.accounts.store.tables import AccountRow


async def lock_for_share(tx: Tx, account_id: int) -> AccountRow:
    """Lock an account before rows that refer to it are inserted, so the account cannot be deleted.

    Return its row. Any number of transactions may share the lock.
    """
    return await _lock(tx, account_id, LockMode.SHARE)


async def lock_for_update(tx: Tx, account_id: int) -> AccountRow:
    """Lock an account before it is changed, so other transactions cannot change or delete it.

    Return its row.
    """
    return await _lock(tx, account_id, LockMode.UPDATE)


async def lock_for_deletion(tx: Tx, account_id: int) -> AccountRow:
    """Lock an account before it is deleted, so no transaction can insert rows that refer to it.

    Return its row.
    """
    return await _lock(tx, account_id, LockMode.DELETION)


async def _lock(tx: Tx, account_id: int, mode: LockMode) -> AccountRow:
    row = await accounts.lock(tx, account_id, mode)
    if row is None:
        raise NotFound
    return row
