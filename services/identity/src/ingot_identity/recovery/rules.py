"""Password resets: the account of a reset link, and its new password."""

from typing import NamedTuple

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.messages import store
from ingot_identity.messages.rules import Messages
from ingot_identity.messages.store import MessageRow
from ingot_identity.passwords.rules.changes import change_password
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.sources.store.tables import LOCAL


class Reset(NamedTuple):
    """A valid link, and the account whose password it resets."""

    message: MessageRow
    account: AccountRow


async def find_reset(db: Executor, messages: Messages, code: str) -> Reset | None:
    """Return the reset of the link with ``code``; None if it is no longer valid.

    The link ends when the password changes, or when the account loses the address or may not sign in.
    """
    row = await messages.get_by_code(db, "password_reset", code)
    if row is None or row.account_id is None:
        return None
    account = await emails.get_confirmed_owner(db, messages.address_of(row))
    if account is None or account.id != row.account_id or not may_reset(account):
        return None
    return Reset(row, account) if stamp_of(account.password_hash) == row.password_stamp else None


def may_reset(account: AccountRow) -> bool:
    """True if the account is local and may sign in."""
    return account.source_id == LOCAL and account.active and not account.login_prohibited


async def reset_password(
    tx: Tx, presenter: Presenter, messages: Messages, code: str, password_hash: str
) -> AccountRow:
    """Replace the password with the reset link of ``code``, and end all sessions. Return the account.

    The second factor is not changed. Raises NotFound, also if another request has used the link.
    """
    reset = await find_reset(tx, messages, code)
    if reset is None or not await store.take(tx, reset.message.id):
        raise NotFound
    await change_password(tx, presenter, reset.account, password_hash)
    if reset.message.address_digest is not None:
        await store.remove_of_address(tx, "password_reset", reset.message.address_digest)
    return reset.account
