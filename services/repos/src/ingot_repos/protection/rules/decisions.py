"""Decisions about protected branches and tags: which account may move which ref, and how.

Pushes, changes by the API, merges and deletions of branches all use this module. A rule matches branches by a
pattern. If several rules match a branch, the rule with the highest priority protects it. A tag may be changed
if any matching rule allows it. Rules apply to owners, too. Owners may change the rules.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Conflict, Denied, Invalid, NotAllowed
from ingot_chassis.security.principal import Principal
from ingot_contracts.repos.access import Level, reaches
from ingot_contracts.repos.commits import PASSED
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_git.hooks.update_hook import RefRefusal
from ingot_git.refs.refs import (
    BRANCHES,
    LIKE_AN_ID,
    TAGS,
    ZERO_OID,
    RefChange,
    ends_like_an_id,
    is_valid_ref_name,
)
from ingot_repos.catalog.rules.names import LONGEST_BRANCH
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.commits.store import statuses
from ingot_repos.protection import store as protections
from ingot_repos.protection.rules import globs
from ingot_repos.protection.rules.contents import MOST_PATTERNS, ContentRule, read_patterns
from ingot_repos.protection.store import (
    BranchProtectionRow,
    BranchRule,
    TagProtectionRow,
    read_ids,
    read_rule,
)

MOST_RULES = 200
"""Limit of branch rules and of tag rules per repository."""


class Actor(msgspec.Struct, frozen=True):
    """The account that moves refs: a user with their teams in the owner organization and their level.

    A deploy key is not a user: its ``id`` is 0.
    """

    id: int
    teams: frozenset[int] = frozenset()
    level: Level = "write"
    is_deploy_key: bool = False

    def is_among(self, users: Collection[int], teams: Collection[int], *, deploy_keys: bool = False) -> bool:
        if self.is_deploy_key:
            return deploy_keys
        return self.id in users or not self.teams.isdisjoint(teams)


class Rules(msgspec.Struct, frozen=True):
    """The branch and tag protection rules of one repository."""

    branches: Sequence[BranchProtectionRow]
    tags: Sequence[TagProtectionRow]

    def of_branch(self, name: str) -> BranchProtectionRow | None:
        """Return the rule that protects a branch, or None."""
        return next((row for row in self.branches if globs.matches(row.rule_name, name)), None)

    def may_push(self, actor: Actor, name: str, tip: str) -> bool:
        """Return whether ``actor`` may push to a branch whose tip is ``tip``.

        A permission to change only unprotected files does not count. Rules about signatures and protected
        files are ignored, because they depend on the pushed commits.
        """
        row = self.of_branch(name)
        if row is not None and _refusal_of_push(read_rule(row), actor):
            return False
        refusals = self.refusals(actor, [RefChange(BRANCHES + name, tip, tip)])
        return all(refusal.forced_only or refusal.question for refusal in refusals)

    def contents_of(self, branch: str) -> ContentRule | None:
        """Return the rule for commits and files of a merge into a branch, or None."""
        row = self.of_branch(branch)
        if row is None:
            return None
        rule = _content_rule(row, read_rule(row))
        return rule if rule.signed or rule.protected else None

    def refusals(self, actor: Actor, changes: Iterable[RefChange]) -> list[RefRefusal]:
        """Return the reasons against the changes that ``actor`` may not make.

        A refusal with a ``question`` depends on the contents of the new commits.
        """
        return [refusal for change in changes for refusal in self._refusals(actor, change)]

    def require(self, actor: Actor, changes: Iterable[RefChange], *, forced: bool = False) -> None:
        """Raise Denied with the reason unless ``actor`` may make all changes. Contents are not checked.

        With ``forced``, also raise Denied if ``actor`` may not force the changes.
        """
        for refusal in self.refusals(actor, changes):
            if not refusal.question and (forced or not refusal.forced_only):
                raise Denied(refusal.reason)

    def _refusals(self, actor: Actor, change: RefChange) -> Iterator[RefRefusal]:
        if change.after != ZERO_OID and ends_like_an_id(change.name):
            yield RefRefusal(change.name, LIKE_AN_ID)
            return
        for prefix, kind in ((BRANCHES, "branch"), (TAGS, "tag")):
            if not change.name.startswith(prefix):
                continue
            name = change.name.removeprefix(prefix)
            if change.after != ZERO_OID and not is_valid_ref_name(name):
                yield RefRefusal(
                    change.name, f"a {kind} cannot have this name, because a URL could not contain it"
                )
            elif kind == "branch":
                yield from self._of_branch(actor, name, change)
            else:
                yield from self._of_tag(actor, name, change)

    def _of_branch(self, actor: Actor, name: str, change: RefChange) -> Iterator[RefRefusal]:
        row = self.of_branch(name)
        if row is None:
            return
        rule, text = read_rule(row), f"the rule {row.rule_name!r} protects the branch {name!r}"
        if change.after == ZERO_OID:
            yield RefRefusal(change.name, f"{text}: it must not be deleted")
            return
        refusal = _refusal_of_push(rule, actor)
        earlier = self._earlier(row) if change.before == ZERO_OID else ()
        contents = _content_rule(row, rule, refusal, earlier)
        if refusal and (change.before == ZERO_OID or not contents.unprotected):
            yield RefRefusal(change.name, f"{text}: {refusal}")
            return
        may_force = (
            not refusal
            and rule.enable_force_push
            and (
                not rule.enable_force_push_allowlist
                or actor.is_among(
                    rule.force_push_allowlist_usernames,
                    rule.force_push_allowlist_teams,
                    deploy_keys=rule.force_push_allowlist_deploy_keys,
                )
            )
        )
        if not may_force and change.before != ZERO_OID:
            yield RefRefusal(
                change.name, f"{text}: its history must not be replaced (no force push)", forced_only=True
            )
        if contents.signed or contents.protected or contents.refusal:
            yield RefRefusal(change.name, "", question=contents.question())

    def _earlier(self, row: BranchProtectionRow) -> tuple[str, ...]:
        """Return the patterns of earlier rules that may match the branches of this rule, too."""
        names = (one.rule_name for one in takewhile(lambda one: one is not row, self.branches))
        return tuple(name for name in names if not globs.is_plain(name) or globs.matches(row.rule_name, name))

    def _of_tag(self, actor: Actor, name: str, change: RefChange) -> Iterator[RefRefusal]:
        rows = [row for row in self.tags if globs.matches(row.name_pattern, name)]
        if rows and not any(actor.is_among(read_ids(row.user_ids), read_ids(row.team_ids)) for row in rows):
            yield RefRefusal(change.name, f"the rule {rows[0].name_pattern!r} protects the tag {name!r}")


def actor_of(principal: Principal, row: RepositoryRow, level: Level) -> Actor:
    """Return ``principal`` as an actor for the rules of the repository."""
    membership = principal.organizations.get(row.owner_id)
    return Actor(principal.id, frozenset(membership.teams if membership else ()), level)


async def rules_of(db: Executor, repository_id: int) -> Rules:
    """Load all rules of a repository. Takes two statements."""
    return Rules(
        await protections.list_branch_rules(db, repository_id),
        await protections.list_tag_rules(db, repository_id),
    )


NO_RULES = Rules((), ())


async def branch_rules_of(db: Executor, repository_id: int) -> Rules:
    """Load only the branch rules of a repository."""
    return Rules(await protections.list_branch_rules(db, repository_id), ())


def may_merge(rule: BranchRule, actor: Actor) -> bool:
    """Return whether ``actor`` may merge into the branches of a rule."""
    return not rule.enable_merge_whitelist or actor.is_among(
        rule.merge_whitelist_usernames, rule.merge_whitelist_teams
    )


async def merge_rule(
    db: Executor, rules: Rules, repository_id: int, actor: Actor, branch: str, head_sha: str
) -> MergeRule:
    """Return the conditions for a merge of ``head_sha`` into ``branch`` by ``actor``."""
    protection = rules.of_branch(branch)
    if protection is None:
        return MergeRule()
    rule = read_rule(protection)
    missing: list[str] = []
    if rule.enable_status_check:
        missing = await _missing_checks(db, repository_id, rule, head_sha)
    bypasses = rule.enable_bypass_allowlist and actor.is_among(
        rule.bypass_allowlist_usernames, rule.bypass_allowlist_teams
    )
    return MergeRule(
        rule_name=protection.rule_name,
        may_merge=may_merge(rule, actor),
        may_override=bypasses or (reaches(actor.level, "admin") and not rule.block_admin_merge_override),
        missing_checks=missing,
        required_approvals=rule.required_approvals,
        approvers=rule.approvals_whitelist_username if rule.enable_approvals_whitelist else None,
        approving_teams=rule.approvals_whitelist_teams if rule.enable_approvals_whitelist else [],
        block_on_rejected_reviews=rule.block_on_rejected_reviews,
        block_on_official_review_requests=rule.block_on_official_review_requests,
        block_on_outdated_branch=rule.block_on_outdated_branch,
        dismiss_stale_approvals=rule.dismiss_stale_approvals,
        ignore_stale_approvals=rule.ignore_stale_approvals,
    )


def require_merge(rule: MergeRule, *, override: bool) -> None:
    """Raise NotAllowed unless the whitelist and the status checks of the rule allow the merge.

    With ``override``, nothing is checked if the rule lets the actor override it. The service issues checks
    the reviews.
    """
    if override and rule.may_override:
        return
    text = f"the rule {rule.rule_name!r} protects the branch"
    if not rule.may_merge:
        raise NotAllowed(f"{text}: you are not among those who may merge into it")
    if rule.missing_checks:
        raise NotAllowed(f"{text}: these checks have not succeeded: {', '.join(rule.missing_checks)}")


def require_up_to_date(rule: MergeRule, base: str, merge_base: str | None, *, override: bool) -> None:
    """Raise Conflict if the rule requires an up-to-date head branch and the head is behind ``base``.

    The service issues has checked this before, but the base may have moved since then.
    """
    if rule.block_on_outdated_branch and merge_base != base and not (override and rule.may_override):
        raise Conflict(f"the rule {rule.rule_name!r} protects the branch: the head branch is behind it")


def check_pattern(pattern: str, field: str) -> str:
    """Return ``pattern`` if it is a valid pattern of branches or tags. Raises Invalid."""
    if not pattern or len(pattern) > LONGEST_BRANCH or not pattern.isprintable():
        raise Invalid.field(field, "format", "is neither a name nor a pattern of names")
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        raise Invalid.field(
            field, "format", "regular expressions are not supported; use *, **, ?, [a-z], {a,b}"
        )
    try:
        globs.compile_pattern(pattern)
    except globs.InvalidPattern as error:
        raise Invalid.field(field, "format", str(error)) from None
    return pattern


def check_file_patterns(text: str, field: str) -> str:
    """Return ``text`` if it has valid file patterns, separated by semicolons. Raises Invalid."""
    patterns = read_patterns(text)
    if len(patterns) > MOST_PATTERNS:
        raise Invalid.field(field, "limit", f"has more than {MOST_PATTERNS} patterns")
    for pattern in patterns:
        check_pattern(pattern, field)
    return text


def _refusal_of_push(rule: BranchRule, actor: Actor) -> str:
    """Return the reason why ``actor`` may not push to the branches of a rule; empty if pushes are allowed."""
    if not rule.enable_push:
        return "it changes by pull requests only"
    if rule.enable_push_whitelist and not actor.is_among(
        rule.push_whitelist_usernames,
        rule.push_whitelist_teams,
        deploy_keys=rule.push_whitelist_deploy_keys,
    ):
        return "you are not among those who may push to it"
    return ""


def _content_rule(
    row: BranchProtectionRow, rule: BranchRule, refusal: str = "", earlier: tuple[str, ...] = ()
) -> ContentRule:
    return ContentRule(
        repository_id=row.repository_id,
        rule_name=row.rule_name,
        signed=rule.require_signed_commits,
        protected=read_patterns(rule.protected_file_patterns),
        unprotected=read_patterns(rule.unprotected_file_patterns),
        refusal=refusal,
        earlier=earlier,
    )


async def _missing_checks(db: Executor, repository_id: int, rule: BranchRule, head_sha: str) -> list[str]:
    """Return the patterns of contexts that have not passed.

    Without patterns, return the contexts that have not passed, or "any" if there are no statuses.
    """
    rows = await statuses.newest_of_each_context(db, repository_id, head_sha)
    states = {row.context: row.state for row in rows}
    if not rule.status_check_contexts:
        failing = sorted(context for context, state in states.items() if state not in PASSED)
        return failing or ([] if states else ["any"])
    missing = []
    for pattern in rule.status_check_contexts:
        reported = [state for context, state in states.items() if globs.matches(pattern, context)]
        if not reported or any(state not in PASSED for state in reported):
            missing.append(pattern)
    return missing
