"""Calls to repos: what somebody may do to a repository, and the git work of pull requests."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias
from urllib.parse import quote

import msgspec
from cachetools import LRUCache

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.peers.peers import Peer, segment
from ingot_chassis.security.grants import GrantCache
from ingot_contracts.pulls import (
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    History,
    Merge,
    Merged,
    PullHead,
    UpdateBranch,
    UpdatedBranch,
)
from ingot_contracts.repos import (
    MOST_IDS,
    BranchTip,
    Level,
    MergeRule,
    ReadableRepositories,
    RepositoryAccess,
    Watchers,
)

DIFF_BYTES, LARGEST_DIFF = 16_000_000, 1_000_000
"""Of all diffs that are remembered, and of one."""
GIT_SECONDS = 130.0
"""How long repos may take for git work."""


_GrantKey: TypeAlias = tuple[str, str, str]
"""The principal token, the owner and the name."""


class HttpRepos:
    """Repos through its internal API. What does not exist, or is hidden from the caller, is NotFound.

    ``principal_token`` is the caller's. Where it may be None, a job calls.
    """

    def __init__(self, peer: Peer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._peer = peer
        self._grants: GrantCache[_GrantKey, RepositoryAccess] = GrantCache(clock=clock)
        self._questions: dict[_GrantKey, asyncio.Future[str]] = {}
        """Each ends with why repos could not answer, or with an empty text."""
        self._diffs: LRUCache[tuple[int, str, str, str, bool], bytes] = LRUCache(
            DIFF_BYTES, getsizeof=_entry_bytes
        )

    async def granted(self, owner: str, name: str, principal_token: str) -> RepositoryAccess | None:
        """The access that repos granted within the last seconds. It may allow; only a new question may refuse.

        If repos is just being asked, by another request for the same page, this waits for the answer, and raises
        Unavailable if there is none: a question of its own would wait as long again.
        """
        key = _grant_key(owner, name, principal_token)
        question = self._questions.get(key)
        if question is not None and (failure := await asyncio.shield(question)):
            raise Unavailable(failure)
        return self._grants.get(key)

    def drop_grants(self, repository_id: int) -> None:
        """Forget the access that was granted to a repository."""
        self._grants.drop_holder(repository_id)

    async def access(self, owner: str, name: str, principal_token: str) -> RepositoryAccess:
        """What the caller may do to the repository of that name."""
        since = self._grants.clock()
        key = _grant_key(owner, name, principal_token)
        self._grants.drop(key)
        with self._question(key):
            access = await self._peer.get(
                _access_path(owner, name), RepositoryAccess, principal=principal_token
            )
            self._grants.put(key, access, since=since, holder=access.repository.id)
        return access

    @contextmanager
    def _question(self, key: _GrantKey) -> Iterator[None]:
        """While repos is asked; of several questions that are the same, the first."""
        if key in self._questions:
            yield
            return
        question = self._questions[key] = asyncio.get_running_loop().create_future()
        failure = ""
        try:
            yield
        except Unavailable as error:
            failure = str(error)
            raise
        finally:
            del self._questions[key]
            question.set_result(failure)

    async def access_by_id(self, repository_id: int, principal_token: str) -> RepositoryAccess:
        """What the caller may do to a repository."""
        path = f"/internal/repositories/{repository_id}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal_token)

    async def access_of_user(self, account_id: int, owner: str, name: str) -> RepositoryAccess:
        """What a user may do, without a request of that user."""
        return await self._peer.get(f"{_access_path(owner, name)}?user={account_id}", RepositoryAccess)

    async def access_of_user_by_id(self, account_id: int, repository_id: int) -> RepositoryAccess:
        """What a user may do, without a request of that user."""
        path = f"/internal/repositories/{repository_id}/access?user={account_id}"
        return await self._peer.get(path, RepositoryAccess)

    async def watchers(self, repository_id: int) -> list[int]:
        """Who watches a repository."""
        return (await self._peer.get(f"/internal/repositories/{repository_id}/watchers", Watchers)).ids

    async def team_ids(self, repository_id: int) -> list[int]:
        """The teams that were given a repository, without the owners' team."""
        return await self._peer.get(f"/internal/repositories/{repository_id}/teams", list[int])

    async def readable(
        self, repository_ids: Collection[int], principal_token: str, *, team_id: int = 0
    ) -> set[int]:
        """Those of these repositories that the caller may read, and that the team was given, if one is named."""
        ids, readable_ids = sorted(repository_ids), set[int]()
        for start in range(0, len(ids), MOST_IDS):
            question = ReadableRepositories(ids=ids[start : start + MOST_IDS], team_id=team_id)
            path = "/internal/readable-repositories"
            answer = await self._peer.post(path, question, ReadableRepositories, principal=principal_token)
            readable_ids |= set(answer.ids)
        return readable_ids

    async def levels(self, repository_ids: Collection[int], principal_token: str) -> dict[int, Level]:
        """What the caller may do to those of at most ``MOST_IDS`` repositories that they may read."""
        question = ReadableRepositories(ids=sorted(repository_ids), with_levels=True)
        path = "/internal/readable-repositories"
        answer = await self._peer.post(path, question, ReadableRepositories, principal=principal_token)
        return dict(zip(answer.ids, answer.levels, strict=False))  # a former release has no levels

    async def compare(self, repository_id: int, request: Compare, principal_token: str) -> Comparison:
        path = f"/internal/repositories/{repository_id}/compare"
        return await self._peer.post(
            path, request, Comparison, principal=principal_token, timeout=GIT_SECONDS
        )

    async def compare_heads(self, repository_id: int, request: CompareHeads) -> list[Comparison | None]:
        """A comparison for each head, None where the head does not exist. A job compares, so no access is checked."""
        path = f"/internal/repositories/{repository_id}/comparisons?unattended=true"
        return (await self._peer.post(path, request, Comparisons, timeout=GIT_SECONDS)).comparisons

    async def set_pull_head(self, repository_id: int, number: int, head: PullHead) -> None:
        """Say who gets the commits of a pull request. Raises Conflict as well."""
        path = f"/internal/repositories/{repository_id}/pull-heads/{number}"
        await self._peer.call("PUT", path, msgspec.json.encode(head), timeout=GIT_SECONDS)

    async def exists(self, repository_id: int) -> bool:
        """Whether there is a repository of that id. A former release of repos knows that, too."""
        try:
            await self.dismisses_approvals(repository_id, "")
        except NotFound:
            return False
        return True

    async def merge_rule(
        self, repository_id: int, branch: str, head_sha: str, principal_token: str | None, *, actor_id: int
    ) -> MergeRule:
        """What protects a branch from a merge by the caller or, in a job, by the actor."""
        path = f"/internal/repositories/{repository_id}/merge-rule?branch={quote(branch, safe='')}&head={head_sha}"
        if principal_token is None:
            path += f"&user={actor_id}"
        return await self._peer.get(path, MergeRule, principal=principal_token or "")

    async def dismisses_approvals(self, repository_id: int, branch: str) -> bool:
        """Whether a new commit of a head dismisses the approvals of pull requests into the branch."""
        path = f"/internal/repositories/{repository_id}/merge-rule?branch={quote(branch, safe='')}&unattended=true"
        return (await self._peer.get(path, MergeRule)).dismiss_stale_approvals

    async def merge(
        self,
        repository_id: int,
        request: Merge,
        principal_token: str | None,
        *,
        actor_id: int,
        restricted: bool = False,
        overrides: bool = False,
    ) -> Merged:
        """As the caller or, in a job, as the actor. Raises Conflict and NotAllowed as well."""
        path = f"/internal/repositories/{repository_id}/merge?override={'true' if overrides else 'false'}"
        if principal_token is None:
            path += f"&user={actor_id}&restricted={'true' if restricted else 'false'}"
        return await self._peer.post(
            path, request, Merged, principal=principal_token or "", timeout=GIT_SECONDS
        )

    async def update_branch(
        self, repository_id: int, request: UpdateBranch, principal_token: str
    ) -> UpdatedBranch:
        """Bring a base branch into a branch of this repository. Raises Denied and Conflict as well."""
        path = f"/internal/repositories/{repository_id}/update-branch"
        return await self._peer.post(
            path, request, UpdatedBranch, principal=principal_token, timeout=GIT_SECONDS
        )

    async def branch_tip(self, repository_id: int, branch: str, principal_token: str) -> str:
        """The commit that a branch points to."""
        path = f"/internal/repositories/{repository_id}/branches/{quote(branch)}"
        return (await self._peer.get(path, BranchTip, principal=principal_token)).sha

    async def delete_branch(
        self, repository_id: int, branch: str, tip: str, principal_token: str | None, *, actor_id: int
    ) -> None:
        """Delete a branch that is still at ``tip``, as the caller or, in a job, for the actor.

        Raises Denied and Conflict as well.
        """
        path = f"/internal/repositories/{repository_id}/branches/{quote(branch)}?tip={tip}"
        if principal_token is None:
            path += f"&user={actor_id}"
        await self._peer.call("DELETE", path, principal=principal_token or "", timeout=GIT_SECONDS)

    async def diff(
        self,
        repository_id: int,
        base: str,
        head: str,
        form: Literal["diff", "patch"],
        principal_token: str,
        *,
        binary: bool = False,
    ) -> bytes:
        """The changes from the commit ``base`` to ``head`` as a text, which is always the same.

        So it is remembered: whoever asks has been allowed to read the repository. ``binary``: a diff has the changes of
        binary files too.
        """
        key = (repository_id, base, head, form, binary)
        text = self._diffs.get(key)
        if text is None:
            path = f"/internal/repositories/{repository_id}/diff?base={base}&head={head}&format={form}"
            path += "&binary=true" if binary else ""
            text = (await self._peer.call("GET", path, principal=principal_token, timeout=GIT_SECONDS)).body
            if len(text) <= LARGEST_DIFF:
                self._diffs[key] = text
        return text

    async def diff_of_files(
        self,
        repository_id: int,
        base: str,
        head: str,
        principal_token: str,
        *,
        offset: int,
        files: int,
        whitespace: str,
    ) -> tuple[bytes, int | None]:
        """The changes of so many files at most; and how many differ, None from a former release, which answers all."""
        path = f"/internal/repositories/{repository_id}/diff?base={base}&head={head}&offset={offset}&files={files}"
        path += f"&whitespace={whitespace}"
        answer = await self._peer.call("GET", path, principal=principal_token, timeout=GIT_SECONDS)
        total = answer.headers.get("x-total-count")
        return answer.body, None if total is None else int(total)

    async def history(
        self,
        repository_id: int,
        base: str,
        head: str,
        principal_token: str | None,
        *,
        offset: int = 0,
        limit: int,
        changes: bool = False,
        verification: bool = False,
    ) -> History:
        """The commits that ``head`` has and ``base`` has not.

        With ``changes`` what each of them changes, with ``verification`` what is to be said of its signature.
        """
        path = f"/internal/repositories/{repository_id}/commits?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}{'&unattended=true' if principal_token is None else ''}"
        path += f"{'&changes=true' if changes else ''}{'&verification=true' if verification else ''}"
        return await self._peer.get(path, History, principal=principal_token or "")

    async def files(
        self,
        repository_id: int,
        base: str,
        head: str,
        principal_token: str,
        *,
        offset: int,
        limit: int,
        whitespace: str,
        skip_to: str,
    ) -> ChangedPaths:
        """The files that differ between ``base`` and ``head``; unless it is empty, from the file ``skip_to`` on."""
        path = f"/internal/repositories/{repository_id}/files?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}&whitespace={whitespace}&skip_to={quote(skip_to, safe='')}"
        return await self._peer.get(path, ChangedPaths, principal=principal_token)


def _entry_bytes(text: bytes) -> int:
    """With what an entry takes beside its text."""
    return len(text) + 500


def _grant_key(owner: str, name: str, principal_token: str) -> _GrantKey:
    return principal_token, owner.lower(), name.lower()


def _access_path(owner: str, name: str) -> str:
    return f"/internal/repositories/by-name/{segment(owner)}/{segment(name)}/access"
