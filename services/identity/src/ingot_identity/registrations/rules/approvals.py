"""Registrations that an administrator approves or refuses."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound, TooManyRequests
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.messages.rules import Messages
from ingot_identity.registrations import store
from ingot_identity.registrations.rules.accounts import NewAccount, register
from ingot_identity.registrations.store import RegistrationRow

MOST_WAITING = 1_000
LONGEST_NOTE = 1_000


async def add(tx: Tx, new: NewAccount, note: str) -> None:
    """Let a registration wait. Raises Invalid, TooManyRequests.

    Only its name is compared with those of accounts. The administrator hears of an address in use.
    """
    names.check_login(new.login)
    names.check_email(new.address)
    if len(note) > LONGEST_NOTE:
        raise Invalid.field("note", "length", f"has more than {LONGEST_NOTE} characters")
    if await store.count(tx) >= MOST_WAITING:
        raise TooManyRequests("too many registrations wait; try again later", headers={"Retry-After": "3600"})
    is_taken = await accounts.get_by_login(tx, new.login) is not None
    if is_taken or not await store.add(
        tx,
        login=new.login,
        address=new.address,
        confirmed=new.confirmed,
        password_hash=new.password_hash,
        note=note,
    ):
        raise Invalid.field("username", "taken", f"{new.login!r} is taken")


async def approve(tx: Tx, presenter: Presenter, messages: Messages, registration_id: int) -> AccountRow:
    """Make the account of a registration, and send a mail. Raises NotFound, Invalid."""
    row = await _take(tx, registration_id)
    new = NewAccount(row.login, row.address, row.password_hash, row.confirmed)
    account = await register(tx, presenter, new)
    await messages.notify(tx, "registration_approved", account.id, page="/login", login=account.login)
    return account


async def refuse(tx: Tx, messages: Messages, registration_id: int) -> RegistrationRow:
    """Delete a registration, and send a mail to its address if it is confirmed. Raises NotFound."""
    row = await _take(tx, registration_id)
    if row.confirmed:
        await messages.request(tx, "registration_refused", address=row.address)
    return row


async def _take(tx: Tx, registration_id: int) -> RegistrationRow:
    row = await store.take(tx, registration_id)
    if row is None:
        raise NotFound
    return row
