"""Settings and protection rules of a repository as an archive has them: with the names of Gitea's API."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_contracts.repos.repositories import Repository
from ingot_remotes.archives.layout import ArchivedPerson
from ingot_remotes.forges.gitea_answers import (
    PEOPLE_OF_RULES,
    BranchRuleAnswer,
    RepositoryAnswer,
    TagRuleAnswer,
)
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.protection import store as protections
from ingot_repos.protection.store import BranchProtectionRow, BranchRule, TagProtectionRow


class ArchivedSettings(NamedTuple):
    """The settings and rules of a repository, and the people whom its rules name."""

    settings: RepositoryAnswer
    branch_rules: list[BranchRuleAnswer]
    tag_rules: list[TagRuleAnswer]
    people: list[ArchivedPerson]


async def read_settings(db: Executor, repository: Repository) -> ArchivedSettings:
    """Return the settings and protection rules of a repository for an archive, with the people of the rules.

    Teams and deploy keys of rules are omitted.
    """
    branches = await protections.list_branch_rules(db, repository.id)
    tags = await protections.list_tag_rules(db, repository.id)
    rules = [msgspec.json.decode(row.rule, type=BranchRule) for row in branches]
    tag_ids = [msgspec.json.decode(row.user_ids, type=list[int]) for row in tags]
    ids = {one for rule in rules for name in PEOPLE_OF_RULES for one in getattr(rule, name)}
    rows = await accounts.list_by_ids(db, ids.union(*tag_ids))
    users = [row for row in rows if row.kind == AccountKind.USER]
    logins = {row.id: row.login for row in users}
    return ArchivedSettings(
        msgspec.convert(
            {
                name: msgspec.to_builtins(getattr(repository, name))
                for name in RepositoryAnswer.__struct_fields__
                if hasattr(repository, name)
            },
            type=RepositoryAnswer,
        ),
        [_branch_rule(row, rule, logins) for row, rule in zip(branches, rules, strict=True)],
        [_tag_rule(row, group, logins) for row, group in zip(tags, tag_ids, strict=True)],
        [ArchivedPerson(source_id=row.id, name=row.login, email=row.email or "") for row in users],
    )


def _branch_rule(row: BranchProtectionRow, rule: BranchRule, logins: Mapping[int, str]) -> BranchRuleAnswer:
    fields: dict[str, Any] = {
        name: getattr(rule, name) for name in BranchRuleAnswer.__struct_fields__ if hasattr(rule, name)
    }
    fields |= {name: _logins(getattr(rule, name), logins) for name in PEOPLE_OF_RULES}
    return BranchRuleAnswer(**fields | {"rule_name": row.rule_name, "priority": row.priority})


def _tag_rule(row: TagProtectionRow, ids: Sequence[int], logins: Mapping[int, str]) -> TagRuleAnswer:
    return TagRuleAnswer(name_pattern=row.name_pattern, whitelist_usernames=_logins(ids, logins))


def _logins(ids: Iterable[int], logins: Mapping[int, str]) -> list[str]:
    return [logins[one] for one in ids if one in logins]
