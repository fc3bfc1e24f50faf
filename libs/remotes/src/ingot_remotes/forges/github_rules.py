"""Answers of GitHub about protected branches, and their conversion to rules.

Based on https://docs.github.com/rest/branches/branch-protection (version 2022-11-28). A rule for a pattern is
read as one rule for each branch that exists. Apps, rulesets, linear histories and code owners do not come.
"""

import re

import msgspec

from ingot_remotes.forges.gitea_answers import PEOPLE_OF_RULES
from ingot_remotes.forges.github_answers import UserAnswer
from ingot_remotes.interface.answers import Count
from ingot_remotes.interface.source import SourceBranchRule


class ProtectedBranch(msgspec.Struct):
    """A branch in the list of protected branches."""

    name: str


class _Switch(msgspec.Struct, frozen=True):
    enabled: bool = False


class _Team(msgspec.Struct):
    slug: str


class _Allowed(msgspec.Struct):
    """The people and teams that are allowed to do something."""

    users: list[UserAnswer] = []
    teams: list[_Team] = []


class _RequiredReviews(msgspec.Struct):
    dismiss_stale_reviews: bool = False
    require_code_owner_reviews: bool = False
    require_last_push_approval: bool = False
    required_approving_review_count: Count = 0
    bypass_pull_request_allowances: _Allowed | None = None


class _Check(msgspec.Struct):
    """A check. ``app_id`` is the only app that may report it; null or -1 for any."""

    context: str
    app_id: int | None = None


class _RequiredChecks(msgspec.Struct):
    strict: bool = False
    contexts: list[str] = []
    checks: list[_Check] = []


class ProtectionAnswer(msgspec.Struct):
    """The protection of a branch. ``restrictions`` is null if everybody with write access may push."""

    required_status_checks: _RequiredChecks | None = None
    required_pull_request_reviews: _RequiredReviews | None = None
    restrictions: _Allowed | None = None
    enforce_admins: _Switch = _Switch()
    allow_force_pushes: _Switch = _Switch()
    required_signatures: _Switch = _Switch()
    required_linear_history: _Switch = _Switch()
    required_conversation_resolution: _Switch = _Switch()
    lock_branch: _Switch = _Switch()

    def users(self) -> list[UserAnswer]:
        """Return the people that the rule allows something."""
        return [user for group in self._groups() for user in group.users]

    def teams(self) -> list[str]:
        """Return the names of the teams that the rule allows something."""
        return sorted({team.slug for group in self._groups() for team in group.teams})

    def missing(self) -> list[str]:
        """Return names of what the rule demands and Ingot cannot."""
        reviews = self.required_pull_request_reviews or _RequiredReviews()
        checks = self.required_status_checks or _RequiredChecks()
        demands = {
            "reviews of code owners": reviews.require_code_owner_reviews,
            "approval of the latest push": reviews.require_last_push_approval,
            "checks of certain apps": any(one.app_id not in (None, -1) for one in checks.checks),
            "a linear history": self.required_linear_history.enabled,
            "resolved conversations": self.required_conversation_resolution.enabled,
        }
        return [name for name, is_demanded in demands.items() if is_demanded]

    def _groups(self) -> list[_Allowed]:
        reviews = self.required_pull_request_reviews or _RequiredReviews()
        groups = (self.restrictions, reviews.bypass_pull_request_allowances)
        return [group for group in groups if group is not None]


def rule_of(branch: str, answer: ProtectionAnswer) -> SourceBranchRule:
    """Return the rule of a branch. It allows at most what GitHub allows.

    Where reviews are required, only people who may bypass them push. Where checks are required, no one does:
    GitHub refuses commits without them, and Ingot asks for them in merges alone.
    """
    reviews, checks = answer.required_pull_request_reviews, answer.required_status_checks
    mergers = None if answer.restrictions is None else _logins(answer.restrictions)
    pushers = mergers
    if reviews is not None:
        bypassing = _logins(reviews.bypass_pull_request_allowances or _Allowed())
        pushers = [login for login in bypassing if mergers is None or login in mergers]
    if checks is not None:
        pushers = []
    if answer.lock_branch.enabled:
        mergers = pushers = []
    is_limited, may_force = pushers is not None, answer.allow_force_pushes.enabled
    contexts = [*checks.contexts, *(one.context for one in checks.checks)] if checks is not None else []
    people: dict[str, list[str]] = {name: [] for name in PEOPLE_OF_RULES}
    people |= {
        "push_whitelist_usernames": pushers or [],
        "force_push_allowlist_usernames": pushers or [] if may_force else [],
        "merge_whitelist_usernames": mergers or [],
    }
    return SourceBranchRule(
        pattern=_literal(branch),
        priority=0,
        people=people,
        teams=answer.teams(),
        missing=answer.missing(),
        fields={
            "enable_push": pushers is None or bool(pushers),
            "enable_push_whitelist": is_limited,
            "enable_force_push": may_force and (pushers is None or bool(pushers)),
            "enable_force_push_allowlist": is_limited,
            "enable_merge_whitelist": mergers is not None,
            "enable_status_check": checks is not None,
            "status_check_contexts": [_literal(one) for one in dict.fromkeys(contexts)],
            "block_on_outdated_branch": checks is not None and checks.strict,
            "required_approvals": min(reviews.required_approving_review_count, 100) if reviews else 0,
            "dismiss_stale_approvals": reviews is not None and reviews.dismiss_stale_reviews,
            "block_on_rejected_reviews": reviews is not None,
            "block_admin_merge_override": answer.enforce_admins.enabled,
            "require_signed_commits": answer.required_signatures.enabled,
            "protected_file_patterns": "",
            "unprotected_file_patterns": "",
        },
    )


def _literal(name: str) -> str:
    """Return the pattern that only this name matches."""
    return re.sub(r"[\\*?\[\]{}]", r"\\\g<0>", name)


def _logins(allowed: _Allowed) -> list[str]:
    return [user.login for user in allowed.users]
