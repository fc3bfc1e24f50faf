"""What the protection of the base branch demands of a pull request: approvals, no refusals, a head that is up to date."""

from collections.abc import Collection, Sequence

from ingot_chassis.db.driver import Executor
from ingot_contracts.identity import Team
from ingot_contracts.repos import MergeRule
from ingot_issues.core.merges import MayCome, MergeRefused
from ingot_issues.store import reviews
from ingot_issues.store.issue_rows import AnyPull
from ingot_issues.store.reviews import DecisionRow
from ingot_issues.store.states import ReviewState

OUTDATED = "the head branch is behind the base branch"
OUTSIDER = "you are not among those who may merge into it"


def is_official(rule: MergeRule, account_id: int, team_ids: Collection[int], *, writes: bool) -> bool:
    """Whether the decision of somebody counts for the rule. ``writes``: they may write to the repository."""
    if rule.approvers is None:
        return writes
    return account_id in rule.approvers or not set(rule.approving_teams).isdisjoint(team_ids)


def is_official_team(rule: MergeRule, team: Team, *, has_repository: bool) -> bool:
    """Whether the rule counts the decision of a team's members."""
    if rule.approvers is None:
        return has_repository and team.permission != "read"
    return team.id in rule.approving_teams


async def refuse_unmet(db: Executor, rule: MergeRule, pull: AnyPull, *, outdated: bool) -> None:
    """Raises MayCome with everything that is missing, and MergeRefused for somebody who may not merge at all.

    ``outdated``: the base has commits that the head lacks. Checks are those of the head that was asked about.
    """
    refuse_outsider(rule)
    if missing := await _missing(db, rule, pull, outdated=outdated):
        raise MayCome(f"{_words(rule)}: {'; '.join(missing)}")


async def list_unmet(db: Executor, rule: MergeRule, pull: AnyPull, *, outdated: bool) -> list[str]:
    """The same as a list, for everybody."""
    missing = [OUTSIDER] if rule.rule_name and not rule.may_merge else []
    missing += await _missing(db, rule, pull, outdated=outdated)
    return [f"{_words(rule)}: {reason}" for reason in missing]


async def _missing(db: Executor, rule: MergeRule, pull: AnyPull, *, outdated: bool) -> list[str]:
    """What may still come. Two statements."""
    if not rule.rule_name:
        return []
    decisions = await reviews.list_decisions(db, pull.id)
    missing = _missing_reviews(rule, decisions, pull.head_sha)
    if rule.block_on_official_review_requests and await reviews.count_official_requests(db, pull.id):
        missing.append("reviews are requested")
    if rule.block_on_outdated_branch and outdated:
        missing.append(OUTDATED)
    if rule.missing_checks:
        missing.append(f"these checks have not succeeded: {', '.join(rule.missing_checks)}")
    return missing


def refuse_outsider(rule: MergeRule) -> None:
    """Raises MergeRefused for somebody who may not merge into the branch at all."""
    if rule.rule_name and not rule.may_merge:
        raise MergeRefused(f"{_words(rule)}: {OUTSIDER}")


def _words(rule: MergeRule) -> str:
    return f"the rule {rule.rule_name!r} protects the branch"


def _missing_reviews(rule: MergeRule, decisions: Sequence[DecisionRow], head_sha: str) -> list[str]:
    """Only the latest decision of each person counts."""
    latest = {row.author_id: row for row in decisions}
    counting = [
        row for row in latest.values() if row.official and not row.dismissed and _may_count(rule, row)
    ]
    approvals = sum(
        row.state == ReviewState.APPROVED and (row.commit_sha == head_sha or not rule.ignore_stale_approvals)
        for row in counting
    )
    missing = []
    if approvals < rule.required_approvals:
        missing.append(f"it has {approvals} of {rule.required_approvals} approvals")
    if rule.block_on_rejected_reviews and any(row.state == ReviewState.REQUEST_CHANGES for row in counting):
        missing.append("changes are requested")
    return missing


def _may_count(rule: MergeRule, row: DecisionRow) -> bool:
    """The rule may have changed since the review. Who was in a team then, still counts."""
    return rule.approvers is None or bool(rule.approving_teams) or row.author_id in rule.approvers
