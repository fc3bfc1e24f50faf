"""SQL for the conditions that decide which checks a push needs, and for the pusher's account.

Most repositories meet none of the conditions, so one statement reads all of them.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, bindparam, exists, or_, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.tables import account
from ingot_repos.lfs.store.tables import lfs_link, lfs_user
from ingot_repos.protection.store import branch_protection, tag_protection


class PushConditionsRow(TypedRow):
    """Conditions of one push.

    ``is_protected``: a rule for branches or tags applies. ``uses_lfs``: the repository has ever had an LFS
    object. ``has_account``: there is a copy of the account that pushes.
    """

    is_protected: bool
    uses_lfs: bool
    has_account: bool


def _has(column: Column[int]) -> ColumnElement[bool]:
    return exists().where(column == bindparam("of", type_=BigId))


_IS_PROTECTED = or_(_has(branch_protection.c.repository_id), _has(tag_protection.c.repository_id))
# A process of the last release gives objects without noting the user.
_USES_LFS = or_(_has(lfs_user.c.repository_id), _has(lfs_link.c.repository_id))
_HAS_ACCOUNT = exists().where(account.c.id == bindparam("account_id", type_=BigId))
_COLUMNS: Sequence[ColumnElement[Any]] = (
    _IS_PROTECTED.label("is_protected"),
    _USES_LFS.label("uses_lfs"),
    _HAS_ACCOUNT.label("has_account"),
)
_CONDITIONS = PreparedQuery(select(*_COLUMNS), PushConditionsRow)


async def get(db: Executor, repository_id: int, account_id: int) -> PushConditionsRow:
    [row] = await _CONDITIONS.all(db, of=repository_id, account_id=account_id)
    return row
