"""Rules of a branch for merges into it."""

import msgspec


class MergeRule(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/merge-rule?branch=&head=: the rule for merging ``head`` into a branch.

    It applies to the caller, or to ``&user={id}``. ``&unattended=true``: no user, and no check of access.
    Without ``rule_name`` the branch is not protected.

    repos itself rejects a merge (405) if ``may_merge`` is false, or if statuses in ``missing_checks`` have
    not succeeded. With ``block_on_outdated_branch`` it rejects a head that is behind (409).
    ``?override=true`` skips these checks if ``may_override`` is true.

    issues checks the reviews. Approvals of ``approvers`` (user ids) and of ``approving_teams`` count. If
    ``approvers`` is None, approvals of all users with write access count.
    """

    rule_name: str = ""
    may_merge: bool = True
    may_override: bool = False
    missing_checks: list[str] = []
    required_approvals: int = 0
    approvers: list[int] | None = None
    approving_teams: list[int] = []
    block_on_rejected_reviews: bool = False
    block_on_official_review_requests: bool = False
    block_on_outdated_branch: bool = False
    dismiss_stale_approvals: bool = False
    ignore_stale_approvals: bool = False

    @property
    def excludes_caller(self) -> bool:
        """Return True if the rule never lets the caller merge, whatever the state of the pull request."""
        return bool(self.rule_name) and not self.may_merge
