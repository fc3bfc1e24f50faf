"""SQL for what is shown of branches: one statement says what two say."""

from datetime import UTC, datetime

import pytest

from ingot_git.history.commits import CommitInfo, Person
from ingot_repos.catalog.store import accounts
from ingot_repos.changes.store import rules_and_logins
from ingot_repos.presentation.rules.presenter import author_addresses
from ingot_repos.protection import store as protections
from ingot_repos.protection.store import BranchRule, read_rule

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def repository_ids(world, ann, bob):
    ids = [(await person.create("app"))["id"] for person in (ann, bob)]
    async with world.database.transaction() as tx:
        for name, priority in (("late", 9), ("early", 1), ("as-late", 9)):
            await protections.add_branch_rule(
                tx, ids[0], name, BranchRule(required_approvals=priority), priority
            )
    return ids


@pytest.mark.parametrize(
    ("addresses", "logins"),
    [
        ([], {}),
        (["nobody@example.org", ""], {}),
        (["Bob@example.org"], {"bob@example.org": "bob"}),
        (["bob@example.org", "ann@example.org"], {"bob@example.org": "bob", "ann@example.org": "ann"}),
    ],
)
async def test_rules_come_in_order_beside_the_logins(world, repository_ids, addresses, logins):
    async with world.database.read() as db:
        for repository_id, names in zip(repository_ids, (["early", "late", "as-late"], []), strict=True):
            rows, by_address = await rules_and_logins(db, repository_id, addresses)
            assert [row.rule_name for row in rows] == names
            assert by_address == logins == await accounts.logins_by_email(db, addresses)
            for row, other in zip(rows, await protections.list_branch_rules(db, repository_id), strict=True):
                assert (row.id, row.repository_id, row.priority) == (
                    other.id,
                    other.repository_id,
                    other.priority,
                )
                assert (row.created_at, row.updated_at) == (other.created_at, other.updated_at)
                assert read_rule(row) == read_rule(other)


def test_a_commit_without_an_address_asks_for_no_account():
    """Accounts that show none, as all organizations, are many."""
    ann, nobody = (Person("x", email, datetime.now(UTC)) for email in ("Ann@example.org", ""))
    commits = (CommitInfo("1", "", nobody, nobody, (), "2"), CommitInfo("3", "", ann, nobody, (), "2"))
    assert [author_addresses(one) for one in commits] == [set(), {"ann@example.org"}]
