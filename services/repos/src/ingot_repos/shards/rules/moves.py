"""Moves of repositories between shards: their jobs, and the transaction that changes the shard.

A repository moves together with its parents and forks (a network), because they share files. The job belongs
to the target shard. Nothing changes for users until the last transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp
from ingot_repos.catalog.store import upkeep
from ingot_repos.mirrors.rules.push_mirrors import PUSH
from ingot_repos.mirrors.rules.schedule import SYNC
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.rules.owners import LOCK_MARGIN
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.shards.store.moves import MemberRow

MOVE, DISCARD = "move", "discard"
GRACE = timedelta(days=1)
"""Time for which the old shard keeps moved files. It is longer than a backup takes.

The backup of the new shard may have listed its folders before the move. Git processes that began before the
move still read the old files, so files in use are never removed.
"""


MOST_LOCKS = 5
"""Number of locks that may be too short before a move is given up."""
MOST_MEMBERS = 10_000
"""Limit of repositories in a network. A move visits each of them while all are locked."""


class NotNow(Exception):
    """The repositories are being changed. The move is retried soon."""


class Move(msgspec.Struct, frozen=True):
    """A job that moves a network from ``source``, or removes the copy if the job ``is_cancelled``."""

    repository_id: int
    source: str
    is_cancelled: bool = False


class Discard(msgspec.Struct, frozen=True):
    """A job that removes the old files of a repository: git, LFS objects and release assets by ``uuid``.

    ``asset_uuids`` is empty if both shards share one store. Otherwise the new shard would lose the files.
    """

    repository_id: int
    asset_uuids: list[str] = []


class Progress(msgspec.Struct, frozen=True):
    """The progress of a move. ``locks`` counts locks that were too short for the remaining changes.

    ``asset_keys`` are keys of release assets that this move has copied.
    """

    phase: str = ""
    copied_bytes: int = 0
    repositories: int = 0
    locks: int = 0
    asset_keys: set[str] = set()


async def request_move(tx: Tx, jobs: Jobs, network: Sequence[MemberRow], source: str, target: str) -> str:
    """Add the job of a move and return its key. An existing job is kept."""
    first = min(row.id for row in network)
    await jobs.add(tx, job_kind(MOVE, target), first, Move(first, source))
    return str(first)


async def cancel_move(tx: Tx, kind: str, key: str, payload: bytes) -> bool:
    """Mark a move as cancelled. Return False if it has already ended.

    The target shard ends a cancelled move and removes its copy.
    """
    cancelled = msgspec.structs.replace(msgspec.json.decode(payload, type=Move), is_cancelled=True)
    return await move_rows.replace_payload(tx, kind, key, msgspec.json.encode(cancelled), now())


async def check_cancellation(tx: Tx, job: Job) -> None:
    """Raise GiveUp if the move was cancelled. Prevents a cancellation until the transaction ends."""
    payload = await move_rows.payload_of(tx, job)
    if payload and msgspec.json.decode(payload, type=Move).is_cancelled:
        raise GiveUp("cancelled")


async def change_shard(
    tx: Tx,
    jobs: Jobs,
    job: Job,
    members: Sequence[MemberRow],
    *,
    source: str,
    target: str,
    until: datetime,
    copied_assets: Mapping[int, list[str]],
) -> None:
    """Change the shard of locked and copied repositories with all dependent rows, and end the job.

    ``copied_assets`` are release assets that the target has copied, by repository. Raises NotNow if the lock
    has ended or something new was not copied. Raises GiveUp, LeaseLost.
    """
    await check_cancellation(tx, job)
    ids = [row.id for row in members]
    if not await move_rows.change(tx, ids, source, target, until, now() + timedelta(seconds=LOCK_MARGIN)):
        raise NotNow("the lock is over, or a repository was deleted")
    heads = {row.id: row.default_branch for row in members}
    for row in await move_rows.network(tx, ids[0]):
        if row.shard == source or heads.get(row.id, row.default_branch) != row.default_branch:
            raise NotNow("a fork was added, or a default branch was changed")
    for repository_id in ids:
        if await move_rows.list_objects_to_copy(tx, repository_id, source, target):
            raise NotNow("LFS objects were added")
        # Files that git can create again were not copied.
        await upkeep.save(tx, repository_id, prune_at=now())
        kind, due = job_kind(DISCARD, source), now() + GRACE
        discard = Discard(repository_id, copied_assets.get(repository_id, []))
        if not await jobs.add(tx, kind, repository_id, discard, run_at=due):
            # The repository came back to a shard within the grace.
            await move_rows.replace_payload(tx, kind, str(repository_id), msgspec.json.encode(discard), due)
    mirror_ids = await move_rows.push_mirror_ids(tx, ids)
    for kind, keys in ((SYNC, ids), (PUSH, mirror_ids)):
        await move_rows.move_jobs(
            tx, job_kind(kind, source), job_kind(kind, target), [str(key) for key in keys]
        )
    await jobs.finish(tx, job)
