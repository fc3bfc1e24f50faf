"""Brings what is new in a branch of the parent into the same branch of a fork."""

from functools import partial
from typing import Literal

from ingot_chassis.errors import Conflict, NotFound
from ingot_repos.core.lfs_objects import LfsObjects
from ingot_repos.core.merges import MOST_COMMITS
from ingot_repos.core.ref_updates import RefUpdates
from ingot_repos.core.repositories import person
from ingot_repos.git import merge
from ingot_repos.git.errors import InvalidName, MergeConflict, ObjectNotFound, RefMoved, RefNotFound
from ingot_repos.git.heads import borrowed_head, with_commit
from ingot_repos.git.lfs_pointers import pointers_between
from ingot_repos.git.refs import BRANCHES, RefChange, ref_target
from ingot_repos.git.storage import Storage

MergeType = Literal["up-to-date", "fast-forward", "merge"]


async def merge_upstream(
    storage: Storage, lfs: LfsObjects, updates: RefUpdates, parent_id: int, branch: str, *, only_forward: bool
) -> MergeType:
    """Move a branch of the fork of ``updates`` so that it has all commits that the parent's branch has.

    Raises NotFound, Denied, Conflict; with ``only_forward`` also where a merge commit would be needed.
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
            )
            async with borrowed_head(storage, row.id, source_id=parent_id, branch=branch) as head:
                await updates.require_update(head, ref, before, make_commit)
            after = await with_commit(storage, row.id, make_commit, source_id=parent_id, oid=head.tip)
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
