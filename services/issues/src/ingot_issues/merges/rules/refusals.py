"""Reasons that block a merge of a pull request now, shown before a merge."""

from asyncio import gather
from collections.abc import Callable

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, Denied, NotFound
from ingot_chassis.security.principal import Principal
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import MERGE_STYLES
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import may_write, require
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules.protections import OUTDATED, OUTSIDER, list_unmet
from ingot_issues.merges.rules.recording import (
    NotYetMergeable,
    refuse_blocked_merge,
    refuse_draft,
    refuse_ended,
)

CONFLICT = "the branches conflict"
NO_BASE_BRANCH = "the base branch is gone"
STILL_COMPARED = "the branches are still being compared"


class MergeRefusal(msgspec.Struct):
    """A reason why the caller cannot merge. ``overridable``: `force_merge` ignores it.

    ``recorded``: it is from the last comparison of the branches. A merge compares them again. ``may_pass``: a
    merge with `merge_when_checks_succeed` waits for it.
    """

    reason: str
    overridable: bool = False
    recorded: bool = False
    may_pass: bool = False


async def why_not_mergeable(
    repos: HttpRepos, pull: PullDetails, repository_id: int, principal_token: str
) -> str:
    """Return the reason for not mergeable. A conflict is known only if the branches have not moved since."""
    base, head = await gather(
        _tip(repos, repository_id, pull.base_branch, principal_token),
        _tip(repos, pull.head_repository_id, pull.head_branch, principal_token),
    )
    if not base:
        return NO_BASE_BRANCH
    # If a head branch is deleted, or hidden from the caller, the commits kept by repos are merged.
    is_compared = base == pull.base_sha and head in ("", pull.head_sha)
    return CONFLICT if is_compared else STILL_COMPARED


async def _tip(repos: HttpRepos, repository_id: int, branch: str, principal_token: str) -> str:
    """Return the tip of a branch, or "" if the caller cannot see it."""
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
    not_mergeable: str,
) -> list[MergeRefusal]:
    """List the reasons for which ``saga.merge_pull`` would fail, as far as they are recorded here.

    Costs at most three statements, and one request to repos. ``not_mergeable`` is the result of
    ``why_not_mergeable``. ``rule`` is the base's rule for callers with write access. repos checks signatures,
    protected files and demands of a style only in a merge. A caller without write access sees neither the
    blockers nor the rule.
    """
    if ended := _refusal_message(refuse_ended, pull):
        return [MergeRefusal(ended)]
    reasons = [
        _refusal_message(require, access, principal, "write", "pulls"),
        _refusal_message(refuse_draft, pull),
    ]
    repository = access.repository
    if repository.archived and not may_write(access):
        reasons.append("the repository is archived")
    if not any(getattr(repository, allows) for allows in MERGE_STYLES.values()):
        reasons.append("the repository allows no style of merging")
    refusals = [MergeRefusal(reason) for reason in reasons if reason]
    if rule is not None:
        try:
            async with db.read() as reader:
                await refuse_blocked_merge(reader, repository, pull)
        except NotYetMergeable as refused:
            refusals.append(MergeRefusal(str(refused), may_pass=True))
    if not_mergeable:
        refusals.append(MergeRefusal(not_mergeable, recorded=True))
    if rule is not None:
        unmet = await list_unmet(db, repos, rule, pull, outdated=pull.merge_base != pull.base_sha)
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


def _refusal_message(refuse: Callable[..., None], *subjects: object) -> str:
    """Return the message of the refusal, or ""."""
    try:
        refuse(*subjects)
    except ApiError as error:
        return str(error)
    return ""
