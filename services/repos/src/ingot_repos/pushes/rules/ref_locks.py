"""Removal of locks that a killed git process left on refs.

Such locks would block every later change. They are removed before the next change of the locked refs, and
after the death of a process. While another push moves very many refs, old locks may belong to it, so they are
kept.
"""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from ingot_chassis.db.database import Database
from ingot_git.refs.ref_locks import are_locked, remove_old_locks
from ingot_git.refs.refs import is_valid_ref_name
from ingot_git.storage.storage import Storage
from ingot_repos.pushes.store import refs

log = structlog.get_logger()

FEW = 2
"""Up to this number of refs are checked without a thread, because starting a thread takes longer."""


async def remove_before_change(
    db: Database, storage: Storage, repository_id: int, push_id: int, names: Sequence[str]
) -> None:
    """Remove old locks of the refs that a journal entry is about to move.

    ``names`` come from the client, so invalid ones are skipped. While another push moves refs of the
    repository, no locks are removed: they may belong to it, however old they are.
    """
    valid = [name for name in names if is_valid_ref_name(name)]
    path = storage.path(repository_id)
    if not valid or not (
        are_locked(path, valid) if len(valid) <= FEW else await asyncio.to_thread(are_locked, path, valid)
    ):
        return
    async with db.read() as reader:
        is_only = await refs.is_only_push(reader, repository_id, push_id)
    if is_only:
        await _remove(db, storage, repository_id, valid)


async def remove_of_dead(db: Database, storage: Storage, push_id: int) -> None:
    """Remove the locks that the dead process of a journal entry left."""
    async with db.read() as reader:
        entry = await refs.get_push(reader, push_id)
    if entry is None:
        return
    names = [name for name in msgspec.json.decode(entry.refs, type=list[str]) if is_valid_ref_name(name)]
    await _remove(db, storage, entry.repository_id, names)


async def _remove(db: Database, storage: Storage, repository_id: int, names: Sequence[str]) -> None:
    async with db.read() as reader:
        if await refs.has_large_push(reader, repository_id):
            return
    if count := await asyncio.to_thread(remove_old_locks, storage.path(repository_id), names):
        log.warning("locks of a dead process removed", repository=repository_id, count=count)
