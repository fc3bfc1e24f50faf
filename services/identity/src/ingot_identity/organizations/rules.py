"""Creation and changes of organizations."""

from datetime import timedelta
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.identity.events import OrganizationCreated
from ingot_contracts.identity.teams import OWNERS
from ingot_identity.access.store.teams import TeamPermission
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.edits import announce_edit, get_account
from ingot_identity.accounts.rules.former_names import rename, take_name
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.members import rules as members
from ingot_identity.teams import store as teams


async def create(tx: Tx, presenter: Presenter, *, owner_id: int, login: str, **details: Any) -> AccountRow:
    """Create an organization with the team Owners, whose member is ``owner_id``. Return its row.

    Raises Invalid, and NotFound for the owner.
    """
    names.check_login(login)
    _check_contact(details)
    organization_id = await accounts.add(tx, kind=AccountKind.ORGANIZATION, login=login, **details)
    if organization_id is None:
        raise Invalid.field("username", "taken", f"{login!r} is taken")
    await take_name(tx, login, organization_id, field="username")
    await create_default_team(tx, organization_id, owner_id)
    row = await get_account(tx, organization_id)
    tx.emit(OrganizationCreated(account=presenter.account(row), owner_id=owner_id), key=organization_id)
    await members.announce(tx, organization_id, owner_id)
    return row


async def create_default_team(tx: Tx, organization_id: int, owner_id: int) -> None:
    """Create the team Owners of a new organization. ``owner_id`` is its member; 0 means no member.

    Raises NotFound.
    """
    if owner_id:
        await members.join(tx, organization_id, owner_id)
    team_id = await teams.add(
        tx, organization_id, OWNERS, description="", permission=TeamPermission.OWNER, units=""
    )
    if team_id is not None and owner_id:
        await teams.add_member(tx, team_id, owner_id)


async def edit(tx: Tx, presenter: Presenter, organization_id: int, changes: dict[str, Any]) -> AccountRow:
    """Change only the columns in ``changes``. Return the new row. Raises Invalid, NotFound."""
    before = await lock_for_update(tx, organization_id)
    _check_contact(changes)
    if changes:
        await accounts.change(tx, organization_id, **changes)
    return await announce_edit(tx, presenter, before)


def _check_contact(columns: dict[str, Any]) -> None:
    """Raise Invalid if the contact is not an email address.

    The address is only displayed, so several organizations may have the same contact.
    """
    if columns.get("email"):
        names.check_email(columns["email"])


async def rename_organization(
    tx: Tx, presenter: Presenter, organization_id: int, login: str, *, reserved_for: timedelta
) -> None:
    """Rename an organization, and reserve the old name for ``reserved_for``. Raises Invalid, NotFound."""
    before = await lock_for_update(tx, organization_id)
    await rename(tx, before, login, field="new_name", reserved_for=reserved_for)
    await announce_edit(tx, presenter, before)
