"""A merge of a pull request: claim it, let repos merge it, record it, delete the head branch.

Each step commits by itself, and repos is called in between. If the process dies before the merge is recorded,
the event of repos' push records it. If it dies before the branch is deleted, a job deletes it.
"""

import asyncio
import contextlib
import uuid

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound, Unavailable
from ingot_contracts.repos.comparisons import Compare, Comparison
from ingot_contracts.repos.merges import Merge, Merged
from ingot_issues.access.rules.repositories import in_unit, may_write
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules import recording as merges
from ingot_issues.merges.rules.protections import refuse_unmet
from ingot_issues.pulls.rules.mergeability import Outdated, record_comparisons
from ingot_issues.pulls.store import rows as pulls
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.references.rules import references_of
from ingot_issues.scheduled_merges.rules.options import MergeOptions


async def merge_pull(
    db: Database,
    repos: HttpRepos,
    context: RepositoryContext,
    pull: PullDetails,
    options: MergeOptions,
    principal_token: str | None,
) -> None:
    """Merge as the caller or, in a job without ``principal_token``, as the actor of ``context``.

    Raises NotAllowed if a merge is impossible, Conflict if a branch has moved, and MergeRefused with the
    unmet requirements. Raises TooLarge if the merge needs more CPU time than allowed.
    """
    merges.refuse_ended(pull)
    merges.refuse_other_base(pull, options.base_branch)
    merges.refuse_draft(pull)
    merges.refuse_style(context.repository, options.style)
    claim = str(uuid.uuid4())
    takes_branch = options.deletes_branch and await _may_write_to_head(repos, context, pull, principal_token)
    pull_references = await references_of(pull.title, pull.body)
    judged = False
    try:
        if not await db.run_alone(
            lambda alone: merges.claim_merge(alone, pull, claim, takes_branch=takes_branch), repeats=False
        ):
            async with db.read() as reader:
                await merges.refuse_claim(reader, pull)
        # The check runs under the claim: decisions that were committed before are included.
        await _refuse_unmet(db, repos, context, pull, options, principal_token)
        judged = True
        merged = await _merge(db, repos, context, pull, options, principal_token)
    except (ApiError, asyncio.CancelledError):
        # The claim ends even if repos may have merged: repos merges a number once, so another request is
        # safe. A job is cancelled when its lease is lost or its process ends, and the next one must not wait.
        former = None if judged else pull.takes_branch
        await asyncio.shield(_release(db, pull, claim, former))
        raise
    async with db.transaction() as tx:
        await merges.record_merge(tx, context, pull, merged, pull_references)
    if takes_branch:
        with contextlib.suppress(Unavailable):  # a job retries
            await delete_head_branch(db, repos, context, pull.id, principal_token)


async def _release(db: Database, pull: PullDetails, claim: str, takes_branch: bool | None) -> None:
    async with db.transaction() as tx:
        await pulls.release_merge(tx, pull.pull_id, claim, takes_branch=takes_branch)


async def delete_head_branch(
    db: Database,
    repos: HttpRepos,
    context: RepositoryContext,
    issue_id: int,
    principal_token: str | None = None,
) -> None:
    """Delete the head branch of a merged pull request, if the claim requests a deletion.

    Raises Unavailable. The branch stays if it has moved or if another pull request needs it. It also stays if
    the actor of ``context`` may not delete it. ``principal_token`` None: a job acts for the actor.
    """
    async with db.read() as reader:
        pull = await issue_rows.get_pull_by_id(reader, issue_id)
        if pull is None or not pull.takes_branch:
            return
        head = pull.head_repository_id, pull.head_branch
        needed = await pulls.is_head_of_another(reader, pull.pull_id, *head)
    deleted = False
    if not needed and merges.may_delete_head(pull, context.repository):
        try:
            await repos.delete_branch(*head, pull.head_sha, principal_token, actor_id=context.actor_id)
            deleted = True
        except Unavailable:
            raise
        except ApiError:  # it has moved, is deleted, or the actor may not delete it
            pass
    async with db.transaction() as tx:
        await merges.record_head_branch(tx, context, pull, deleted=deleted)


async def _merge(
    db: Database,
    repos: HttpRepos,
    context: RepositoryContext,
    pull: PullDetails,
    options: MergeOptions,
    principal_token: str | None,
) -> Merged:
    """Let repos merge the recorded changes or, if a branch has moved since, the current changes.

    In a job, a moved head is not merged: the comparison that follows tries the merge again.
    """

    async def merge(head_sha: str) -> Merged:
        request = _request(pull, options, head_sha)
        try:
            return await repos.merge(
                context.repository.id,
                request,
                principal_token,
                actor_id=context.actor_id,
                restricted=context.restricted,
                overrides=options.overrides,
            )
        except NotFound:
            raise NotAllowed("the base branch is deleted") from None

    moved = Conflict("the head branch has moved; look at its new commits, then merge again")
    if options.head_sha in ("", pull.head_sha):
        try:
            return await merge(pull.head_sha)
        except Conflict as conflict:
            moved = conflict
    comparison = None
    if principal_token is not None:
        comparison = await _compare(repos, context, pull, principal_token)
    recorded = pull.head_sha, pull.merge_base
    if comparison is None or (comparison.head_sha, comparison.merge_base) == recorded:
        raise moved
    if options.head_sha not in ("", comparison.head_sha):
        raise moved
    dismisses = await repos.dismisses_approvals(context.repository.id, pull.base_branch)
    try:
        async with db.transaction() as tx:
            await record_comparisons(tx, context, [(pull, comparison)], dismisses=dismisses)
    except Outdated:
        raise Conflict("a branch of the pull request moved while it was merged; merge it again") from None
    pull = msgspec.structs.replace(
        pull,
        base_sha=comparison.base_sha,
        head_sha=comparison.head_sha,
        merge_base=comparison.merge_base,
    )
    await _refuse_unmet(db, repos, context, pull, options, principal_token)
    return await merge(comparison.head_sha)


def _request(pull: PullDetails, options: MergeOptions, head_sha: str) -> Merge:
    usual_title = (
        f"{pull.title} (#{pull.number})"
        if options.style == "squash"
        else (
            f"Merge pull request '{pull.title}' (#{pull.number}) "
            f"from {pull.head_branch} into {pull.base_branch}"
        )
    )
    return Merge(
        number=pull.number,
        base_branch=pull.base_branch,
        head_sha=head_sha,
        style=options.style,
        title=options.title or usual_title,
        message=options.message,
        head_repository_id=pull.head_repository_id,
        head_branch=pull.head_branch,
        merge_base=pull.merge_base,
    )


async def _refuse_unmet(
    db: Database,
    repos: HttpRepos,
    context: RepositoryContext,
    pull: PullDetails,
    options: MergeOptions,
    principal_token: str | None,
) -> None:
    """Raise MergeRefused while open issues or the protection of the base branch block the merge."""
    rule = await repos.merge_rule(
        context.repository.id, pull.base_branch, pull.head_sha, principal_token, actor_id=context.actor_id
    )
    outdated = pull.merge_base != pull.base_sha
    if rule.block_on_outdated_branch and principal_token is not None:
        comparison = await _compare(repos, context, pull, principal_token)
        outdated = comparison is None or comparison.merge_base != comparison.base_sha
    async with db.read() as reader:
        await merges.refuse_blocked_merge(reader, context.repository, pull)
    if not (options.overrides and rule.may_override):
        await refuse_unmet(db, repos, rule, pull, outdated=outdated)


async def _may_write_to_head(
    repos: HttpRepos, context: RepositoryContext, pull: PullDetails, principal_token: str | None
) -> bool:
    """Return whether the caller or, in a job, the actor may write to the repository of the head.

    In a job with a restricted actor, only the base repository is writable.
    """
    if pull.head_repository_id == context.repository.id:
        return True
    try:
        if principal_token is not None:
            access = await repos.access_by_id(pull.head_repository_id, principal_token)
            return may_write(in_unit(access, "code"))
        if context.restricted:
            return False
        access = await repos.access_of_user_by_id(context.actor_id, pull.head_repository_id)
        return may_write(in_unit(access, "code"))
    except NotFound:
        return False


async def _compare(
    repos: HttpRepos, context: RepositoryContext, pull: PullDetails, principal_token: str
) -> Comparison | None:
    """Compare the branches now. Return None if the base is deleted."""
    counted = pull.changed_files is not None
    request = Compare(
        base_branch=pull.base_branch,
        head_repository_id=pull.head_repository_id,
        head_branch=pull.head_branch,
        number=pull.number,
        counted_base=pull.merge_base if counted else "",
        counted_head=pull.head_sha if counted else "",
    )
    try:
        return await repos.compare(context.repository.id, request, principal_token)
    except NotFound:
        return None
