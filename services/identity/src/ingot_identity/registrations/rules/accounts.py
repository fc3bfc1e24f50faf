"""New accounts that people create themselves."""

from collections.abc import Sequence
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
from ingot_identity.passkeys.rules.ceremonies import NewPasskey
from ingot_identity.two_factors.rules.enrolments import add_passkey
from ingot_identity.users.rules import create_user

PASSKEY_NAME = "Passkey"
KIND: Literal["registration"] = "registration"


class Credentials(NamedTuple):
    """The password of a new account, or a passkey instead."""

    password_hash: str = ""
    passkey: NewPasskey | None = None


class NewAccount(NamedTuple):
    """The fields of an account that a person requests."""

    login: str
    address: str
    credentials: Credentials
    confirmed: bool
    """True: the person reads mail at the address."""


class Registered(NamedTuple):
    """A new account. With a passkey it has recovery codes, which are shown only once."""

    account: AccountRow
    passkey_id: int = 0
    recovery_codes: Sequence[str] = ()


async def register_invited(
    tx: Tx, presenter: Presenter, messages: Messages, code: str, *, login: str, credentials: Credentials
) -> Registered:
    """Create the account of an invited person. The link confirms its address.

    Raises NotFound, Conflict, Invalid, and Denied if the inviter may no longer invite.
    """
    link = await invitations.begin_registration(tx, messages, code)
    address = messages.unseal(link.invitation.sealed_address)
    return await register(tx, presenter, NewAccount(login, address, credentials, confirmed=True))


async def find_link(db: Executor, messages: Messages, code: str) -> MessageRow | None:
    """Return the message whose link has ``code``.

    None if the link was used, has expired, or its address belongs to an account.
    """
    row = await messages.get_by_code(db, KIND, code)
    if row is None or await emails.get_confirmed_owner(db, messages.address_of(row)) is not None:
        return None
    return row


async def take_link(tx: Tx, messages: Messages, code: str) -> str:
    """Invalidate the link with ``code`` and all other links to its address. Return the address.

    Raises NotFound.
    """
    row = await find_link(tx, messages, code)
    if row is None or not await message_store.take(tx, row.id):
        raise NotFound
    address = messages.address_of(row)
    await message_store.remove_of_address(tx, KIND, messages.digest_of(address))
    return address


async def register(tx: Tx, presenter: Presenter, new: NewAccount) -> Registered:
    """Create an account. A confirmed address is removed from accounts that only claim it.

    Raises Invalid, and Conflict for a passkey that is already registered.
    """
    if new.confirmed:
        await emails.remove_claims(tx, new.address.lower())
    password_hash, passkey = new.credentials
    row = await create_user(
        tx,
        presenter,
        login=new.login,
        email=new.address,
        password_hash=password_hash,
        email_confirmed=new.confirmed,
    )
    if passkey is None:
        return Registered(row)
    return Registered(row, *await add_passkey(tx, row.id, passkey, PASSKEY_NAME))
