"""Every reason why somebody cannot merge a pull request now, for those who look before they merge."""

from asyncio import gather
from collections.abc import Callable

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import ApiError, Denied, NotFound
from ingot_chassis.security.principal import Principal
from ingot_contracts.pulls import MERGE_STYLES
from ingot_contracts.repos import MergeRule, RepositoryAccess
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.core.access import may_write, require
from ingot_issues.core.merges import MayCome, refuse_blocked_merge, refuse_draft, refuse_ended
from ingot_issues.core.protections import OUTDATED, OUTSIDER, list_unmet
from ingot_issues.store.issues import PullDetails

CONFLICT = "the branches conflict"
NO_BASE_BRANCH = "the base branch is gone"
STILL_COMPARED = "the branches are still being compared"


class MergeRefusal(msgspec.Struct):
    """A reason why the caller cannot merge. ``overridable``: they can all the same, with `force_merge`.

    ``recorded``: it held when the branches were last compared, which a merge does anew. ``may_pass``: a merge with
    `merge_when_checks_succeed` waits until it is gone.
    """

    reason: str
    overridable: bool = False
    recorded: bool = False
    may_pass: bool = False


async def why_not_mergeable(
    repos: HttpRepos, pull: PullDetails, repository_id: int, principal_token: str
) -> str:
    """Why it counts as not mergeable: only branches that are where they were compared last are known to conflict."""
    base, head = await gather(
        _tip(repos, repository_id, pull.base_branch, principal_token),
        _tip(repos, pull.head_repository_id, pull.head_branch, principal_token),
    )
    if not base:
        return NO_BASE_BRANCH
    # A head branch that is gone, or hidden from the caller, leaves what repos keeps of it.
    is_compared = base == pull.base_sha and head in ("", pull.head_sha)
    return CONFLICT if is_compared else STILL_COMPARED


async def _tip(repos: HttpRepos, repository_id: int, branch: str, principal_token: str) -> str:
    """Where a branch is; empty if the caller finds none."""
    try:
        return await repos.branch_tip(repository_id, branch, principal_token)
    except (NotFound, Denied):
        return ""


async def list_refusals(
    db: Executor,
    access: RepositoryAccess,
    principal: Principal,
    pull: PullDetails,
    rule: MergeRule | None,
    not_mergeable: str,
) -> list[MergeRefusal]:
    """What ``merge_saga.merge_pull`` would say, as far as it is recorded here; at most three statements.

    ``not_mergeable`` as of ``why_not_mergeable``, if it is not. ``rule`` is that of the base for who may write. Signatures, protected files and what a style demands are judged by repos when it merges. Whoever may not write hears
    neither of what blocks it nor of the rule, which they may not read.
    """
    if ended := _words(refuse_ended, pull):
        return [MergeRefusal(ended)]
    reasons = [_words(require, access, principal, "write", "pulls"), _words(refuse_draft, pull)]
    repository = access.repository
    if repository.archived and not may_write(access):
        reasons.append("the repository is archived")
    if not any(getattr(repository, allows) for allows in MERGE_STYLES.values()):
        reasons.append("the repository allows no style of merging")
    refusals = [MergeRefusal(reason) for reason in reasons if reason]
    if rule is not None:
        try:
            await refuse_blocked_merge(db, repository, pull)
        except MayCome as refused:
            refusals.append(MergeRefusal(str(refused), may_pass=True))
    if not_mergeable:
        refusals.append(MergeRefusal(not_mergeable, recorded=True))
    if rule is not None:
        unmet = await list_unmet(db, rule, pull, outdated=pull.merge_base != pull.base_sha)
        refusals += [
            MergeRefusal(
                reason,
                rule.may_override,
                recorded=reason.endswith(OUTDATED),
                may_pass=not reason.endswith(OUTSIDER),
            )
            for reason in unmet
        ]
    return refusals


def _words(refuse: Callable[..., None], *subjects: object) -> str:
    """Why it refuses; empty if it does not."""
    try:
        refuse(*subjects)
    except ApiError as error:
        return str(error)
    return ""
