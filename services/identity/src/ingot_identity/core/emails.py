"""The addresses of a user: one is the primary one, and nobody else has any of them."""

from collections.abc import Sequence
from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.core import names
from ingot_identity.core.holding import held, kept
from ingot_identity.store import accounts
from ingot_identity.store import emails as store


async def add(tx: Tx, account_id: int, addresses: Sequence[str]) -> list[Any]:
    """Add all of ``addresses`` or none; the new rows, in that order. Raises Invalid."""
    wanted = list(dict.fromkeys(names.check_email(address.strip(), field="emails") for address in addresses))
    if not wanted:
        raise Invalid.field("emails", "required", "names no address")
    await kept(tx, account_id)
    rows = {row.address: row for row in await store.add(tx, account_id, sorted(wanted), is_primary=False)}
    for address in wanted:
        if address not in rows:
            raise Invalid.field("emails", "taken", f"{address!r} is in use")
    return [rows[address] for address in wanted]


async def remove(tx: Tx, account_id: int, addresses: Sequence[str]) -> None:
    """Remove all of ``addresses`` or none; the primary one stays. Raises Invalid, NotFound."""
    wanted = {address.strip().lower() for address in addresses}
    # Else one of them might become the primary one meanwhile.
    await held(tx, account_id)
    own = {row.address: row for row in await store.among(tx, account_id, wanted)}
    for address in sorted(wanted):
        if address not in own:
            raise Invalid.field("emails", "unknown", f"{address!r} is not yours")
        if own[address].is_primary:
            raise Invalid.field("emails", "primary", f"{address!r} is the primary address")
    await store.remove(tx, account_id, wanted)


async def choose_primary(tx: Tx, account_id: int, address: str) -> Any:
    """Let ``address``, one of theirs, be the primary one; its row. The account must be held. Raises Invalid."""
    address = address.strip().lower()
    if not await store.among(tx, account_id, [address]):
        raise Invalid.field("email", "unknown", f"{address!r} is not yours")
    await store.mark_primary(tx, account_id, address)
    await accounts.change(tx, account_id, email=address)
    return (await store.among(tx, account_id, [address]))[0]


async def set_primary(tx: Tx, account_id: int, address: str) -> str:
    """Put ``address`` in the place of the primary one; in lower case. Raises Invalid."""
    address = names.check_email(address)
    await store.remove_primary(tx, account_id)
    await store.remove(tx, account_id, [address])
    if not await store.add(tx, account_id, [address], is_primary=True):
        raise Invalid.field("email", "taken", f"{address!r} is in use")
    await accounts.change(tx, account_id, email=address)
    return address
