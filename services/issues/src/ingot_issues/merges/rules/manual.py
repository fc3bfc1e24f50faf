"""Records of manual merges: merges with git that no push event shows."""

import uuid

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.repos.merges import Merged
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules import recording as merges
from ingot_issues.merges.rules.protections import refuse_outsider
from ingot_issues.pulls.rules.heads import is_full_id
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.references.rules import references_of


async def record_manual_merge(
    db: Database,
    repos: HttpRepos,
    context: RepositoryContext,
    pull: PullDetails,
    sha: str,
    principal_token: str,
    *,
    overrides: bool,
) -> None:
    """Record a manual merge that was pushed as the commit ``sha`` of the base branch.

    Any commit of the base branch is accepted, because after a squash or rebase the head is not its parent.
    The caller must be allowed to merge into the branch or, with ``overrides``, to override its rule. Raises
    Invalid, NotAllowed, Conflict and MergeRefused.
    """
    merges.refuse_ended(pull)
    if not context.repository.allow_manual_merge:
        raise merges.MergeRefused("the repository does not allow the merge style manually-merged")
    rule = await repos.merge_rule(
        context.repository.id, pull.base_branch, pull.head_sha, principal_token, actor_id=context.actor_id
    )
    if not (overrides and rule.may_override):
        refuse_outsider(rule)
    if not is_full_id(sha):
        raise Invalid.field("merge_commit_id", "invalid", "is not the full id of a commit")
    try:
        base_sha = await repos.branch_tip(context.repository.id, pull.base_branch, principal_token)
        missing = await repos.history(context.repository.id, base_sha, sha, principal_token, limit=1)
    except NotFound:
        missing = None
    if missing is None or missing.total:
        raise Invalid.field("merge_commit_id", "unknown", "is no commit of the base branch")
    async with db.read() as reader:
        await merges.refuse_blocked_merge(reader, context.repository, pull)
    pull_references = await references_of(pull.title, pull.body)
    async with db.transaction() as tx:
        await context.lock(tx)
        if not await merges.claim_merge(tx, pull, str(uuid.uuid4()), takes_branch=False):
            await merges.refuse_claim(tx, pull)
        await merges.record_merge(tx, context, pull, Merged(sha=sha), pull_references)
