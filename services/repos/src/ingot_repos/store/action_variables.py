"""SQL for the variables of Actions of repositories."""

from collections.abc import Sequence

from sqlalchemy import delete, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_count, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_repos.store.action_tables import action_variable


class ActionVariableRow(TypedRow):
    id: int
    repository_id: int
    name: str
    value: str
    description: str


async def add(db: Executor, repository_id: int, *, name: str, value: str, description: str) -> bool:
    """Insert a variable; False when the repository has one of that name."""
    values = {"repository_id": repository_id, "name": name, "value": value, "description": description}
    statement = insert(db, action_variable).values(values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(action_variable.c.id))).first() is not None


async def count(db: Executor, repository_id: int) -> int:
    return await fetch_count(
        db, select(action_variable).where(action_variable.c.repository_id == repository_id)
    )


async def get(db: Executor, repository_id: int, name: str) -> ActionVariableRow | None:
    statement = select(action_variable).where(
        action_variable.c.repository_id == repository_id, action_variable.c.name == name
    )
    return await fetch_first(db, statement, ActionVariableRow)


async def list_page(db: Executor, repository_id: int, page: Slice) -> tuple[Sequence[ActionVariableRow], int]:
    """In the order in which they were made."""
    statement = select(action_variable).where(action_variable.c.repository_id == repository_id)
    return await fetch_page(db, statement, page, ActionVariableRow, action_variable.c.id)


async def change(db: Executor, id_: int, *, name: str, value: str, description: str) -> None:
    statement = update(action_variable).where(action_variable.c.id == id_)
    await db.execute(statement.values(name=name, value=value, description=description))


async def remove(db: Executor, repository_id: int, name: str) -> bool:
    """Delete a variable; whether there was one of that name."""
    statement = delete(action_variable).where(
        action_variable.c.repository_id == repository_id, action_variable.c.name == name
    )
    return (await db.execute(statement.returning(action_variable.c.id))).first() is not None
