"""Moves of repositories between shards: the jobs, and the one transaction in which they change their shard.

A repository moves together with its parents and forks, since they fetch from each other's files (a network). The job
belongs to the shard that gets them. Until the last transaction everything is as it was, and nothing else is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.core.mirrors import SYNC
from ingot_repos.core.placements import LOCK_MARGIN
from ingot_repos.core.push_mirrors import PUSH
from ingot_repos.store import shards, upkeep
from ingot_repos.store.shards import MemberRow

MOVE, DISCARD = "move", "discard"
GRACE = timedelta(days=1)
"""How long a shard keeps what moved away, longer than any backup takes: that of the new shard may have listed its folders before the
move. Whoever began to read before a move reads the old files; they are never removed while git reads them.
"""


MOST_LOCKS = 5
"""How often a move locks the repositories in vain, before it is given up."""
MOST_MEMBERS = 10_000
"""Repositories that move together at most: a move looks at each of them while all are locked."""


class NotNow(Exception):
    """The repositories are being changed; the move is tried again soon."""


class Move(msgspec.Struct, frozen=True):
    """The job that takes a network over, as far as it is on ``source``; or removes its copy, if it ``is_cancelled``."""

    repository_id: int
    source: str
    is_cancelled: bool = False


class Discard(msgspec.Struct, frozen=True):
    """The job that removes what a repository left on a shard: git, objects of LFS, and these files of its releases, by ``uuid``.

    None are named where both shards store them in one place: what the old shard removed, the new one would miss.
    """

    repository_id: int
    asset_uuids: list[str] = []


class Progress(msgspec.Struct, frozen=True):
    """How far a move is; ``locks`` in vain, in which what came meanwhile took too long.

    ``asset_keys`` are those of files of releases that the target had not before, so these are copies of the move.
    """

    phase: str = ""
    copied_bytes: int = 0
    repositories: int = 0
    locks: int = 0
    asset_keys: set[str] = set()


async def request_move(tx: Tx, jobs: Jobs, network: Sequence[MemberRow], source: str, target: str) -> str:
    """Add the job; its key. It is that of one which is there already."""
    first = min(row.id for row in network)
    await jobs.add(tx, job_kind(MOVE, target), first, Move(first, source))
    return str(first)


async def cancel_move(tx: Tx, kind: str, key: str, payload: bytes) -> bool:
    """Let the shard that gets the repositories end the move and remove its copy; False when the move has ended."""
    cancelled = msgspec.structs.replace(msgspec.json.decode(payload, type=Move), is_cancelled=True)
    return await shards.replace_payload(tx, kind, key, msgspec.json.encode(cancelled), now())


async def check_cancellation(tx: Tx, job: Job) -> None:
    """Raises GiveUp when the move was cancelled; it cannot be any more until the transaction ends."""
    payload = await shards.payload_of(tx, job)
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
    """Put repositories that are locked and copied on another shard, with what depends on that, and end the job.

    ``copied_assets`` are the files of releases that the target has on its own, by repository. Raises NotNow when the lock is over, or something has come that was not copied; GiveUp, LeaseLost.
    """
    await check_cancellation(tx, job)
    ids = [row.id for row in members]
    if not await shards.change(tx, ids, source, target, until, now() + timedelta(seconds=LOCK_MARGIN)):
        raise NotNow("the lock is over, or a repository was deleted")
    heads = {row.id: row.default_branch for row in members}
    for row in await shards.network(tx, ids[0]):
        if row.shard == source or heads.get(row.id, row.default_branch) != row.default_branch:
            raise NotNow("a fork was added, or a default branch was changed")
    for repository_id in ids:
        if await shards.list_objects_to_copy(tx, repository_id, source, target):
            raise NotNow("objects of LFS have come")
        # What git can make anew was not copied.
        await upkeep.save(tx, repository_id, prune_at=now())
        kind, due = job_kind(DISCARD, source), now() + GRACE
        discard = Discard(repository_id, copied_assets.get(repository_id, []))
        if not await jobs.add(tx, kind, repository_id, discard, run_at=due):
            # It was on the source before, within the grace, and came back.
            await shards.replace_payload(tx, kind, str(repository_id), msgspec.json.encode(discard), due)
    mirror_ids = await shards.push_mirror_ids(tx, ids)
    for kind, keys in ((SYNC, ids), (PUSH, mirror_ids)):
        await shards.move_jobs(tx, job_kind(kind, source), job_kind(kind, target), [str(key) for key in keys])
    await jobs.finish(tx, job)
