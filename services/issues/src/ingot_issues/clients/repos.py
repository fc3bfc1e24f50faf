"""What issues asks repos: what the caller may do to a repository, and the git work of pull requests.

``statement`` is the caller's signed principal. A *yes* is remembered for at most 5 s, a *no* never.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Literal, Protocol
from urllib.parse import quote

from ingot_chassis.peers import Peer, segment
from ingot_contracts.pulls import (
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    History,
    Merge,
    Merged,
)
from ingot_contracts.repos import MOST_IDS, RepositoryAccess, Seen

REMEMBERED_SECONDS = 5.0
REMEMBERED = 10_000
GIT_SECONDS = 130.0


class Repos(Protocol):
    """Raises NotFound for what is not there or not for the caller, Conflict, or Unavailable."""

    def remembered(self, owner: str, name: str, statement: str) -> RepositoryAccess | None:
        """What was answered lately, good for granting and never for refusing."""
        ...

    def forget(self, repository_id: int) -> None:
        """Drop what is remembered about a repository."""
        ...

    async def access(self, owner: str, name: str, statement: str) -> RepositoryAccess: ...

    async def access_by_id(self, repository_id: int, statement: str) -> RepositoryAccess: ...

    async def access_of(self, account_id: int, owner: str, name: str) -> RepositoryAccess:
        """What somebody may do who is not calling."""
        ...

    async def access_of_by_id(self, account_id: int, repository_id: int) -> RepositoryAccess: ...

    async def seen(self, repository_ids: Collection[int], statement: str) -> set[int]:
        """Those among them that the caller may read."""
        ...

    async def compare(self, repository_id: int, wanted: Compare, statement: str) -> Comparison: ...

    async def compare_heads(self, repository_id: int, wanted: CompareHeads) -> list[Comparison | None]:
        """One for each head, None for what is gone. A worker compares, for nobody in particular."""
        ...

    async def merge(self, repository_id: int, wanted: Merge, statement: str) -> Merged: ...

    async def take_branch(
        self, repository_id: int, branch: str, tip: str, statement: str | None, *, actor_id: int
    ) -> None:
        """Delete a branch that is still at ``tip``. Raises Denied too. ``statement`` None: a worker, for the actor."""
        ...

    async def diff(
        self, repository_id: int, base: str, head: str, form: Literal["diff", "patch"], statement: str
    ) -> bytes: ...

    async def history(
        self,
        repository_id: int,
        base: str,
        head: str,
        statement: str | None,
        *,
        offset: int = 0,
        limit: int,
    ) -> History:
        """``statement`` None: a worker asks."""
        ...

    async def files(
        self, repository_id: int, base: str, head: str, statement: str, *, offset: int, limit: int
    ) -> ChangedPaths: ...


class ReposPeer:
    """Asks over the internal API."""

    def __init__(
        self,
        peer: Peer,
        *,
        remembered_seconds: float = REMEMBERED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._peer, self._remembered_seconds, self._clock = peer, remembered_seconds, clock
        self._known: OrderedDict[tuple[str, str, str], tuple[RepositoryAccess, float]] = OrderedDict()

    def remembered(self, owner: str, name: str, statement: str) -> RepositoryAccess | None:
        known = self._known.get((statement, owner.lower(), name.lower()))
        return known[0] if known and known[1] > self._clock() else None

    def forget(self, repository_id: int) -> None:
        for key, (access, _) in list(self._known.items()):
            if access.repository.id == repository_id:
                del self._known[key]

    async def access(self, owner: str, name: str, statement: str) -> RepositoryAccess:
        asked_at = self._clock()
        key = (statement, owner.lower(), name.lower())
        self._known.pop(key, None)
        path = f"/internal/repositories/{segment(owner)}/{segment(name)}/access"
        access = await self._peer.get(path, RepositoryAccess, principal=statement)
        self._known[key] = (access, asked_at + self._remembered_seconds)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return access

    async def access_by_id(self, repository_id: int, statement: str) -> RepositoryAccess:
        path = f"/internal/repositories/by-id/{repository_id}/access"
        return await self._peer.get(path, RepositoryAccess, principal=statement)

    async def access_of(self, account_id: int, owner: str, name: str) -> RepositoryAccess:
        path = f"/internal/repositories/{segment(owner)}/{segment(name)}/access?user={account_id}"
        return await self._peer.get(path, RepositoryAccess)

    async def access_of_by_id(self, account_id: int, repository_id: int) -> RepositoryAccess:
        path = f"/internal/repositories/by-id/{repository_id}/access?user={account_id}"
        return await self._peer.get(path, RepositoryAccess)

    async def seen(self, repository_ids: Collection[int], statement: str) -> set[int]:
        ids, visible = sorted(repository_ids), set[int]()
        for start in range(0, len(ids), MOST_IDS):
            asked = Seen(ids=ids[start : start + MOST_IDS])
            visible |= set((await self._peer.post("/internal/seen", asked, Seen, principal=statement)).ids)
        return visible

    async def compare(self, repository_id: int, wanted: Compare, statement: str) -> Comparison:
        path = f"/internal/repositories/{repository_id}/compare"
        return await self._peer.post(path, wanted, Comparison, principal=statement, timeout=GIT_SECONDS)

    async def compare_heads(self, repository_id: int, wanted: CompareHeads) -> list[Comparison | None]:
        path = f"/internal/repositories/{repository_id}/comparisons?unattended=true"
        return (await self._peer.post(path, wanted, Comparisons, timeout=GIT_SECONDS)).found

    async def merge(self, repository_id: int, wanted: Merge, statement: str) -> Merged:
        path = f"/internal/repositories/{repository_id}/merge"
        return await self._peer.post(path, wanted, Merged, principal=statement, timeout=GIT_SECONDS)

    async def diff(
        self, repository_id: int, base: str, head: str, form: Literal["diff", "patch"], statement: str
    ) -> bytes:
        path = f"/internal/repositories/{repository_id}/diff?base={base}&head={head}&format={form}"
        answer = await self._peer.call("GET", path, principal=statement, timeout=GIT_SECONDS)
        return answer.body

    async def take_branch(
        self, repository_id: int, branch: str, tip: str, statement: str | None, *, actor_id: int
    ) -> None:
        path = f"/internal/repositories/{repository_id}/branches/{quote(branch)}?tip={tip}"
        if statement is None:
            path += f"&user={actor_id}"
        await self._peer.call("DELETE", path, principal=statement or "", timeout=GIT_SECONDS)

    async def history(
        self,
        repository_id: int,
        base: str,
        head: str,
        statement: str | None,
        *,
        offset: int = 0,
        limit: int,
    ) -> History:
        path = f"/internal/repositories/{repository_id}/commits?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}{'&unattended=true' if statement is None else ''}"
        return await self._peer.get(path, History, principal=statement or "")

    async def files(
        self, repository_id: int, base: str, head: str, statement: str, *, offset: int, limit: int
    ) -> ChangedPaths:
        path = f"/internal/repositories/{repository_id}/files?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}"
        return await self._peer.get(path, ChangedPaths, principal=statement)
