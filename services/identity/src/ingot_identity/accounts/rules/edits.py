"""Events of edited accounts."""

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.identity.events import CredentialsRevoked, OrganizationEdited, UserEdited
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as store
from ingot_identity.accounts.store.tables import AccountKind, AccountRow


async def announce_edit(
    tx: Tx, presenter: Presenter, before: AccountRow, *, revoked: bool = False
) -> AccountRow:
    """Emit the event of an edited account. Return its current row.

    ``before`` is the row before the edit. ``revoked``: also emit the end of its credentials. Raises NotFound.
    """
    row = await get_account(tx, before.id)
    account, login = presenter.account(row), before.login
    if row.kind == AccountKind.ORGANIZATION:
        tx.emit(OrganizationEdited(account=account, previous_login=login), key=row.id)
    else:
        tx.emit(UserEdited(account=account, previous_login=login), key=row.id)
    if revoked:
        tx.emit(CredentialsRevoked(user_id=row.id), key=row.id)
    return row


async def get_account(db: Executor, account_id: int) -> AccountRow:
    """Return the row of an account. Raises NotFound."""
    row = await store.get(db, account_id)
    if row is None:
        raise NotFound
    return row


async def get_user(db: Executor, login: str) -> AccountRow:
    """Return the user of that name. Every caller may see every user. Raises NotFound."""
    row = await store.get_by_login(db, login)
    if row is None or row.kind != AccountKind.USER:
        raise NotFound
    return row
