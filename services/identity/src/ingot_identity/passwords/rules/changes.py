"""Change of the caller's own password."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_identity.accounts.rules.edits import announce_edit
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.oauth2.rules import flow


async def change_password(tx: Tx, presenter: Presenter, account: AccountRow, password_hash: str) -> None:
    """Replace the password, and end all sessions and grants of the account.

    Raises NotFound, and Conflict if the password was changed since ``account`` was read.
    """
    before = await lock_for_update(tx, account.id)
    if before.password_hash != account.password_hash:
        raise Conflict("the password was changed meanwhile")
    await queries.change(tx, account.id, password_hash=password_hash, must_change_password=False)
    await flow.end_all(tx, account.id)
    await announce_edit(tx, presenter, before, revoked=True)
