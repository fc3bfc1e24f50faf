"""New accounts that people make themselves."""

from typing import Literal, NamedTuple

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.invitations import rules as invitations
from ingot_identity.messages import store as message_store
from ingot_identity.messages.rules import Messages
from ingot_identity.messages.store import MessageRow
from ingot_identity.users.rules import create_user

KIND: Literal["registration"] = "registration"


class NewAccount(NamedTuple):
    """The fields of an account that a person asks for."""

    login: str
    address: str
    password_hash: str
    confirmed: bool
    """True: the person reads mail at the address."""


async def register_invited(
    tx: Tx, presenter: Presenter, messages: Messages, code: str, *, login: str, password_hash: str
) -> AccountRow:
    """Make the account of an invited person. The link confirms its address.

    Raises NotFound, Denied if the inviter may not invite any more, Invalid.
    """
    link = await invitations.begin_registration(tx, messages, code)
    address = messages.unseal(link.invitation.sealed_address)
    return await register(tx, presenter, NewAccount(login, address, password_hash, confirmed=True))


async def find_link(db: Executor, messages: Messages, code: str) -> MessageRow | None:
    """Return the message behind the link with ``code``.

    None if it was used or is too old, or if an account has confirmed its address.
    """
    row = await messages.get_by_code(db, KIND, code)
    if row is None or await emails.get_confirmed_owner(db, messages.address_of(row)) is not None:
        return None
    return row


async def take_link(tx: Tx, messages: Messages, code: str) -> str:
    """End the link with ``code``, and all others of its address; the address. Raises NotFound."""
    row = await find_link(tx, messages, code)
    if row is None or not await message_store.take(tx, row.id):
        raise NotFound
    address = messages.address_of(row)
    await message_store.remove_of_address(tx, KIND, messages.digest_of(address))
    return address


async def register(tx: Tx, presenter: Presenter, new: NewAccount) -> AccountRow:
    """Make an account. A confirmed address is taken from accounts that only claim it. Raises Invalid."""
    if new.confirmed:
        await emails.remove_claims(tx, new.address.lower())
    return await create_user(
        tx,
        presenter,
        login=new.login,
        email=new.address,
        password_hash=new.password_hash,
        email_confirmed=new.confirmed,
    )
