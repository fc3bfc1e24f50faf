"""A check that rejects pushes whose commits point to LFS objects that the repository lacks.

git-lfs skips objects that it believes to be on the server, such as objects of a deleted branch. Only
repositories that have ever had an LFS object are checked, while the push is in quarantine.
"""

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import structlog

from ingot_git.history.lfs_pointers import Arrivals, history_pointers
from ingot_git.hooks.hook_questions import UNKNOWN
from ingot_git.process.errors import GitTimedOut
from ingot_git.storage.storage import Storage
from ingot_repos.lfs.rules.objects import LfsObjects

log = structlog.get_logger()

SEARCH_SECONDS = 120.0
"""Seconds to search the small files of a push."""
AT_ONCE = 1000
MOST_NAMED = 10


class LfsPushes:
    """The check for pushes to repositories of this process."""

    def __init__(self, storage: Storage, lfs: LfsObjects) -> None:
        self._storage, self._lfs = storage, lfs

    async def answer(self, repository_id: int, objects: Path, tips: Sequence[str]) -> str:
        """Return the reason to reject a push; empty if it is allowed. Never raises.

        The new objects of the push are in the folder ``objects``.
        """
        try:
            return await self._refusal(repository_id, Arrivals(tips, objects, SEARCH_SECONDS))
        except GitTimedOut:
            return "searching this push for large files takes too long; push it in parts"
        except Exception:
            log.exception("the large files of a push were not looked for", repository=repository_id)
            return UNKNOWN

    async def _refusal(self, repository_id: int, push: Arrivals) -> str:
        path = self._storage.path(repository_id)
        async with aclosing(history_pointers(path, at_once=AT_ONCE, push=push)) as batches:
            async for pointers in batches:
                oids = dict.fromkeys(pointer.oid for pointer in pointers)
                there = await self._lfs.mark_needed(repository_id, oids)
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
