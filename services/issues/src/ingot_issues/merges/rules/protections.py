"""Requirements of branch protection: approvals, no rejections, a head that is up to date.

Reviews are checked at the time of the merge: by the current rule, the current access of their authors, and
the current changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ingot_chassis.db.database import Database
from ingot_contracts.issues.merges import DemandKind
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.clients.repos import HttpRepos, Official
from ingot_issues.merges.rules.recording import MergeRefused, NotYetMergeable
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews import store as reviews
from ingot_issues.reviews.rules.targets import is_stale
from ingot_issues.reviews.store import DecisionRow, ReviewerRow

OUTSIDER = "you are not among those who may merge into it"


class Demand(NamedTuple):
    """An unmet requirement of a rule. ``reason`` says what is missing."""

    kind: DemandKind
    reason: str


async def refuse_unmet(
    db: Database, repos: HttpRepos, rule: MergeRule, pull: AnyPull, *, outdated: bool
) -> None:
    """Raise NotYetMergeable with all unmet requirements, or MergeRefused if the caller may never merge.

    ``outdated``: the base has commits that the head lacks. ``rule`` has the checks of the head.
    """
    refuse_outsider(rule)
    if missing := await _missing(db, repos, rule, pull, outdated=outdated):
        raise NotYetMergeable(f"{_prefix(rule)}: {'; '.join(demand.reason for demand in missing)}")


async def list_unmet(
    db: Database, repos: HttpRepos, rule: MergeRule, pull: AnyPull, *, outdated: bool
) -> list[Demand]:
    """Return all unmet requirements, each with the name of the rule.

    A rule that excludes the caller is an unmet requirement, too.
    """
    missing = [Demand("outsider", OUTSIDER)] if rule.excludes_caller else []
    missing += await _missing(db, repos, rule, pull, outdated=outdated)
    return [Demand(kind, f"{_prefix(rule)}: {reason}") for kind, reason in missing]


async def _missing(
    db: Database, repos: HttpRepos, rule: MergeRule, pull: AnyPull, *, outdated: bool
) -> list[Demand]:
    """Return the unmet requirements that can still be met. Takes two statements and one call to repos."""
    if not rule.rule_name:
        return []
    async with db.read() as reader:
        decisions = await reviews.list_decisions(reader, pull.id)
        requests = await reviews.list_open_requests(reader, pull.id)
    official = await repos.official_reviewers(
        pull.repository_id,
        pull.base_branch,
        {row.author_id for row in decisions} | {row.author_id for row in requests if row.team_id is None},
        {row.team_id for row in requests if row.team_id is not None},
    )
    missing = _missing_reviews(rule, decisions, official, pull)
    if rule.block_on_official_review_requests and any(_is_official(row, official) for row in requests):
        missing.append(Demand("reviews_requested", "reviews are requested"))
    if rule.block_on_outdated_branch and outdated:
        missing.append(Demand("outdated", "the head branch is behind the base branch"))
    if rule.missing_checks:
        checks = ", ".join(rule.missing_checks)
        missing.append(Demand("checks", f"these checks have not succeeded: {checks}"))
    return missing


def _is_official(request: ReviewerRow, official: Official) -> bool:
    if request.team_id is not None:
        return request.team_id in official.teams
    return request.author_id in official.accounts


def refuse_outsider(rule: MergeRule) -> None:
    """Raise MergeRefused if the rule never allows the caller to merge into the branch."""
    if rule.excludes_caller:
        raise MergeRefused(f"{_prefix(rule)}: {OUTSIDER}")


def _prefix(rule: MergeRule) -> str:
    return f"the rule {rule.rule_name!r} protects the branch"


def _missing_reviews(
    rule: MergeRule, decisions: Sequence[DecisionRow], official: Official, pull: AnyPull
) -> list[Demand]:
    """Return the requirements about reviews that are unmet.

    Only the latest decision of each official reviewer counts, unless it is dismissed or the author's own.
    """
    latest = {row.author_id: row for row in decisions}
    counting = [
        row
        for row in latest.values()
        if row.author_id in official.accounts and row.author_id != pull.author_id and not row.dismissed
    ]
    takes_stale = not (rule.dismiss_stale_approvals or rule.ignore_stale_approvals)
    approvals = sum(
        row.state == ReviewState.APPROVED and (takes_stale or not is_stale(row, pull)) for row in counting
    )
    missing = []
    if approvals < rule.required_approvals:
        missing.append(Demand("approvals", f"it has {approvals} of {rule.required_approvals} approvals"))
    if rule.block_on_rejected_reviews and any(row.state == ReviewState.REQUEST_CHANGES for row in counting):
        missing.append(Demand("changes_requested", "changes are requested"))
    return missing
