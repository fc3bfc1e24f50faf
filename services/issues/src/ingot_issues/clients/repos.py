"""Calls to repos: access to repositories, and the git work of pull requests."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec
from cachetools import LRUCache

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.peers.peers import NoRoute, Peer, segment
from ingot_chassis.security.grants import GrantCache
from ingot_contracts.repos.access import MOST_IDS, Level, ReadableRepositories, Watchers
from ingot_contracts.repos.commits import BranchTip, CheckedCommit, CommitStates
from ingot_contracts.repos.comparisons import (
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    PullHead,
)
from ingot_contracts.repos.conflicts import Conflicts, FindConflicts, ResolveConflicts
from ingot_contracts.repos.exports import ExportedLabels, ExportFile, ExportPage, ExportState
from ingot_contracts.repos.histories import History
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportConflict,
    ImportFile,
    ImportPage,
    ReadImportFile,
    ReadImportPage,
)
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import Merge, Merged, OfficialReviewers, UpdateBranch, UpdatedBranch
from ingot_contracts.repos.range_diffs import RangeDiff
from ingot_contracts.repos.repositories import RepositoryAccess

DIFF_BYTES, LARGEST_DIFF = 16_000_000, 1_000_000
"""Limits in bytes: of all cached diffs, and of one diff."""
SOURCE_SECONDS = 60.0
"""The timeout in seconds of calls in which repos calls the source of an import."""
GIT_SECONDS = 130.0
"""The timeout in seconds of calls that run git in repos."""


_GrantKey: TypeAlias = tuple[str, str, str]
"""Principal token, owner and name: the key of a cached grant."""


class Official(NamedTuple):
    """People and teams whose decisions count for a protected branch."""

    accounts: set[int]
    teams: set[int]


class Readable(NamedTuple):
    """Ids of repositories that a caller may read. In some of them issues or pull requests are hidden."""

    ids: set[int]
    without_issues: set[int]
    without_pulls: set[int]

    @property
    def entire(self) -> set[int]:
        """Ids of repositories in which the caller may read issues and pull requests."""
        return self.ids - self.without_issues - self.without_pulls


class HttpRepos:
    """A client of repos' internal API.

    Raises NotFound for objects that do not exist or are hidden from the caller. ``principal_token`` is the
    caller's token; jobs pass None.
    """

    def __init__(self, peer: Peer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._peer = peer
        self._grants: GrantCache[_GrantKey, RepositoryAccess] = GrantCache(clock=clock)
        self._questions: dict[_GrantKey, asyncio.Future[str]] = {}
        """Running calls to repos. Each future ends with the error text of the call; empty for a success."""
        self._diffs: LRUCache[tuple[int, str, str, str, bool, str], bytes] = LRUCache(
            DIFF_BYTES, getsizeof=_entry_bytes
        )

    async def granted(self, owner: str, name: str, principal_token: str) -> RepositoryAccess | None:
        """Return the access that repos granted within the last seconds, or None.

        A cached grant may allow a request. Before a denial, the caller must ask repos again with ``access``.
        This waits while an equal call to repos is running. Raises Unavailable if that call fails, because
        another call would take as long again.
        """
        key = _grant_key(owner, name, principal_token)
        question = self._questions.get(key)
        if question is not None and (failure := await asyncio.shield(question)):
            raise Unavailable(failure)
        return self._grants.get(key)

    async def import_page(
        self,
        repository_id: int,
        cursor: str,
        *,
        is_refused: bool = False,
        repeat: int = 0,
        conflicts: Sequence[ImportConflict] = (),
    ) -> ImportPage:
        """Return the page of an import at a cursor. ``conflicts`` are the conflicts of the previous page.

        With ``is_refused``, report that this page cannot be written, which makes the import fail.
        """
        body = ReadImportPage(
            cursor=cursor,
            is_refused=is_refused,
            with_files=not is_refused,
            repeat=repeat,
            conflicts=list(conflicts),
        )
        path = f"/internal/imports/{repository_id}/pages"
        return await self._peer.post(path, body, ImportPage, timeout=SOURCE_SECONDS)

    async def export_state(self, repository_id: int, name: str) -> ExportState:
        """Return the state of an export, with the cursor of the next page."""
        path = f"/internal/exports/{repository_id}/state?name={segment(name)}"
        return await self._peer.get(path, ExportState)

    async def send_export_page(self, repository_id: int, page: ExportPage) -> ExportState:
        """Send a page of an export. Return the new state of the export."""
        path = f"/internal/exports/{repository_id}/pages"
        return await self._peer.post(path, page, ExportState, timeout=SOURCE_SECONDS)

    async def send_organization_labels(self, labels: ExportedLabels) -> None:
        """Send the labels of an organization for its export. An export that has ended ignores them."""
        await self._peer.post("/internal/organization-exports/labels", labels, bool, timeout=SOURCE_SECONDS)

    async def send_export_file(self, repository_id: int, file: ExportFile) -> ExportState:
        """Send a file of texts of an export, and return the state of the export."""
        path = f"/internal/exports/{repository_id}/exported-files"
        return await self._peer.post(path, file, ExportState, timeout=SOURCE_SECONDS)

    async def import_file(self, repository_id: int, request: ReadImportFile) -> ImportFile:
        """Return a file of the source of an import."""
        path = f"/internal/imports/{repository_id}/imported-files"
        return await self._peer.post(path, request, ImportFile, timeout=SOURCE_SECONDS)

    def drop_grants(self, repository_id: int) -> None:
        """Remove cached grants for a repository."""
        self._grants.drop_holder(repository_id)

    async def access(self, owner: str, name: str, principal_token: str) -> RepositoryAccess:
        """Return the access of the caller to the repository of that name."""
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
        """Mark a call to repos as running, so equal calls wait for the same response."""
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
        """Return the access of the caller to a repository."""
        path = f"/internal/repositories/{repository_id}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal_token)

    async def access_of_user(self, account_id: int, owner: str, name: str) -> RepositoryAccess:
        """Return the access of a user who has not made the request. Raises NotFound for the ghost account."""
        if account_id == GHOST_ID:
            raise NotFound
        return await self._peer.get(f"{_access_path(owner, name)}?user={account_id}", RepositoryAccess)

    async def access_of_user_by_id(self, account_id: int, repository_id: int) -> RepositoryAccess:
        """Return the access of a user who has not made the request. Raises NotFound for the ghost account."""
        if account_id == GHOST_ID:
            raise NotFound
        path = f"/internal/repositories/{repository_id}/access?user={account_id}"
        return await self._peer.get(path, RepositoryAccess)

    async def watchers(self, repository_id: int) -> list[int]:
        """Return the ids of the watchers of a repository."""
        return (await self._peer.get(f"/internal/repositories/{repository_id}/watchers", Watchers)).ids

    async def team_ids(self, repository_id: int) -> list[int]:
        """Return the ids of teams with access to a repository, except the owners' team."""
        return await self._peer.get(f"/internal/repositories/{repository_id}/teams", list[int])

    async def readable(
        self, repository_ids: Collection[int], principal_token: str, *, team_id: int = 0
    ) -> Readable:
        """Return the members of ``repository_ids`` that the caller may read.

        With ``team_id``, only repositories of that team.
        """
        ids, readable = sorted(repository_ids), Readable(set(), set(), set())
        for start in range(0, len(ids), MOST_IDS):
            question = ReadableRepositories(ids=ids[start : start + MOST_IDS], team_id=team_id, by_unit=True)
            path = "/internal/readable-repositories"
            answer = await self._peer.post(path, question, ReadableRepositories, principal=principal_token)
            readable.ids.update(answer.ids)
            readable.without_issues.update(answer.unreadable.get("issues", ()))
            for unit in ("pulls", "code"):
                readable.without_pulls.update(answer.unreadable.get(unit, ()))
        return readable

    async def check_states(
        self, commits: Collection[tuple[int, str]], principal_token: str
    ) -> dict[tuple[int, str], str]:
        """Return the states of the checks of commits, by repository and commit. At most MOST_COMMIT_STATES.

        Commits without checks are left out, and those that the caller may not read. Empty if repos runs an
        older release.
        """
        question = [CheckedCommit(repository_id=id_, sha=sha) for id_, sha in sorted(commits)]
        try:
            answer = await self._peer.post(
                "/internal/commit-states",
                CommitStates(commits=question),
                CommitStates,
                principal=principal_token,
            )
        except NotFound:
            return {}
        return {(one.repository_id, one.sha): one.state for one in answer.commits}

    async def levels(self, repository_ids: Collection[int], principal_token: str) -> dict[int, Level]:
        """Return the caller's access levels for code by repository, for at most ``MOST_IDS`` ids.

        Only readable repositories are included; none if repos runs an older release.
        """
        question = ReadableRepositories(ids=sorted(repository_ids), with_levels=True, by_unit=True)
        path = "/internal/readable-repositories"
        answer = await self._peer.post(path, question, ReadableRepositories, principal=principal_token)
        return dict(zip(answer.ids, answer.levels, strict=False))  # an older release returns no levels

    async def compare(self, repository_id: int, request: Compare, principal_token: str) -> Comparison:
        path = f"/internal/repositories/{repository_id}/compare"
        return await self._peer.post(
            path, request, Comparison, principal=principal_token, timeout=GIT_SECONDS
        )

    async def compare_heads(self, repository_id: int, request: CompareHeads) -> list[Comparison | None]:
        """Return a comparison for each head; None for a missing head.

        Access is not checked, so only jobs may call this.
        """
        path = f"/internal/repositories/{repository_id}/comparisons?unattended=true"
        return (await self._peer.post(path, request, Comparisons, timeout=GIT_SECONDS)).comparisons

    async def set_pull_head(self, repository_id: int, number: int, head: PullHead) -> None:
        """Set who may fetch the commits of a pull request. Also raises Conflict."""
        path = f"/internal/repositories/{repository_id}/pull-heads/{number}"
        await self._peer.call("PUT", path, msgspec.json.encode(head), timeout=GIT_SECONDS)

    async def exists(self, repository_id: int) -> bool:
        """Return whether the repository exists. This works with older releases of repos, too."""
        try:
            await self.dismisses_approvals(repository_id, "")
        except NotFound:
            return False
        return True

    async def merge_rule(
        self, repository_id: int, branch: str, head_sha: str, principal_token: str | None, *, actor_id: int
    ) -> MergeRule:
        """Return the rule for merges into a branch by the caller or, in a job, by the actor."""
        path = f"/internal/repositories/{repository_id}/merge-rule"
        path += f"?branch={quote(branch, safe='')}&head={head_sha}"
        if principal_token is None:
            path += f"&user={actor_id}"
        return await self._peer.get(path, MergeRule, principal=principal_token or "")

    async def official_reviewers(
        self, repository_id: int, branch: str, account_ids: Collection[int], team_ids: Collection[int] = ()
    ) -> Official:
        """Return the people and teams who are official reviewers of a branch now.

        Raises Unavailable if repos runs an older release, because recorded values must not allow a merge.
        """
        accounts, teams = sorted(account_ids), sorted(team_ids)
        official = Official(set(), set())
        path = f"/internal/repositories/{repository_id}/official-reviewers"
        for start in range(0, max(len(accounts), len(teams)), MOST_IDS):
            part = slice(start, start + MOST_IDS)
            question = OfficialReviewers(branch=branch, ids=accounts[part], team_ids=teams[part])
            try:
                answer = await self._peer.post(path, question, OfficialReviewers)
            except NoRoute as error:
                raise error.unavailable("repos") from error
            official.accounts.update(answer.ids)
            official.teams.update(answer.team_ids)
        return official

    async def dismisses_approvals(self, repository_id: int, branch: str) -> bool:
        """Return whether a new head commit dismisses the approvals of pull requests into the branch."""
        path = f"/internal/repositories/{repository_id}/merge-rule"
        path += f"?branch={quote(branch, safe='')}&unattended=true"
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
        """Merge as the caller or, in a job, as the actor. Also raises Conflict, NotAllowed and TooLarge."""
        path = f"/internal/repositories/{repository_id}/merge?override={'true' if overrides else 'false'}"
        if principal_token is None:
            path += f"&user={actor_id}&restricted={'true' if restricted else 'false'}"
        return await self._peer.post(
            path, request, Merged, principal=principal_token or "", timeout=GIT_SECONDS
        )

    async def update_branch(
        self, repository_id: int, request: UpdateBranch, principal_token: str
    ) -> UpdatedBranch:
        """Merge a base branch into a branch of this repository. Also raises Denied and Conflict."""
        path = f"/internal/repositories/{repository_id}/update-branch"
        return await self._peer.post(
            path, request, UpdatedBranch, principal=principal_token, timeout=GIT_SECONDS
        )

    async def find_conflicts(
        self, repository_id: int, question: FindConflicts, principal_token: str
    ) -> Conflicts:
        """Return the conflicts of a merge into a branch of this repository.

        Also raises Denied, Conflict and TooLarge.
        """
        path = f"/internal/repositories/{repository_id}/conflicts"
        return await self._peer.post(
            path, question, Conflicts, principal=principal_token, timeout=GIT_SECONDS
        )

    async def resolve_conflicts(
        self, repository_id: int, request: ResolveConflicts, principal_token: str
    ) -> UpdatedBranch:
        """Merge into a branch of this repository with resolutions. Also raises Denied and Conflict."""
        path = f"/internal/repositories/{repository_id}/resolutions"
        return await self._peer.post(
            path, request, UpdatedBranch, principal=principal_token, timeout=GIT_SECONDS
        )

    async def branch_tip(self, repository_id: int, branch: str, principal_token: str) -> str:
        """Return the tip of a branch."""
        path = f"/internal/repositories/{repository_id}/branches/{quote(branch)}"
        return (await self._peer.get(path, BranchTip, principal=principal_token)).sha

    async def delete_branch(
        self, repository_id: int, branch: str, tip: str, principal_token: str | None, *, actor_id: int
    ) -> None:
        """Delete a branch that is still at ``tip``, as the caller or, in a job, as the actor.

        Also raises Denied and Conflict.
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
        base_tip: str = "",
    ) -> bytes:
        """Return the diff or patch from the commit ``base`` to ``head``. Cached, because it never changes.

        A patch omits the commits of ``base_tip`` as well. The caller must have checked read access.
        ``binary``: a diff includes binary files.
        """
        base_tip = base_tip if form == "patch" else ""
        key = (repository_id, base, head, form, binary, base_tip)
        text = self._diffs.get(key)
        if text is None:
            path = f"/internal/repositories/{repository_id}/diff?base={base}&head={head}&format={form}"
            path += f"{'&binary=true' if binary else ''}{f'&base_tip={base_tip}' if base_tip else ''}"
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
        """Return the diff of at most ``files`` files, and the number of all files.

        The number is None if repos runs an older release.
        """
        path = f"/internal/repositories/{repository_id}/diff?base={base}&head={head}"
        path += f"&offset={offset}&files={files}&whitespace={whitespace}"
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
        base_tip: str = "",
    ) -> History:
        """Return the commits of ``head`` that neither ``base`` nor ``base_tip`` has.

        ``changes`` adds the changed files, ``verification`` the verification of signatures.
        """
        path = f"/internal/repositories/{repository_id}/commits?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}{'&unattended=true' if principal_token is None else ''}"
        path += f"{'&changes=true' if changes else ''}{'&verification=true' if verification else ''}"
        path += f"&base_tip={base_tip}" if base_tip else ""
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
        """Return the files that differ between ``base`` and ``head``, from ``skip_to`` on if set."""
        path = f"/internal/repositories/{repository_id}/files?base={base}&head={head}"
        path += f"&offset={offset}&limit={limit}&whitespace={whitespace}&skip_to={quote(skip_to, safe='')}"
        return await self._peer.get(path, ChangedPaths, principal=principal_token)

    async def range_diff(
        self, repository_id: int, old: str, new: str, principal_token: str, *, base: str, base_tip: str
    ) -> RangeDiff:
        """Return the commits of two heads of one pull request in pairs. Also raises TooLarge.

        The caller must have checked that the heads are of a pull request that the user may read.
        """
        path = f"/internal/repositories/{repository_id}/range-diff?old={old}&new={new}"
        path += f"&base={base}&base_tip={base_tip}"
        return await self._peer.get(path, RangeDiff, principal=principal_token)


def _entry_bytes(text: bytes) -> int:
    """Return the size of a cache entry in bytes, with its overhead."""
    return len(text) + 500


def _grant_key(owner: str, name: str, principal_token: str) -> _GrantKey:
    return principal_token, owner.lower(), name.lower()


def _access_path(owner: str, name: str) -> str:
    return f"/internal/repositories/by-name/{segment(owner)}/{segment(name)}/access"
