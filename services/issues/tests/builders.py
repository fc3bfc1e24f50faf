"""Makers of accounts, repositories, pushes and commits, and of many rows at once."""

from datetime import UTC, datetime
from typing import Any

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import insert
from ingot_contracts.identity.accounts import Account, User
from ingot_contracts.repos.commits import Commit, CommitAuthor
from ingot_contracts.repos.comparisons import Comparison
from ingot_contracts.repos.events import PushReceived
from ingot_contracts.repos.histories import HistoryCommit, Signature
from ingot_contracts.repos.repositories import Repository
from ingot_issues.issues.store.assignees import assignee as assignee_table
from ingot_issues.labels.store.tables import issue_label as issue_label_table
from ingot_issues.records.store.tables import comment as comment_table
from ingot_issues.records.store.tables import issue as issue_table
from ingot_issues.records.store.tables import pull as pull_table
from ingot_issues.repositories.store.tables import counter as counter_table

THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
NAMES = {1: "ann", 2: "bob", 3: "cat", 4: "dan"}
BASE, HEAD, JOINED, NEXT = "a" * 40, "b" * 40, "c" * 40, "d" * 40
APP, FORK = 7, 8


def account(account_id: int, **fields: Any) -> Account:
    login = NAMES[account_id]
    values = {"kind": "user", "login": login, "email": f"{login}@example.org"}
    return Account(id=account_id, **values | fields)


def repository(repository_id: int = APP, *, owner: int = 1, **fields: Any) -> Repository:
    login, name = NAMES[owner], fields.pop("name", "app")
    values = {"empty": False, "created_at": THEN, "updated_at": THEN, "default_branch": "main"}
    user = User(id=owner, login=login)
    return Repository(id=repository_id, owner=user, name=name, full_name=f"{login}/{name}", **values | fields)


def comparison(**fields: Any) -> Comparison:
    values = {"base_sha": BASE, "head_sha": HEAD, "merge_base": BASE, "mergeable": True, "commits": 1}
    return Comparison(**values | fields)


def push(ref: str = "refs/heads/main", after: str = NEXT, **fields: Any) -> PushReceived:
    values = {"repository": repository(), "pusher": User(id=2, login="bob"), "before": BASE}
    return PushReceived(ref=ref, after=after, **values | fields)


def new_commit(sha: str, message: str, username: str = "bob") -> Commit:
    who = CommitAuthor(name="Bob", email="bob@example.org", username=username)
    return Commit(id=sha, message=message, url="", author=who, committer=who, timestamp=THEN)


def history_commit(sha: str, message: str = "a commit\n", login: str = "bob") -> HistoryCommit:
    who = Signature(name="Bob", email="bob@example.org", when=THEN, login=login)
    return HistoryCommit(sha=sha, tree="e" * 40, parents=[BASE], message=message, author=who, committer=who)


async def fill(db: Database, first: int, count: int) -> None:
    """Add ``count`` issues from number ``first`` on, each with label, milestone, assignee and comment.

    Every other one is a pull request.
    """
    issues = [
        {
            "id": number, "repository_id": APP, "number": number, "is_pull": number % 2 == 0, "author_id": 2,
            "title": f"number {number}", "state": "open", "milestone_id": 1, "created_at": THEN,
            "updated_at": THEN,
        }
        for number in range(first, first + count)
    ]  # fmt: skip
    pulls = [
        {
            "issue_id": row["id"], "base_branch": "main", "base_sha": BASE, "head_repository_id": FORK,
            "head_branch": f"b{row['id']}", "head_sha": HEAD, "merge_base": BASE, "mergeable": True,
        }
        for row in issues
        if row["is_pull"]
    ]  # fmt: skip
    comments = [
        {
            "issue_id": row["id"], "repository_id": APP, "author_id": 3, "kind": 0, "body": "me too",
            "created_at": THEN, "updated_at": THEN,
        }
        for row in issues
    ]  # fmt: skip
    async with db.transaction() as tx:
        await tx.execute(issue_table.insert(), issues)
        await tx.execute(pull_table.insert(), pulls)
        await tx.execute(comment_table.insert(), comments)
        await tx.execute(
            issue_label_table.insert(), [{"issue_id": row["id"], "label_id": 1} for row in issues]
        )
        people = [{"issue_id": row["id"], "account_id": 3, "position": 0} for row in issues]
        await tx.execute(assignee_table.insert(), people)
        pull_count = len(pulls)
        counted = {
            "last_number": first + count - 1,
            "open_issues": count - pull_count,
            "open_pulls": pull_count,
        }
        for number, (name, more) in enumerate(counted.items()):
            column = counter_table.c[name]
            await tx.execute(
                insert(tx, counter_table)
                .values({"repository_id": APP, name: more})
                .on_conflict_do_update(
                    index_elements=["repository_id"], set_={name: column + more if number else more}
                )
            )


AFTER_0030 = (
    *(f"ALTER TABLE review DROP COLUMN {name}" for name in ("base_branch", "merge_base")),
    *(f"ALTER TABLE scheduled_merge DROP COLUMN {name}" for name in ("base_branch", "agreed_sha", "waits")),
    "DROP TABLE text_editor",
    "DROP TABLE reply_by_mail",
    "DROP INDEX ix_pull_head_sha",
    "DROP INDEX ix_pull_head_tip",
    *(f"ALTER TABLE account DROP COLUMN {name}" for name in ("profile", "granted_only")),
    "ALTER TABLE pull DROP COLUMN original_merger",
    "ALTER TABLE pull DROP COLUMN allow_maintainer_edit",
    *(
        f"ALTER TABLE {table} DROP COLUMN {name}"
        for table in ("issue", "comment", "review", "review_comment")
        for name in ("original_author", "original_author_id")
    ),
    *(f"DROP TABLE {name}" for name in ("imported_file", "import_cursor", "imported_object", "placeholder")),
    "ALTER TABLE notification DROP COLUMN reason",
)
"""Statements that undo the revisions after 0030, for tests of earlier ones."""
