"""Comparisons and merges of branches for pull requests."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import structlog

from ingot_chassis.errors import Conflict, NotAllowed, NotFound, TooLarge
from ingot_contracts.repos.comparisons import Comparison, DiffCounts, Head, proposal_id
from ingot_contracts.repos.conflicts import FindConflicts, ResolveConflicts
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import Merge, Merged, UpdateBranch, UpdatedBranch
from ingot_git.changes import conflicts, judged_comparisons, merge
from ingot_git.changes.file_changes import ChangeRefused
from ingot_git.changes.proposals import with_proposal
from ingot_git.changes.tree_merges import CPU_SECONDS
from ingot_git.history import compare
from ingot_git.history.commits import Person
from ingot_git.history.heads import MoveBlock, borrowed_head, with_borrowed_head, with_head
from ingot_git.history.lfs_pointers import pointers_between
from ingot_git.history.new_objects import Signer
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    MergeConflict,
    MergeTooExpensive,
    ObjectNotFound,
    RefMoved,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.refs.pull_heads import HeadState, changes_of_state, head_ref
from ingot_git.refs.refs import BRANCHES, RefChange, move_ref, ref_target, update_refs
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.rules.extra_settings import read_extra_settings
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.presentation.rules.announcements import person
from ingot_repos.protection.rules.contents import ContentJudge, ContentRule
from ingot_repos.protection.rules.decisions import require_merge, require_up_to_date
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.proposals import proposal_ref
from ingot_repos.pushes.rules.ref_updates import RefUpdates

log = structlog.get_logger()

HEAD_MOVED = "the head branch has moved; look at its new commits, then merge again"
OTHER_CHANGES = (
    "the base branch has moved, and other changes are left to merge; look at them, then merge again"
)
MOST_COMMITS = 10_000
"""Limit of commits of a pull request that are searched for LFS pointers."""


@dataclass(frozen=True, slots=True)
class PendingComparison:
    """A comparison. Its ``mergeable`` is unknown until ``is_judged`` is True."""

    answer: Comparison
    is_judged: bool


def ignores_whitespace(row: RepositoryRow) -> bool:
    """Return whether merges of pull requests in this repository ignore whitespace changes."""
    return read_extra_settings(row.inert_settings).ignore_whitespace_conflicts


async def comparison(
    storage: Storage, pushes: Pushes, row: RepositoryRow, base_branch: str, head: Head
) -> PendingComparison:
    """Compare a head with a branch. Raises NotFound for a missing branch.

    If the head has a number, the base repository keeps its commits, even after the head branch is deleted.
    """
    repository_id = row.id
    compared: Callable[..., compare.Comparison] = partial(
        compare.compare_with_branch, base_branch=base_branch
    )
    if not head.number:  # commits are in the base repository only during the comparison
        compared = partial(
            judged_comparisons.compare_and_judge,
            base_branch=base_branch,
            ignore_whitespace=ignores_whitespace(row),
        )
    try:
        async with pushes.turn(repository_id):
            own_ref = await storage.call(repository_id, head_ref, head.number) if head.number else ""
            moving = partial(pushes.uploading, repository_id, row.owner_id, own_ref)
            try:
                result = await _compared(storage, repository_id, compared, head, own_ref, moving)
            except (RefNotFound, InvalidName, RepositoryNotFound):
                tip = await storage.call(repository_id, ref_target, own_ref) if own_ref else None
                if tip is None:
                    raise
                result = await storage.call(repository_id, compared, tip)
    except (RefNotFound, InvalidName):
        raise NotFound("there is no such branch") from None
    try:
        counts = await _counts(storage, repository_id if own_ref else head.repository_id, result, head)
    except GitFailed:  # the objects were deleted with a ref during the comparison
        counts = None
    answer = Comparison(
        counts=counts,
        base_sha=result.base,
        head_sha=result.head,
        merge_base=result.merge_base or "",
        mergeable=bool(result.clean),
        commits=result.ahead,
    )
    return PendingComparison(answer, is_judged=result.clean is not None)


async def judged(
    storage: Storage, row: RepositoryRow, pending: Sequence[PendingComparison | None]
) -> list[Comparison | None]:
    """Complete comparisons: test which heads merge cleanly.

    Starts one git process per tip of the base, usually only one. The result is None for a missing head, or if
    git fails.
    """
    heads: dict[str, list[str]] = defaultdict(list)
    for one in pending:
        if one is not None and not one.is_judged:
            heads[one.answer.base_sha].append(one.answer.head_sha)
    results: dict[tuple[str, str], merge.Mergeability | GitFailed] = {}
    for base, those in heads.items():
        judge = partial(merge.mergeable_heads, ignore_whitespace=ignores_whitespace(row))
        for head, result in zip(those, await storage.call(row.id, judge, base, those), strict=True):
            results[base, head] = result
    answers: list[Comparison | None] = []
    for one in pending:
        answer = None if one is None else one.answer
        if one is not None and not one.is_judged:
            judgement = results[one.answer.base_sha, one.answer.head_sha]
            if isinstance(judgement, GitFailed):
                log.error("head not judged", repository=row.id, head=one.answer.head_sha, exc_info=judgement)
                answer = None
            else:
                answer = msgspec.structs.replace(one.answer, mergeable=judgement.clean)
        answers.append(answer)
    return answers


async def set_head_state(
    storage: Storage, pushes: Pushes, row: RepositoryRow, number: int, state: HeadState
) -> None:
    """Set who can fetch the head of a pull request (see ``PullHead``). Idempotent. Raises Conflict."""
    async with pushes.turn(row.id):
        changes = await storage.call(row.id, changes_of_state, number, state)
        if not changes:
            return
        move = partial(asyncio.to_thread, update_refs, storage.path(row.id), changes)
        try:
            await pushes.moved(row.id, row.owner_id, [changes[0].name], move)
        except (RefMoved, GitFailed, GitTimedOut) as error:
            raise Conflict("the head of the pull request could not be moved") from error


async def _compared(
    storage: Storage,
    repository_id: int,
    compared: Callable[[Any, str], compare.Comparison],
    head: Head,
    keep_ref: str,
    moving: MoveBlock,
) -> compare.Comparison:
    """Compare with a branch or with a proposal that was pushed.

    Raises RefNotFound, InvalidName, RepositoryNotFound.
    """
    if proposed := proposal_id(head.branch):
        ref = proposal_ref(proposed)
        return await with_proposal(
            storage, repository_id, compared, ref=ref, keep_ref=keep_ref, moving=moving
        )
    source_id, branch = head.repository_id, head.branch
    if not keep_ref:
        return await with_borrowed_head(storage, repository_id, compared, source_id=source_id, branch=branch)
    return await with_head(
        storage,
        repository_id,
        compared,
        source_id=source_id,
        branch=branch,
        keep_ref=keep_ref,
        moving=moving,
    )


async def _counts(
    storage: Storage, holder_id: int, result: compare.Comparison, head: Head
) -> DiffCounts | None:
    """Return the counts of the head's changes. ``holder_id`` is the repository that has the commits.

    None if the counts are already known, or if the diff is too large.
    """
    base = result.merge_base or ""
    if (base, result.head) == (head.counted_base, head.counted_head):
        return None
    files = await asyncio.to_thread(compare.changed_files, storage.path(holder_id), base, result.head)
    if files is None:
        return None
    return DiffCounts(
        additions=sum(file.additions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
        changed_files=len(files),
    )


async def update_branch(
    storage: Storage,
    pushes: Pushes,
    updates: RefUpdates,
    signer: Signer | None,
    base: RepositoryRow,
    request: UpdateBranch,
) -> UpdatedBranch:
    """Merge or rebase a branch of ``base`` into a branch, as the actor of ``updates``.

    Raises NotFound, Conflict, Denied.
    """
    row, actor = updates.row, person(updates.actor)
    head_ref = BRANCHES + request.head_branch
    title = request.title or f"Merge branch '{request.base_branch}' into {request.head_branch}"
    make_commit = partial(
        merge.update,
        head_ref=head_ref,
        expected_head=request.head_sha,
        style=request.style,
        message=f"{title}\n",
        who=actor,
        ignore_whitespace=ignores_whitespace(base),
        signer=signer,
    )
    async with pushes.turn(row.id):
        try:
            async with borrowed_head(storage, row.id, source_id=base.id, branch=request.base_branch) as head:
                sha = await updates.bring(head, head_ref, request.head_sha, make_commit)
            if sha != request.head_sha:
                await updates.apply([RefChange(head_ref, request.head_sha, sha)])
        except (RefNotFound, InvalidName, ObjectNotFound, RepositoryNotFound):
            raise NotFound("there is no such branch") from None
        except MergeConflict as error:
            raise Conflict(str(error)) from error
        except RefMoved:
            raise Conflict("one of the branches has moved; look at what is new, then update again") from None
    return UpdatedBranch(sha=sha)


async def find_conflicts(
    storage: Storage, row: RepositoryRow, base: RepositoryRow, request: FindConflicts
) -> conflicts.Conflicts:
    """Return the conflicts of a merge of a branch of ``base`` into a branch of ``row``.

    Raises NotFound, Conflict, TooLarge.
    """
    find = partial(
        conflicts.find_conflicts,
        head_ref=BRANCHES + request.head_branch,
        expected_head=request.head_sha,
        ignore_whitespace=ignores_whitespace(base),
    )
    with _merge_errors():
        return await with_borrowed_head(storage, row.id, find, source_id=base.id, branch=request.base_branch)


async def resolve_conflicts(
    storage: Storage,
    pushes: Pushes,
    updates: RefUpdates,
    signer: Signer | None,
    base: RepositoryRow,
    request: ResolveConflicts,
) -> UpdatedBranch:
    """Merge a branch of ``base`` into a branch with the given texts, as the actor of ``updates``.

    Raises NotFound, Conflict, Denied, TooLarge.
    """
    row, resolution, head_ref = updates.row, request.resolution, BRANCHES + request.head_branch
    make_commit = partial(
        conflicts.resolve_conflicts,
        head_ref=head_ref,
        expected_head=resolution.head_sha,
        expected_base=resolution.base_sha,
        texts={file.path: file.text for file in resolution.files},
        message=f"Merge branch '{request.base_branch}' into {request.head_branch}\n",
        who=person(updates.actor),
        signer=signer,
    )
    async with pushes.turn(row.id):
        with _merge_errors():
            async with borrowed_head(storage, row.id, source_id=base.id, branch=request.base_branch) as head:
                sha = await updates.bring(head, head_ref, resolution.head_sha, make_commit)
            await updates.apply([RefChange(head_ref, resolution.head_sha, sha)])
    return UpdatedBranch(sha=sha)


@contextlib.contextmanager
def _merge_errors() -> Iterator[None]:
    """Convert errors of merges inside the block to NotFound, Conflict and TooLarge."""
    try:
        yield
    except (RefNotFound, InvalidName, ObjectNotFound, RepositoryNotFound):
        raise NotFound("there is no such branch") from None
    except MergeTooExpensive as error:
        raise TooLarge(str(error)) from error
    except (MergeConflict, ChangeRefused) as error:
        raise Conflict(str(error)) from error
    except RefMoved:
        raise Conflict("one of the branches has moved; look at the conflicts again") from None


async def merge_pull(
    storage: Storage,
    pushes: Pushes,
    lfs: LfsObjects,
    judge: ContentJudge,
    signer: Signer | None,
    row: RepositoryRow,
    actor: AccountRow,
    request: Merge,
    read_rules: Callable[[], Awaitable[tuple[MergeRule, ContentRule | None]]],
    *,
    override: bool = False,
    restricted: bool = False,
    cpu_seconds: float = CPU_SECONDS,
) -> Merged:
    """Merge a pull request as ``actor``. Idempotent by its number. Only one merge runs per repository.

    ``read_rules`` returns the current rule of the base branch, and the rule for merged commits and files.
    They are read when no other merge runs. With ``override``, actors who may bypass the rule skip both, but
    cannot merge unsigned commits. ``restricted`` is as in ``PushReceived``. ``cpu_seconds`` limits the CPU
    time of git.

    Raises NotFound, Conflict, NotAllowed, and TooLarge if the merge needs more CPU time.
    """
    async with pushes.turn(row.id):
        if merged := await pushes.merge_of(row.id, request.number):
            return Merged(sha=merged, already=True)
        rule, contents = await read_rules()
        require_merge(rule, override=override)
        if contents is not None and override and rule.may_override:
            contents = msgspec.structs.replace(contents, protected=())
        base_ref = BRANCHES + request.base_branch
        own_ref = await storage.call(row.id, head_ref, request.number)
        moving = partial(pushes.uploading, row.id, actor.id, own_ref)
        ground = await _ground(storage, row.id, request, base_ref, own_ref, moving)
        if ground.head != request.head_sha:
            raise Conflict(HEAD_MOVED)
        if request.merge_base not in (None, ground.merge_base or ""):
            raise Conflict(OTHER_CHANGES)
        require_up_to_date(rule, ground.base, ground.merge_base, override=override)
        await _adopt_large_files(storage, lfs, row, request.head_repository_id, ground)
        move = partial(
            _merge, storage, judge, signer, contents, row, person(actor), request, ground, cpu_seconds
        )
        try:
            sha = await pushes.moved(
                row.id, actor.id, [base_ref], move, merged_pull=request.number, restricted=restricted
            )
        except MergeTooExpensive as error:
            raise TooLarge(str(error)) from error
        except MergeConflict as error:
            if request.head_branch and not await _fit(storage, row, ground):
                raise NotAllowed("the branches conflict") from error
            raise Conflict(str(error)) from error
        except RefMoved as error:
            raise Conflict("the base branch moved during the merge; merge again") from error
        except ObjectNotFound as error:
            raise NotFound(str(error)) from error
    already = sha == ground.base
    return Merged(sha=sha, already=already, base_sha=ground.base, merge_base=ground.merge_base or "")


async def _merge(
    storage: Storage,
    judge: ContentJudge,
    signer: Signer | None,
    contents: ContentRule | None,
    row: RepositoryRow,
    who: Person,
    request: Merge,
    ground: merge.MergeInputs,
    cpu_seconds: float,
) -> str:
    """Create the merge and return the new tip of the base branch.

    Raises the errors of ``merge.merge``, and NotAllowed if ``contents`` forbids the changes.
    """
    base_ref = BRANCHES + request.base_branch
    act = partial(
        merge.merge if contents is None else merge.merged,
        base_ref=base_ref,
        expected_base=ground.base,
        head=ground.head,
        style=request.style,
        message=_message(request),
        author=who,
        committer=who,
        ignore_whitespace=ignores_whitespace(row),
        signer=signer,
        cpu_seconds=cpu_seconds,
    )
    sha = await storage.call(row.id, act)
    if contents is None or sha == ground.base:
        return sha
    if contents.signed and signer is None and sha != ground.head:
        raise NotAllowed(
            f"the rule {contents.rule_name!r} protects the branch: it takes signed commits only, and the "
            "server signs none; merge by fast-forward"
        )
    change = RefChange(base_ref, ground.base, sha)
    if reason := await judge.refusal(contents, change):
        raise NotAllowed(reason)
    await storage.call(row.id, move_ref, change)
    return sha


async def _ground(
    storage: Storage, repository_id: int, request: Merge, base_ref: str, own_ref: str, moving: MoveBlock
) -> merge.MergeInputs:
    """Return the commits of base and head. If a head branch is named, its current tip is used.

    Raises NotFound, Conflict.
    """
    find = partial(merge.merge_inputs, base_ref=base_ref, head_ref=own_ref)
    source, branch = request.head_repository_id, request.head_branch
    if branch:
        with contextlib.suppress(
            RefNotFound, InvalidName
        ):  # the branch was deleted; the pull ref keeps its commits
            return await with_head(
                storage,
                repository_id,
                find,
                source_id=source,
                branch=branch,
                keep_ref=own_ref,
                moving=moving,
            )
    try:
        return await storage.call(repository_id, find)
    except (RefNotFound, ObjectNotFound):
        raise NotFound("the branch or commit does not exist") from None
    except RefMoved:
        raise Conflict(HEAD_MOVED) from None


async def _adopt_large_files(
    storage: Storage, lfs: LfsObjects, row: RepositoryRow, source_id: int, ground: merge.MergeInputs
) -> None:
    """Link LFS objects of a fork to the base repository before its commits are merged."""
    if source_id == row.id or not await lfs.has_any(source_id):
        return
    oids = await storage.call(
        row.id, pointers_between, ground.merge_base or "", ground.head, most_commits=MOST_COMMITS
    )
    if oids:
        await lfs.adopt(source_id, row, oids)


async def _fit(storage: Storage, row: RepositoryRow, ground: merge.MergeInputs) -> bool:
    mergeable = partial(merge.mergeable, ignore_whitespace=ignores_whitespace(row))
    return (await storage.call(row.id, mergeable, ground.base, ground.head)).clean


def _message(request: Merge) -> str:
    title = request.title or f"Merge pull request #{request.number}"
    return f"{title}\n\n{request.message}\n" if request.message else f"{title}\n"
