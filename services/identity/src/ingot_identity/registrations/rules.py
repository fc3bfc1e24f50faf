"""New accounts that people make themselves."""

from ingot_chassis.db.transaction import Tx
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.invitations import rules as invitations
from ingot_identity.messages.rules import Messages
from ingot_identity.users.rules import create_user


async def register_invited(
    tx: Tx, presenter: Presenter, messages: Messages, code: str, *, login: str, password_hash: str
) -> AccountRow:
    """Make the account of an invited person. The link confirms its address.

    Raises NotFound, Denied if the inviter may not invite any more, Invalid.
    """
    link = await invitations.begin_registration(tx, messages, code)
    address = messages.unseal(link.invitation.sealed_address)
    await emails.remove_claims(tx, address.lower())
    return await create_user(tx, presenter, login=login, email=address, password_hash=password_hash)
