"""Holding an account until the transaction ends. All three raise NotFound when it is gone."""

from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import NotFound
from ingot_identity.store import accounts
from ingot_identity.store.accounts import Hold


async def kept(tx: Tx, account_id: int) -> Any:
    """The row, which is not deleted meanwhile: for what is hung on it. Any number may keep it at once."""
    return await _held(tx, account_id, "keep")


async def held(tx: Tx, account_id: int) -> Any:
    """The row, which nobody else changes or deletes meanwhile."""
    return await _held(tx, account_id, "change")


async def held_for_deletion(tx: Tx, account_id: int) -> Any:
    """The row, on which nobody hangs anything any more."""
    return await _held(tx, account_id, "delete")


async def _held(tx: Tx, account_id: int, hold: Hold) -> Any:
    row = await accounts.lock(tx, account_id, hold)
    if row is None:
        raise NotFound
    return row
