"""Variables of Actions of users and organizations."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.action_variables import (
    MOST_VARIABLES,
    CreateActionVariable,
    EditActionVariable,
    variable_name,
)
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.actions import store as action_variables


async def create(tx: Tx, account_id: int, name: str, variable: CreateActionVariable) -> None:
    """Add a variable to the account. Raises Invalid, Conflict, NotFound."""
    name = _require_name(name)
    _require_value(variable)
    await lock_for_update(tx, account_id)
    added = await action_variables.add(
        tx, account_id, name=name, value=variable.value, description=variable.description
    )
    if not added:
        raise Conflict(f"there is a variable {name}")
    if await action_variables.count(tx, account_id) > MOST_VARIABLES:
        raise Invalid.field("name", "limit", f"there are {MOST_VARIABLES} variables, and no more")


async def edit(tx: Tx, account_id: int, name: str, variable: EditActionVariable) -> None:
    """Replace the value, the description and, if one is given, the name of a variable.

    Raises Invalid, Conflict, NotFound.
    """
    await lock_for_update(tx, account_id)
    row = await action_variables.get(tx, account_id, variable_name(name))
    if row is None:
        raise NotFound
    _require_value(variable)
    new_name = _require_name(variable.name) if variable.name else row.name
    if new_name != row.name and await action_variables.get(tx, account_id, new_name):
        raise Conflict(f"there is a variable {new_name}")
    await action_variables.change(
        tx, row.id, name=new_name, value=variable.value, description=variable.description
    )


def _require_name(text: str) -> str:
    name = variable_name(text)
    if not name:
        raise Invalid.field("name", "format", "is letters, digits and _, and not CI, GITEA_… or GITHUB_…")
    return name


def _require_value(variable: CreateActionVariable) -> None:
    if not variable.value:
        raise Invalid.field("value", "required", "is required")
