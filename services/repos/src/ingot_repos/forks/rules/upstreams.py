"""Merges of a branch of the parent into the same branch of a fork."""

from functools import partial
from typing import Literal

from ingot_chassis.errors import Conflict, NotFound
from ingot_git.changes import merge
from ingot_git.history.heads import borrowed_head
from ingot_git.history.lfs_pointers import pointers_between
from ingot_git.history.new_objects import Signer
from ingot_git.process.errors import InvalidName, MergeConflict, ObjectNotFound, RefMoved, RefNotFound
from ingot_git.refs.refs import BRANCHES, RefChange, ref_target
from ingot_git.storage.storage import Storage
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.presentation.rules.announcements import person
from ingot_repos.pulls.rules import MOST_COMMITS
from ingot_repos.pushes.rules.ref_updates import RefUpdates

MergeType = Literal["up-to-date", "fast-forward", "merge"]


async def merge_upstream(
    storage: Storage,
    lfs: LfsObjects,
    updates: RefUpdates,
    signer: Signer | None,
    parent_id: int,
    branch: str,
    *,
    only_forward: bool,
) -> MergeType:
    """Merge the parent's branch into the same branch of a fork. Return the kind of merge.

    Raises NotFound, Denied, Conflict. With ``only_forward``, raises Conflict if a merge commit is needed.
    """
    row, ref = updates.row, BRANCHES + branch
    async with updates.turn():
        try:
            before = await storage.call(row.id, ref_target, ref)
            if before is None:
                raise NotFound("the fork has no such branch")
            make_commit = partial(
                merge.follow,
                head_ref=ref,
                expected_head=before,
                only_forward=only_forward,
                message=f"Merge branch '{branch}' of the parent\n",
                who=person(updates.actor),
                signer=signer,
            )
            async with borrowed_head(storage, row.id, source_id=parent_id, branch=branch) as head:
                after = await updates.bring(head, ref, before, make_commit)
            if after == before:
                return "up-to-date"
            if await lfs.has_any(parent_id):
                oids = await storage.call(row.id, pointers_between, before, after, most_commits=MOST_COMMITS)
                await lfs.adopt(parent_id, row, oids)
            await updates.apply([RefChange(ref, before, after)])
        except (RefNotFound, InvalidName, ObjectNotFound):
            raise NotFound("the parent has no such branch") from None
        except MergeConflict as error:
            raise Conflict(str(error)) from error
        except RefMoved:
            raise Conflict("one of the branches has moved; update again") from None
    return "fast-forward" if after == head.tip else "merge"
