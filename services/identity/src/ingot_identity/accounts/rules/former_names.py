"""Renaming of accounts. The old name is reserved for some time, so links to it lead to the account."""

from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.store import former_names
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow


async def rename(tx: Tx, row: AccountRow, login: str, *, field: str, reserved_for: timedelta) -> None:
    """Rename a locked account, and reserve the old name for it.

    Raises Invalid with ``field`` if the name is not allowed, taken, or reserved for another account.
    """
    names.check_login(login, field=field)
    if not await accounts.rename(tx, row.id, login):
        raise Invalid.field(field, "taken", f"{login!r} is taken")
    await take_name(tx, login, row.id, field=field)
    if row.lower_login != login.lower():
        await former_names.save(tx, row.lower_login, row.id, now() + reserved_for)


async def take_name(tx: Tx, login: str, account_id: int, *, field: str) -> None:
    """End the reservation of a name that the account has now.

    Raises Invalid if the name is reserved for another account. The account must already have the name: the
    insert or update has then waited for any transaction that gives up the name.
    """
    row = await former_names.get(tx, login)
    if row is not None and row.account_id != account_id:
        day = row.reserved_until.date().isoformat()
        raise Invalid.field(
            field, "reserved", f"{login!r} is reserved until {day} for the account that had it before"
        )
    await former_names.remove(tx, login)
