"""SQL for data of branches that git does not have: protection rules and accounts of authors."""

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, cast, null, select, union_all

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.accounts import SHOWS_ADDRESS
from ingot_repos.catalog.store.tables import account
from ingot_repos.protection.store import BranchProtectionRow, branch_protection


class _RuleOrLoginRow(BranchProtectionRow):
    """A protection rule, or an email address and its login. ``login`` is None in rows of rules."""

    email: str
    login: str | None


_RULES, _LOGINS = tuple(branch_protection.c), (account.c.email, account.c.login)
_BOTH = union_all(
    select(*_RULES, *(cast(null(), column.type).label(column.name) for column in _LOGINS)).where(
        branch_protection.c.repository_id == bindparam("of", type_=BigId)
    ),
    select(*(cast(null(), column.type).label(column.name) for column in _RULES), *_LOGINS).where(
        SHOWS_ADDRESS
    ),
).subquery()
_RULES_AND_LOGINS = PreparedQuery(
    select(*(column.label(column.name) for column in _BOTH.c)).order_by(_BOTH.c.priority, _BOTH.c.id),
    _RuleOrLoginRow,
)


async def rules_and_logins(
    db: Executor, repository_id: int, addresses: Collection[str]
) -> tuple[Sequence[BranchProtectionRow], dict[str, str]]:
    """Return the results of ``list_branch_rules`` and ``logins_by_email``, read in one statement."""
    lower = sorted({address.lower() for address in addresses})
    rows = await _RULES_AND_LOGINS.all(db, of=repository_id, addresses=lower)
    logins = {row.email: row.login for row in rows if row.login is not None}
    return [row for row in rows if row.login is None], logins
