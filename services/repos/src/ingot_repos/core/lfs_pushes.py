"""Refuses pushes whose commits point to objects of LFS that the repository has not.

git-lfs leaves out what it believes to be here, such as what a branch had that it saw long ago. Only repositories that have had
an object are looked at, while git holds back what has come.
"""

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import structlog

from ingot_repos.core.lfs_objects import LfsObjects
from ingot_repos.git.errors import GitTimedOut
from ingot_repos.git.hook_questions import UNKNOWN
from ingot_repos.git.lfs_pointers import Arrivals, history_pointers
from ingot_repos.git.refs import ZERO_OID, RefChange
from ingot_repos.git.storage import Storage

log = structlog.get_logger()

LONGEST_LOOK = 120.0
"""Seconds for the small files of a push."""
AT_ONCE = 1000
MOST_NAMED = 10


class LfsPushes:
    """Decides for this process's repositories."""

    def __init__(self, storage: Storage, lfs: LfsObjects, *, enabled: bool) -> None:
        self._storage, self._lfs, self._enabled = storage, lfs, enabled

    def looks_at(self, commands: Sequence[RefChange], *, uses_lfs: bool) -> bool:
        """Whether the hook has to ask about a push; ``uses_lfs``: whether the repository has had an object."""
        return self._enabled and uses_lfs and any(one.after != ZERO_OID for one in commands)

    async def answer(self, repository_id: int, objects: Path, tips: Sequence[str]) -> str:
        """Why a push may not bring these commits, with the objects in a folder; nothing if it may. Never raises."""
        try:
            return await self._refusal(repository_id, Arrivals(tips, objects, LONGEST_LOOK))
        except GitTimedOut:
            return "to look for large files in this push takes too long; push it in parts"
        except Exception:
            log.exception("the large files of a push were not looked for", repository=repository_id)
            return UNKNOWN

    async def _refusal(self, repository_id: int, push: Arrivals) -> str:
        path = self._storage.path(repository_id)
        async with aclosing(history_pointers(path, at_once=AT_ONCE, push=push)) as batches:
            async for pointers in batches:
                oids = dict.fromkeys(pointer.oid for pointer in pointers)
                there = await self._lfs.need(repository_id, oids)
                if unknown := [oid for oid in oids if oid not in there]:
                    break
            else:
                return ""
        names = ", ".join(unknown[:MOST_NAMED])
        more = " and more" if len(unknown) > MOST_NAMED else ""
        return (
            f"your push references unknown Git LFS objects: {names}{more}; "
            "send them with: git lfs push --all <remote>"
        )
