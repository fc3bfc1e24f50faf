"""SQL for the variables of Actions of users and organizations."""

from collections.abc import Sequence

from sqlalchemy import Column, ForeignKey, String, Table, Text, UniqueConstraint, delete, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_count, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

action_variable = Table(
    "action_variable",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    # In capital letters.
    Column("name", String(255), nullable=False),
    Column("value", Text, nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("account_id", "name"),
    **LASTING_IDS,
)


class ActionVariableRow(TypedRow):
    id: int
    account_id: int
    name: str
    value: str
    description: str


async def add(db: Executor, account_id: int, *, name: str, value: str, description: str) -> bool:
    """Insert a variable. Return False if the account already has a variable with this name."""
    values = {"account_id": account_id, "name": name, "value": value, "description": description}
    statement = insert(db, action_variable).values(values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(action_variable.c.id))).first() is not None


async def count(db: Executor, account_id: int) -> int:
    return await fetch_count(db, select(action_variable).where(action_variable.c.account_id == account_id))


async def get(db: Executor, account_id: int, name: str) -> ActionVariableRow | None:
    statement = select(action_variable).where(
        action_variable.c.account_id == account_id, action_variable.c.name == name
    )
    return await fetch_first(db, statement, ActionVariableRow)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[ActionVariableRow], int]:
    """Return a page of the variables of an account, oldest first, and their number."""
    statement = select(action_variable).where(action_variable.c.account_id == account_id)
    return await fetch_page(db, statement, page, ActionVariableRow, action_variable.c.id)


async def change(db: Executor, id_: int, *, name: str, value: str, description: str) -> None:
    statement = update(action_variable).where(action_variable.c.id == id_)
    await db.execute(statement.values(name=name, value=value, description=description))


async def remove(db: Executor, account_id: int, name: str) -> bool:
    """Delete a variable. Return whether it existed."""
    statement = delete(action_variable).where(
        action_variable.c.account_id == account_id, action_variable.c.name == name
    )
    return (await db.execute(statement.returning(action_variable.c.id))).first() is not None
