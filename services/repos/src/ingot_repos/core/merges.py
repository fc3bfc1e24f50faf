"""Comparing and joining branches for pull requests."""

import asyncio
import secrets
from typing import Any

from ingot_chassis.errors import Conflict, NotFound
from ingot_contracts.repos import Compare, Comparison, Merge, Merged
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.repositories import person
from ingot_repos.git import compare, merge
from ingot_repos.git.errors import InvalidName, MergeConflict, ObjectNotFound, RefMoved, RefNotFound
from ingot_repos.git.refs import BRANCHES, forget_ref, get_branch, is_object_id, ref_target
from ingot_repos.git.storage import Storage


def pull_ref(number: int) -> str:
    """Where the head of a pull request is kept in its base repository."""
    return f"refs/pull/{number}/head"


async def comparison(storage: Storage, repository_id: int, wanted: Compare) -> Comparison:
    """Bring the head here and say what merging it would mean. Raises NotFound for a missing branch."""
    scratch = f"refs/scratch/{secrets.token_hex(8)}"
    target = pull_ref(wanted.number) if wanted.number else scratch
    try:
        base = (await storage.call(repository_id, get_branch, wanted.base_branch)).oid
        head = await asyncio.to_thread(
            merge.fetch_from,
            storage.path(repository_id),
            storage.path(wanted.head_repository_id),
            BRANCHES + wanted.head_branch,
            target,
        )
    except (RefNotFound, InvalidName):
        raise NotFound("there is no such branch") from None
    try:
        found = await storage.call(repository_id, compare.compare, base, head, max_commits=0)
        fits = await storage.call(repository_id, merge.mergeable, base, head)
    finally:
        if target == scratch:
            await storage.call(repository_id, forget_ref, scratch)
    files = found.files or ()
    return Comparison(
        base_sha=base,
        head_sha=head,
        merge_base=found.merge_base or "",
        mergeable=fits.clean,
        commits=found.ahead,
        changed_files=len(files),
        additions=sum(file.additions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
    )


async def join(
    storage: Storage, pushes: Pushes, row: Any, who: Any, wanted: Merge, *, confined: bool = False
) -> Merged:
    """Merge as ``who`` (an account), one at a time in a repository; a pull request once, however often it is asked.

    ``confined``: as for ``PushReceived``.

    Raises NotFound, Conflict.
    """
    async with pushes.turn(row.id):
        if merged := await pushes.merge_of(row.id, wanted.number):
            return Merged(sha=merged, already=True)
        base_ref = BRANCHES + wanted.base_branch
        base = await storage.call(row.id, ref_target, base_ref)
        if base is None or not is_object_id(wanted.head_sha):
            raise NotFound("there is no such branch or commit")
        if await storage.call(row.id, ref_target, pull_ref(wanted.number)) != wanted.head_sha:
            raise Conflict("the head of the pull request has moved")
        async with pushes.journaled(
            row.id, who.id, [base_ref], merged_pull=wanted.number, confined=confined
        ) as push_id:
            try:
                sha = await storage.call(
                    row.id,
                    merge.merge,
                    base_ref=base_ref,
                    expected_base=base,
                    head=wanted.head_sha,
                    style=wanted.style,
                    message=_message(wanted),
                    author=person(who),
                    committer=person(who),
                )
            except MergeConflict as error:
                raise Conflict(str(error)) from error
            except RefMoved as error:
                raise Conflict("the base branch moved meanwhile") from error
            except ObjectNotFound as error:
                raise NotFound(str(error)) from error
            finally:
                await asyncio.shield(pushes.settle(push_id))
    return Merged(sha=sha, already=sha == base)


def _message(wanted: Merge) -> str:
    title = wanted.title or f"Merge pull request #{wanted.number}"
    return f"{title}\n\n{wanted.message}\n" if wanted.message else f"{title}\n"
