"""Reasons that block a merge of a pull request now, for display before a merge."""

from asyncio import gather
from collections.abc import Callable

from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, Denied, NotFound
from ingot_chassis.security.principal import Principal
from ingot_contracts.issues.merges import MergeRefusal, NotMergeable
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import MERGE_STYLES
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import may_write, require
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules.protections import list_unmet
from ingot_issues.merges.rules.recording import (
    NotYetMergeable,
    refuse_blocked_merge,
    refuse_draft,
    refuse_ended,
)

_NOT_MERGEABLE: dict[NotMergeable, str] = {
    "conflict": "the branches conflict",
    "no_base_branch": "the base branch is gone",
    "comparing": "the branches are still being compared",
}


async def why_not_mergeable(
    repos: HttpRepos, pull: PullDetails, repository_id: int, principal_token: str
) -> NotMergeable:
    """Return the reason why a pull request is not mergeable.

    A conflict is known only if the branches have not moved since the last comparison. Otherwise the reason is
    "comparing".
    """
    base, head = await gather(
        _tip(repos, repository_id, pull.base_branch, principal_token),
        _tip(repos, pull.head_repository_id, pull.head_branch, principal_token),
    )
    if not base:
        return "no_base_branch"
    # If a head branch is deleted, or hidden from the caller, the commits kept by repos are merged.
    is_compared = base == pull.base_sha and head in ("", pull.head_sha)
    return "conflict" if is_compared else "comparing"


async def _tip(repos: HttpRepos, repository_id: int, branch: str, principal_token: str) -> str:
    """Return the tip of a branch; empty if the caller cannot see the branch."""
    try:
        return await repos.branch_tip(repository_id, branch, principal_token)
    except (NotFound, Denied):
        return ""


async def list_refusals(
    db: Database,
    repos: HttpRepos,
    access: RepositoryAccess,
    principal: Principal,
    pull: PullDetails,
    rule: MergeRule | None,
    not_mergeable: NotMergeable | None,
) -> list[MergeRefusal]:
    """Return the reasons for which ``saga.merge_pull`` would fail, if they are recorded in this service.

    Takes at most three statements and one call to repos. ``not_mergeable`` is the result of
    ``why_not_mergeable``. ``rule`` is the rule of the base branch, only for callers with write access. Other
    callers see neither blocking issues nor the rule. repos checks signatures, protected files and
    requirements of a style only during a merge.
    """
    if ended := _refusal_message(refuse_ended, pull):
        return [MergeRefusal(ended, "ended")]
    repository, refusals = access.repository, []
    if denied := _refusal_message(require, access, principal, "write", "pulls"):
        refusals.append(MergeRefusal(denied, "access"))
    if is_draft := _refusal_message(refuse_draft, pull):
        refusals.append(MergeRefusal(is_draft, "draft"))
    if repository.archived and not may_write(access):
        refusals.append(MergeRefusal("the repository is archived", "archived"))
    if not any(getattr(repository, allows) for allows in MERGE_STYLES.values()):
        refusals.append(MergeRefusal("the repository allows no style of merging", "styles"))
    if rule is not None:
        try:
            async with db.read() as reader:
                await refuse_blocked_merge(reader, repository, pull)
        except NotYetMergeable as refused:
            refusals.append(MergeRefusal(str(refused), "blocked", may_pass=True))
    if not_mergeable:
        refusals.append(MergeRefusal(_NOT_MERGEABLE[not_mergeable], not_mergeable, recorded=True))
    if rule is not None:
        unmet = await list_unmet(db, repos, rule, pull, outdated=pull.merge_base != pull.base_sha)
        refusals += [
            MergeRefusal(
                reason,
                kind,
                rule.may_override,
                recorded=kind == "outdated",
                may_pass=kind != "outsider",
            )
            for kind, reason in unmet
        ]
    return refusals


def _refusal_message(refuse: Callable[..., None], *subjects: object) -> str:
    """Return the message of the error that ``refuse`` raises; empty if it raises none."""
    try:
        refuse(*subjects)
    except ApiError as error:
        return str(error)
    return ""
