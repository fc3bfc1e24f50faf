"""Settings and protection rules of a source. Values that are not valid in Ingot are omitted."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_contracts.repos.merges import MERGE_STYLES
from ingot_remotes.interface.source import SourceBranchRule, SourceRules, SourceSettings, SourceTagRule
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.imports.store import UnmappedRule
from ingot_repos.protection import store as protections
from ingot_repos.protection.rules.decisions import MOST_RULES, check_file_patterns, check_pattern
from ingot_repos.protection.store import BranchRule
from ingot_repos.repositories.rules import topics
from ingot_repos.repositories.rules.creation import Website
from ingot_repos.repositories.rules.edits import settle_default_merge_style

SWITCHES: Mapping[str, str] = {
    **{name: name for name in MERGE_STYLES.values()},
    "allow_merge_update": "allow_merge_update",
    "allow_rebase_update": "allow_rebase_update",
    "default_delete_branch_after_merge": "default_delete_branch_after_merge",
    "template": "template",
    "has_releases": "releases_enabled",
    "has_wiki": "wiki_enabled",
}
"""Columns of a repository by the names of switches in Gitea's API."""
MOST_UNMAPPED = 100
"""Limit of rules in a report."""
MOST_LOGINS = 20
"""Limit of logins for each rule in a report."""
FILE_PATTERNS = ("protected_file_patterns", "unprotected_file_patterns")


async def save_settings(tx: Tx, row: RepositoryRow, settings: SourceSettings) -> None:
    """Store settings. The repository keeps its description if it has one."""
    valid = [name for name in settings.topics if topics.is_topic(name)]
    await topics.replace_topics(tx, row.id, valid[: topics.MOST])
    columns: dict[str, Any] = {
        column: settings.switches[name] for name, column in SWITCHES.items() if name in settings.switches
    }
    if settings.merge_style in MERGE_STYLES:
        columns["default_merge_style"] = settings.merge_style
    try:
        settle_default_merge_style(row, columns)
    except Invalid:  # the source allows only styles that do not exist here
        columns = {name: value for name, value in columns.items() if "merge" not in name}
    if settings.extra:
        extra = msgspec.json.decode(row.inert_settings) | settings.extra
        columns["inert_settings"] = msgspec.json.encode(extra).decode()
    description = " ".join(settings.description.replace("\0", "").split())
    columns["description"] = row.description or description[:NAME_CHARACTERS]
    columns["website"] = _website(settings.website)
    await repositories.change(tx, row.id, **columns)


def _website(text: str) -> str:
    try:
        return msgspec.convert(text.strip(), Website)
    except msgspec.ValidationError:
        return ""


def unmapped_rules(rules: SourceRules, people: Mapping[str, int]) -> list[UnmappedRule]:
    """Return the rules that name people without an account here, or teams, and those not imported.

    At most ``MOST_UNMAPPED``. ``people`` has accounts by lower-case logins at the source.
    """
    branches = [
        _unmapped("branch", one.pattern, chain(*one.people.values()), one.teams, _missing(one), people)
        for one in _branches(rules)
    ]
    tags = [_unmapped("tag", one.pattern, one.people, one.teams, [], people) for one in _tags(rules)]
    unmapped = [one for one in (*branches, *tags) if one.logins or one.teams or one.missing]
    imported = {(one.kind, one.pattern) for one in (*branches, *tags)}
    names = [
        *(("branch", pattern) for pattern in rules.hidden),
        *(("branch", one.pattern) for one in rules.branches),
        *(("tag", one.pattern) for one in rules.tags),
    ]
    left_out = [
        UnmappedRule(kind="branch" if kind == "branch" else "tag", pattern=_clip(pattern), is_left_out=True)
        for kind, pattern in dict.fromkeys(names)
        if pattern and (kind, pattern) not in imported
    ]
    return [*left_out, *unmapped][:MOST_UNMAPPED]


def _unmapped(
    kind: Literal["branch", "tag"],
    pattern: str,
    logins: Iterable[str],
    teams: Iterable[str],
    missing: Sequence[str],
    people: Mapping[str, int],
) -> UnmappedRule:
    """Return a rule with teams, what is missing, and the logins that are not in ``people``.

    At most ``MOST_LOGINS`` of each.
    """
    absent = sorted({_clip(name) for name in logins if name and name.lower() not in people})
    named = sorted({_clip(name) for name in teams if name})
    return UnmappedRule(
        kind=kind,
        pattern=pattern,
        logins=absent[:MOST_LOGINS],
        teams=named[:MOST_LOGINS],
        missing=list(missing[:MOST_LOGINS]),
        others=sum(len(names[MOST_LOGINS:]) for names in (absent, named, missing)),
    )


def _missing(rule: SourceBranchRule) -> list[str]:
    """Return names of what a rule demands at the source and not here."""
    contexts = rule.fields["status_check_contexts"]
    return [*rule.missing, *(f"the check {_clip(one)}" for one in contexts if not _is_pattern(one))]


def _clip(login: str) -> str:
    return login.replace("\0", "")[:NAME_CHARACTERS]


def _branches(rules: SourceRules) -> list[SourceBranchRule]:
    """Return the branch rules with valid patterns, at most ``MOST_RULES``."""
    return [one for one in rules.branches if _is_pattern(one.pattern)][:MOST_RULES]


def _tags(rules: SourceRules) -> list[SourceTagRule]:
    """Return the tag rules with valid patterns, at most ``MOST_RULES``."""
    return [one for one in rules.tags if _is_pattern(one.pattern)][:MOST_RULES]


async def save_rules(tx: Tx, repository_id: int, rules: SourceRules, people: Mapping[str, int]) -> None:
    """Add the rules that do not exist yet. ``people`` has accounts by lower-case logins at the source.

    A rule never allows more than at the source: people without an account here, and teams, are not allowed.
    """
    await repositories.lock_for_update(tx, repository_id)
    for branch in _branches(rules):
        fields = _valid_fields(branch)
        fields |= {name: _ids(logins, people) for name, logins in branch.people.items()}
        rule = BranchRule(**fields)
        await protections.add_branch_rule(tx, repository_id, branch.pattern, rule, branch.priority)
    existing = {row.name_pattern for row in await protections.list_tag_rules(tx, repository_id)}
    for tag in _tags(rules):
        if tag.pattern not in existing:
            existing.add(tag.pattern)
            await protections.add_tag_rule(tx, repository_id, tag.pattern, _ids(tag.people, people), [])


def _ids(logins: Sequence[str], people: Mapping[str, int]) -> list[int]:
    return list(dict.fromkeys(people[one.lower()] for one in logins if one.lower() in people))


def _is_pattern(pattern: str) -> bool:
    """Return whether the pattern is valid for a rule here."""
    try:
        return check_pattern(pattern, "pattern") != "priority"
    except Invalid:
        return False


def _valid_fields(rule: SourceBranchRule) -> dict[str, Any]:
    """Return the fields of a rule, without patterns that are not valid in Ingot."""
    fields = dict(rule.fields)
    fields["status_check_contexts"] = [one for one in fields["status_check_contexts"] if _is_pattern(one)]
    for name in FILE_PATTERNS:
        try:
            check_file_patterns(fields[name], name)
        except Invalid:
            fields[name] = ""
    return fields
