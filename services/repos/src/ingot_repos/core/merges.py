"""Comparing and joining branches for pull requests."""

import asyncio
import contextlib
from functools import partial
from typing import Any

from ingot_chassis.errors import Conflict, NotAllowed, NotFound
from ingot_contracts.pulls import Comparison, Head, Merge, Merged
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.repositories import person
from ingot_repos.git import compare, merge
from ingot_repos.git.errors import (
    InvalidName,
    MergeConflict,
    ObjectNotFound,
    RefMoved,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_repos.git.heads import with_head
from ingot_repos.git.refs import BRANCHES, ref_target
from ingot_repos.git.storage import Storage


def pull_ref(number: int) -> str:
    """Where the head of a pull request is kept in its base repository."""
    return f"refs/pull/{number}/head"


async def comparison(
    storage: Storage, pushes: Pushes, repository_id: int, base_branch: str, head: Head
) -> Comparison:
    """Bring the head here and say what merging it would mean; of one that is gone, what is kept under its number.

    Raises NotFound for a missing branch.
    """
    compared = partial(compare.compare_with_branch, base_branch=base_branch)
    kept = pull_ref(head.number) if head.number else ""
    try:
        async with pushes.turn(repository_id):
            try:
                found = await with_head(
                    storage,
                    repository_id,
                    compared,
                    source_id=head.repository_id,
                    branch=head.branch,
                    kept=kept,
                )
            except (RefNotFound, InvalidName, RepositoryNotFound):
                tip = await storage.call(repository_id, ref_target, kept) if kept else None
                if tip is None:
                    raise
                found = await storage.call(repository_id, compared, tip)
    except (RefNotFound, InvalidName):
        raise NotFound("there is no such branch") from None
    return Comparison(
        base_sha=found.base,
        head_sha=found.head,
        merge_base=found.merge_base or "",
        mergeable=found.clean,
        commits=found.ahead,
    )


async def join(
    storage: Storage, pushes: Pushes, row: Any, who: Any, wanted: Merge, *, confined: bool = False
) -> Merged:
    """Merge as ``who`` (an account), one at a time in a repository; a pull request once, however often it is asked.

    ``confined``: as for ``PushReceived``.

    Raises NotFound, Conflict, NotAllowed.
    """
    async with pushes.turn(row.id):
        if merged := await pushes.merge_of(row.id, wanted.number):
            return Merged(sha=merged, already=True)
        base_ref = BRANCHES + wanted.base_branch
        ground = await _ground(storage, row.id, wanted, base_ref)
        if ground.head != wanted.head_sha:
            raise Conflict("the head of the pull request has moved")
        async with pushes.journaled(
            row.id, who.id, [base_ref], merged_pull=wanted.number, confined=confined
        ) as push_id:
            try:
                sha = await storage.call(
                    row.id,
                    merge.merge,
                    base_ref=base_ref,
                    expected_base=ground.base,
                    head=ground.head,
                    style=wanted.style,
                    message=_message(wanted),
                    author=person(who),
                    committer=person(who),
                )
            except MergeConflict as error:
                if wanted.head_branch and not await _fit(storage, row.id, ground):
                    raise NotAllowed("the branches conflict") from error
                raise Conflict(str(error)) from error
            except RefMoved as error:
                raise Conflict("the base branch moved meanwhile") from error
            except ObjectNotFound as error:
                raise NotFound(str(error)) from error
            finally:
                await asyncio.shield(pushes.settle(push_id))
    already = sha == ground.base
    return Merged(sha=sha, already=already, base_sha=ground.base, merge_base=ground.merge_base or "")


async def _ground(storage: Storage, repository_id: int, wanted: Merge, base_ref: str) -> merge.Ground:
    """Where base and head are; the head by its branch as it is now, if one is named. Raises NotFound, Conflict."""
    kept = pull_ref(wanted.number)
    find = partial(merge.ground, base_ref=base_ref, kept=kept)
    source, branch = wanted.head_repository_id, wanted.head_branch
    if branch:
        with contextlib.suppress(RefNotFound, InvalidName):  # it is gone; its commits are kept
            return await with_head(storage, repository_id, find, source_id=source, branch=branch, kept=kept)
    try:
        return await storage.call(repository_id, find)
    except (RefNotFound, ObjectNotFound):
        raise NotFound("there is no such branch or commit") from None
    except RefMoved:
        raise Conflict("the head of the pull request has moved") from None


async def _fit(storage: Storage, repository_id: int, ground: merge.Ground) -> bool:
    return (await storage.call(repository_id, merge.mergeable, ground.base, ground.head)).clean


def _message(wanted: Merge) -> str:
    title = wanted.title or f"Merge pull request #{wanted.number}"
    return f"{title}\n\n{wanted.message}\n" if wanted.message else f"{title}\n"
