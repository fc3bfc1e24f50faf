"""The addresses of a user. One of them is primary. Two users never have the same address.

An address is confirmed by an administrator who assigned it, or by a link in a mail. An address that a user
adds is a claim until it is confirmed. With an SMTP server several accounts may claim an address. The account
that confirms it gets it. Without an SMTP server the first claim gets it.
"""

from collections.abc import Mapping, Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.edits import announce_edit
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.emails import store
from ingot_identity.emails.store import EmailRow
from ingot_identity.messages import store as message_store
from ingot_identity.messages.rules import Messages

MOST_EMAILS = 100
"""The limit for one account."""


async def add(tx: Tx, messages: Messages, account_id: int, addresses: Sequence[str]) -> Sequence[EmailRow]:
    """Add all of ``addresses`` or none. Return all rows of the account, the primary address first.

    Each address gets a mail with a link. An unconfirmed address of the account gets only the mail. Raises
    Invalid, TooManyRequests.
    """
    spellings = {
        names.check_email(address.strip(), field="emails"): address.strip() for address in reversed(addresses)
    }
    if not spellings:
        raise Invalid.field("emails", "required", "names no address")
    await lock_for_update(tx, account_id)
    if messages.is_on:
        await _claim(tx, account_id, spellings)
    else:
        # Sorted: transactions that add the same addresses wait for each other without a deadlock.
        ordered = dict(sorted(spellings.items()))
        rows = await store.add(tx, account_id, ordered, is_primary=False, confirmed=False)
        if taken := sorted(spellings.keys() - {row.address for row in rows}):
            raise Invalid.field("emails", "taken", f"{taken[0]!r} is in use")
    rows = await store.list_all(tx, account_id)
    if len(rows) > MOST_EMAILS:
        raise Invalid.field("emails", "length", f"an account has at most {MOST_EMAILS} addresses")
    for address in sorted(spellings):
        await messages.request(tx, "address_confirmation", address=address, account_id=account_id)
    return rows


async def _claim(tx: Tx, account_id: int, spellings: Mapping[str, str]) -> None:
    """Claim addresses. Raises Invalid for a confirmed address of the account.

    Other accounts are not looked up, so the response does not reveal their addresses. Their owners get a
    notice when the mail is sent.
    """
    own = {row.address: row for row in await store.among(tx, account_id, spellings.keys())}
    for address, row in sorted(own.items()):
        if row.confirmed_at is not None:
            raise Invalid.field("emails", "taken", f"{address!r} is your address already")
    await store.add_claims(
        tx, account_id, {each: spelling for each, spelling in sorted(spellings.items()) if each not in own}
    )


async def confirm(tx: Tx, messages: Messages, account_id: int, code: str) -> str:
    """Confirm the address to which the link with ``code`` was sent. Return the address.

    Only the account that claims the address can confirm it. The link works once. Raises NotFound.
    """
    row = await messages.get_by_code(tx, "address_confirmation", code)
    if row is None or row.account_id != account_id:
        raise NotFound
    await lock_for_update(tx, account_id)
    address = messages.address_of(row)
    if not await message_store.take(tx, row.id) or not await _mark_confirmed(tx, account_id, address):
        raise NotFound
    return address


async def _mark_confirmed(tx: Tx, account_id: int, address: str) -> bool:
    """Confirm an address or a claim.

    Return False if the account has neither, or another account confirmed it.
    """
    # It may have both if the server did not always send mail. Then the address may be the primary one.
    spelling = await store.take_claim(tx, account_id, address)
    if await store.mark_confirmed(tx, account_id, address):
        return True
    if spelling is None:
        return False
    return bool(await store.add(tx, account_id, {address: spelling}, is_primary=False, confirmed=True))


async def remove(tx: Tx, account_id: int, addresses: Sequence[str]) -> None:
    """Remove all of ``addresses`` or none.

    Raises Invalid for the primary address, and for addresses that the account does not have.
    """
    removed = {address.strip().lower() for address in addresses}
    # Without the lock one of them could become the primary one before it is removed.
    await lock_for_update(tx, account_id)
    rows = [*await store.among(tx, account_id, removed), *await store.claims_among(tx, account_id, removed)]
    own = {row.address: row for row in rows}
    for address in sorted(removed):
        if address not in own:
            raise Invalid.field("emails", "unknown", f"{address!r} is not one of your addresses")
        if own[address].is_primary:
            raise Invalid.field("emails", "primary", f"{address!r} is the primary address")
    await store.remove(tx, account_id, removed)


async def choose_primary(
    tx: Tx, presenter: Presenter, messages: Messages, account_id: int, address: str
) -> EmailRow:
    """Make an address of the user the primary address, which others see. Return its row.

    With an SMTP server the address must be confirmed, and a confirmed former primary address gets a mail.
    Raises Invalid, NotFound.
    """
    before = await lock_for_update(tx, account_id)
    address = address.strip().lower()
    own = await store.among(tx, account_id, [address])
    if not own and await store.claims_among(tx, account_id, [address]):
        raise Invalid.field("email", "unconfirmed", "follow the link in the mail to this address first")
    if not own:
        raise Invalid.field("email", "unknown", f"{address!r} is not one of your addresses")
    if messages.is_on and not own[0].is_primary:
        if own[0].confirmed_at is None:
            raise Invalid.field("email", "unconfirmed", "follow the link in the mail to this address first")
        former = await store.get_primary(tx, account_id)
        if former is not None and former.confirmed_at is not None:
            fields = {"new_address": own[0].spelling or address}
            await messages.request(
                tx, "address_changed", address=former.address, account_id=account_id, fields=fields
            )
    await store.mark_primary(tx, account_id, address)
    await accounts.change(tx, account_id, email=address)
    await announce_edit(tx, presenter, before)
    return (await store.among(tx, account_id, [address]))[0]


async def set_primary(tx: Tx, account_id: int, address: str, *, confirmed: bool = True) -> str:
    """Replace the primary address by ``address``. Return it in lower case.

    ``confirmed``: mark the address as confirmed. Raises Invalid.
    """
    spelling = address
    address = names.check_email(spelling)
    await store.remove_primary(tx, account_id)
    await store.remove(tx, account_id, [address])
    if not await store.add(tx, account_id, {address: spelling}, is_primary=True, confirmed=confirmed):
        raise Invalid.field("email", "taken", f"{address!r} is in use")
    await accounts.change(tx, account_id, email=address)
    return address
