"""Changes of the settings of a repository."""

from typing import Any

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.merges import MERGE_STYLES, MergeStyle
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.presentation.rules.announcements import (
    announce_edit,
    is_hidden,
)
from ingot_repos.presentation.rules.presenter import Presenter


async def edit(
    tx: Tx,
    presenter: Presenter,
    row: RepositoryRow,
    sender: User,
    changes: dict[str, Any],
    extra_settings: dict[str, Any] | None = None,
) -> RepositoryRow:
    """Change columns of a repository, announce the change and return the new row.

    ``extra_settings`` are merged into the stored settings. Raises Invalid, NotFound.
    """
    settle_default_merge_style(row, changes)
    if "archived" in changes and changes["archived"] != row.archived:
        changes["archived_at"] = now() if changes["archived"] else None
    if extra_settings:
        before = msgspec.json.decode(row.inert_settings)
        changes["inert_settings"] = msgspec.json.encode(before | extra_settings).decode()
    if row.private and changes.get("private") is False and row.fork_of is not None:
        parent = await repositories.get_unfiltered(tx, row.fork_of)
        if parent is not None and is_hidden(parent):
            raise Invalid.field("private", "fork", "a fork stays private as long as its parent is not public")
    name = names.check_repository(changes.pop("name", row.name))
    if not await repositories.change(tx, row.id, **changes):
        raise NotFound
    if name != row.name and not await repositories.move(tx, row, owner_id=row.owner_id, name=name):
        raise Invalid.field("name", "taken", f"there is a repository {name!r} already")
    return await announce_edit(tx, presenter, row, sender)


def settle_default_merge_style(row: RepositoryRow, changes: dict[str, Any]) -> None:
    """Set the default merge style in ``changes`` to a style that is allowed.

    The requested style comes first, then the current style, then any other. Clients switch styles on one by
    one, and name a default before they allow it. Raises Invalid if no style would be allowed.
    """
    allowed = [name for name, column in MERGE_STYLES.items() if changes.get(column, getattr(row, column))]
    if not allowed:
        raise Invalid.field("default_merge_style", "disallowed", "a repository has to allow one merge style")
    wishes: list[MergeStyle] = [
        changes.get("default_merge_style", row.default_merge_style),
        row.default_merge_style,
    ]
    changes["default_merge_style"] = next((style for style in wishes if style in allowed), allowed[0])
