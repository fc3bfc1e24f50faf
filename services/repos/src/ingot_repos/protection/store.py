"""The tables of the rules that protect branches and tags of a repository, and their SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    func,
    literal,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_count, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import metadata

branch_protection = Table(
    "branch_protection",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    # A name of a branch, or a pattern.
    Column("rule_name", String(255), nullable=False),
    Column("priority", Integer, nullable=False),
    # A JSON object: what the rule demands, and whom it lets pass.
    Column("rule", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "rule_name"),
    **LASTING_IDS,
)

tag_protection = Table(
    "tag_protection",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name_pattern", String(255), nullable=False),
    # JSON lists of ids: who may create, move and delete the tags.
    Column("user_ids", Text, nullable=False),
    Column("team_ids", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)


class BranchRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conditions of a rule, and the ids of users and teams that it allows."""

    enable_push: bool = False
    enable_push_whitelist: bool = False
    push_whitelist_usernames: list[int] = []
    push_whitelist_teams: list[int] = []
    push_whitelist_deploy_keys: bool = False
    enable_force_push: bool = False
    enable_force_push_allowlist: bool = False
    force_push_allowlist_usernames: list[int] = []
    force_push_allowlist_teams: list[int] = []
    force_push_allowlist_deploy_keys: bool = False
    enable_merge_whitelist: bool = False
    merge_whitelist_usernames: list[int] = []
    merge_whitelist_teams: list[int] = []
    enable_status_check: bool = False
    status_check_contexts: list[str] = []
    required_approvals: int = 0
    enable_approvals_whitelist: bool = False
    approvals_whitelist_username: list[int] = []
    approvals_whitelist_teams: list[int] = []
    block_on_rejected_reviews: bool = False
    block_on_official_review_requests: bool = False
    block_on_outdated_branch: bool = False
    dismiss_stale_approvals: bool = False
    ignore_stale_approvals: bool = False
    block_admin_merge_override: bool = False
    enable_bypass_allowlist: bool = False
    bypass_allowlist_usernames: list[int] = []
    bypass_allowlist_teams: list[int] = []
    require_signed_commits: bool = False
    protected_file_patterns: str = ""
    unprotected_file_patterns: str = ""


class BranchProtectionRow(TypedRow):
    """A branch rule. ``rule`` is a BranchRule as JSON."""

    id: int
    repository_id: int
    rule_name: str
    priority: int
    rule: str
    created_at: datetime
    updated_at: datetime


class TagProtectionRow(TypedRow):
    """A tag rule. ``user_ids`` and ``team_ids`` are JSON lists."""

    id: int
    repository_id: int
    name_pattern: str
    user_ids: str
    team_ids: str
    created_at: datetime
    updated_at: datetime


_REPOSITORY = bindparam("of", type_=BigId)
_RULE = msgspec.json.Decoder(BranchRule)
_IDS = msgspec.json.Decoder(list[int])
_OF_BRANCHES = PreparedQuery(
    select(branch_protection)
    .where(branch_protection.c.repository_id == _REPOSITORY)
    .order_by(branch_protection.c.priority, branch_protection.c.id),
    BranchProtectionRow,
)
_OF_TAGS = PreparedQuery(
    select(tag_protection).where(tag_protection.c.repository_id == _REPOSITORY).order_by(tag_protection.c.id),
    TagProtectionRow,
)


def read_rule(row: BranchProtectionRow) -> BranchRule:
    return _RULE.decode(row.rule)


def read_ids(text: str) -> list[int]:
    """Decode a JSON list of ids in a column."""
    return _IDS.decode(text)


def write_json(value: object) -> str:
    """Encode a rule or a list of ids as JSON for a column."""
    return msgspec.json.encode(value).decode()


async def list_branch_rules(db: Executor, repository_id: int) -> Sequence[BranchProtectionRow]:
    """List the branch rules of a repository by priority. The first rule that matches a branch protects it."""
    return await _OF_BRANCHES.all(db, of=repository_id)


async def list_tag_rules(db: Executor, repository_id: int) -> Sequence[TagProtectionRow]:
    """List the tag rules of a repository, the oldest first."""
    return await _OF_TAGS.all(db, of=repository_id)


async def get_branch_rule(db: Executor, repository_id: int, rule_name: str) -> BranchProtectionRow | None:
    statement = select(branch_protection).where(
        branch_protection.c.repository_id == repository_id, branch_protection.c.rule_name == rule_name
    )
    return await fetch_first(db, statement, BranchProtectionRow)


async def get_tag_rule(db: Executor, repository_id: int, rule_id: int) -> TagProtectionRow | None:
    statement = select(tag_protection).where(
        tag_protection.c.repository_id == repository_id, tag_protection.c.id == rule_id
    )
    return await fetch_first(db, statement, TagProtectionRow)


async def count_branch_rules(db: Executor, repository_id: int) -> int:
    return await fetch_count(
        db, select(branch_protection).where(branch_protection.c.repository_id == repository_id)
    )


async def count_tag_rules(db: Executor, repository_id: int) -> int:
    return await fetch_count(
        db, select(tag_protection).where(tag_protection.c.repository_id == repository_id)
    )


async def add_branch_rule(
    tx: Executor, repository_id: int, rule_name: str, rule: BranchRule, priority: int | None
) -> BranchProtectionRow | None:
    """Insert a branch rule. Without ``priority``, it comes last. Return None if its name is taken."""
    last = (
        select(func.coalesce(func.max(branch_protection.c.priority), 0) + 1)
        .where(branch_protection.c.repository_id == repository_id)
        .scalar_subquery()
    )
    values = {
        "repository_id": repository_id,
        "rule_name": rule_name,
        "priority": last if priority is None else priority,
        "rule": write_json(rule),
        "created_at": now(),
        "updated_at": now(),
    }
    statement = insert(tx, branch_protection).values(values).on_conflict_do_nothing()
    return await fetch_first(tx, statement.returning(branch_protection), BranchProtectionRow)


async def add_tag_rule(
    tx: Executor, repository_id: int, name_pattern: str, user_ids: list[int], team_ids: list[int]
) -> TagProtectionRow | None:
    values = {
        "repository_id": repository_id,
        "name_pattern": name_pattern,
        "user_ids": write_json(user_ids),
        "team_ids": write_json(team_ids),
        "created_at": now(),
        "updated_at": now(),
    }
    statement = insert(tx, tag_protection).values(values).returning(tag_protection)
    return await fetch_first(tx, statement, TagProtectionRow)


async def change_branch_rule(tx: Executor, rule_id: int, **values: Any) -> bool:
    """Change columns of a rule. Return whether the rule exists."""
    changed = await tx.execute(
        update(branch_protection).where(branch_protection.c.id == rule_id).values(updated_at=now(), **values)
    )
    return changed.rowcount == 1


async def change_tag_rule(tx: Executor, rule_id: int, **values: Any) -> bool:
    """Change columns of a rule. Return whether the rule exists."""
    changed = await tx.execute(
        update(tag_protection).where(tag_protection.c.id == rule_id).values(updated_at=now(), **values)
    )
    return changed.rowcount == 1


async def set_priorities(tx: Executor, repository_id: int, ids: Sequence[int]) -> None:
    """Move the rules with these ids to the front, in this order. The repository's other rules follow."""
    statement = (
        select(branch_protection.c.id)
        .where(branch_protection.c.repository_id == repository_id)
        .order_by(branch_protection.c.priority, branch_protection.c.id)
    )
    others = list((await tx.execute(statement)).scalars())
    ordered = [*ids, *(id_ for id_ in others if id_ not in set(ids))]
    rows = [
        {"rule_id": id_, "position": position}
        for position, id_ in enumerate(ordered, 1)
        if id_ in set(others)
    ]
    if rows:
        await tx.execute(
            update(branch_protection)
            .where(branch_protection.c.id == bindparam("rule_id", type_=BigId))
            .values(priority=bindparam("position")),
            rows,
        )


async def remove_branch_rule(tx: Executor, repository_id: int, rule_name: str) -> bool:
    """Delete a rule. Return whether it existed."""
    removed = await tx.execute(
        delete(branch_protection).where(
            branch_protection.c.repository_id == repository_id, branch_protection.c.rule_name == rule_name
        )
    )
    return removed.rowcount == 1


async def remove_tag_rule(tx: Executor, repository_id: int, rule_id: int) -> bool:
    """Delete a rule. Return whether it existed."""
    removed = await tx.execute(
        delete(tag_protection).where(
            tag_protection.c.repository_id == repository_id, tag_protection.c.id == rule_id
        )
    )
    return removed.rowcount == 1


async def copy_branch_rules(tx: Executor, template_id: int, repository_id: int) -> None:
    """Copy the branch rules of a template to a new repository."""
    columns = [branch_protection.c[name] for name in ("rule_name", "priority", "rule")]
    at = now()
    rules = select(
        literal(repository_id, BigId), *columns, literal(at, UtcDateTime), literal(at, UtcDateTime)
    )
    await tx.execute(
        branch_protection.insert().from_select(
            ["repository_id", "rule_name", "priority", "rule", "created_at", "updated_at"],
            rules.where(branch_protection.c.repository_id == template_id),
        )
    )
