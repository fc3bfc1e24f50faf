"""Pages of a history, as `git log` orders and simplifies it, with bounded work.

A count goes as far as `COUNTED` commits beyond what is asked for; a history that is longer says so by ``more``.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pygit2

from ingot_repos.git.commits import Clip, CommitInfo, describe, find_commit, person_of
from ingot_repos.git.errors import ObjectNotFound
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.path_commits import count_commits, listed_commits, path_commits
from ingot_repos.git.read_cache import ReadCache, SharedCache
from ingot_repos.git.signatures import CommitSignature, commit_signatures
from ingot_repos.git.trees import entry_at, split_path

COUNTED = 20_000
"""Commits that are read only to count them."""
LONGEST_WALK = 200_000
"""Commits that are read in any case; older ones are not listed."""
WALKED = 500
"""Commits that are read here to list and count. Then git goes on, which knows from the commit-graph what follows what, and what
most of them change."""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which commits of a history are listed.

    Args:
        path: only those that change this file or folder; empty for all.
        since, until: seconds since the epoch, compared with the time of the committer.
        hidden: full ids; commits that one of them reaches are left out.
        author: a part of the author's `name <address>`, in any case; empty for all.
    """

    path: str = ""
    since: int | None = None
    until: int | None = None
    hidden: tuple[str, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """``total`` is how many there are; at least so many, and ``more`` than those listed, if that was not counted."""

    commits: tuple[CommitInfo, ...]
    total: int
    more: bool


def named_history(
    repo: pygit2.Repository,
    name: str,
    hidden: str,
    history_filter: HistoryFilter,
    *,
    offset: int,
    limit: int,
    cache: ReadCache,
    clip: Clip,
) -> tuple[HistoryPage, dict[str, CommitSignature]]:
    """The same from a branch, tag or commit, without the commits of another one, and their signatures by id.

    Raises:
        RefNotFound: one of the names is unknown here.
        ObjectNotFound: nothing can be at the path.
    """
    start = named_ref(repo, name).commit
    split_path(history_filter.path)
    if hidden:
        history_filter = replace(history_filter, hidden=(named_ref(repo, hidden).commit,))
    key = (start, history_filter, offset, limit)
    remembered = cache.histories.get(key)
    if remembered is None:
        page = history_page(
            repo, start, history_filter, offset=offset, limit=limit, totals=cache.totals, clip=clip
        )
        remembered = page, commit_signatures(repo, [info.oid for info in page.commits])
        texts = sum(len(info.message) for info in page.commits)
        cache.histories.put(key, remembered, size=len(page.commits) + texts // 200 + 1)
    return remembered


def named_commit(repo: pygit2.Repository, name: str) -> tuple[CommitInfo, CommitSignature | None]:
    """The commit of a branch, tag or id, and its signature. Raises RefNotFound."""
    oid = named_ref(repo, name).commit
    return describe(find_commit(repo, oid)), commit_signatures(repo, [oid]).get(oid)


def history_page(
    repo: pygit2.Repository,
    start: str,
    history_filter: HistoryFilter,
    *,
    offset: int,
    limit: int,
    totals: SharedCache[int],
    clip: Clip,
    counted: int = COUNTED,
) -> HistoryPage:
    """The commits from ``start`` (full id) that fit the filter, newest first, clipped.

    Raises:
        ObjectNotFound: one of the ids is no commit, or nothing was ever at the path.
    """
    tip = find_commit(repo, start)
    for oid in history_filter.hidden:
        find_commit(repo, oid)
    is_plain = history_filter == HistoryFilter(hidden=history_filter.hidden)
    page_of = _plain_page if is_plain else _filtered_page
    return page_of(repo, tip, history_filter, offset, limit, totals, counted, clip)


def _filtered_page(
    repo: pygit2.Repository,
    tip: pygit2.Commit,
    history_filter: HistoryFilter,
    offset: int,
    limit: int,
    totals: SharedCache[int],
    counted: int,
    clip: Clip,
) -> HistoryPage:
    start = str(tip.id)
    total = totals.get((start, history_filter))
    page: list[CommitInfo] = []
    count, end = 0, offset + limit
    uncounted = False
    for steps, commit in enumerate(_walk(repo, tip, history_filter)):
        if steps == WALKED and (every := _listed_by_git(repo, start, history_filter)) is not None:
            totals.put((start, history_filter), len(every))
            listed = tuple(clip(describe(find_commit(repo, oid))) for oid in every[offset:end])
            return HistoryPage(listed, len(every), len(every) > end)
        if count >= end and (total is not None or steps >= counted):
            uncounted = total is None
            break
        if steps >= LONGEST_WALK:
            break
        if commit is not None and _is_listed(commit, history_filter):
            if offset <= count < end:
                page.append(clip(describe(commit)))
            count += 1
    if total is None and not uncounted:
        total = count
        totals.put((start, history_filter), count)
    if total is None:
        total = max(count, end + 1)
    return HistoryPage(tuple(page), total, total > offset + len(page))


def _plain_page(
    repo: pygit2.Repository,
    tip: pygit2.Commit,
    history_filter: HistoryFilter,
    offset: int,
    limit: int,
    totals: SharedCache[int],
    counted: int,
    clip: Clip,
) -> HistoryPage:
    """A page of all commits. Beyond ``WALKED`` git lists and counts them without reading them."""
    key, end = (str(tip.id), history_filter), offset + limit
    revisions = [key[0], *(f"^{oid}" for oid in history_filter.hidden)]
    total = totals.get(key)
    oids = listed_commits(repo, revisions, offset=offset, most=limit) if end > WALKED else None
    if oids is None:
        most = min(max(end, WALKED), LONGEST_WALK)
        commits = _walk(repo, tip, history_filter)
        page, near = [], 0
        for near, one in zip(range(1, (end if total is not None else most + 1) + 1), commits, strict=False):
            if one is not None and offset < near <= end:
                page.append(clip(describe(one)))
        total = near if total is None and near <= most else total
    else:
        page = [clip(describe(find_commit(repo, oid))) for oid in oids]
        total = offset + len(page) if page and len(page) < limit else total
    if total is None:
        most = max(counted, end)
        number = count_commits(repo, revisions, most=most + 1)
        total = number if number is not None and number <= most else None
    if total is None:
        return HistoryPage(tuple(page), max(counted, end + 1), more=True)
    totals.put(key, total)
    return HistoryPage(tuple(page), total, total > offset + len(page))


def _listed_by_git(repo: pygit2.Repository, start: str, history_filter: HistoryFilter) -> list[str] | None:
    """The ids of all commits that fit a filter with a path; None without a path, or if git needs too long."""
    if not history_filter.path:
        return None
    revisions = [start, *(f"^{oid}" for oid in history_filter.hidden)]
    commits = path_commits(repo, revisions, history_filter.path, most=LONGEST_WALK)
    if commits is None:
        return None
    listed = [oid for seconds, oid in commits if _is_between(seconds, history_filter)]
    if not history_filter.author:
        return listed
    return [oid for oid in listed if _is_listed(find_commit(repo, oid), history_filter)]


def _is_listed(commit: pygit2.Commit, history_filter: HistoryFilter) -> bool:
    if not _is_between(commit.commit_time, history_filter):
        return False
    if not history_filter.author:
        return True
    author = person_of(commit.author, commit.message_encoding)
    return history_filter.author.lower() in f"{author.name} <{author.email}>".lower()


def _is_between(seconds: int, history_filter: HistoryFilter) -> bool:
    since, until = history_filter.since, history_filter.until
    return (since is None or seconds >= since) and (until is None or seconds <= until)


def _walk(
    repo: pygit2.Repository, tip: pygit2.Commit, history_filter: HistoryFilter
) -> Iterator[pygit2.Commit | None]:
    """Commits in order; None for one that was read and is not listed."""
    walker = repo.walk(tip.id)
    for oid in history_filter.hidden:
        walker.hide(oid)
    if not history_filter.path:
        yield from walker
        return
    inside: set[pygit2.Oid] | None = None
    if history_filter.hidden:
        inside = {commit.id for _, commit in zip(range(LONGEST_WALK), walker, strict=False)}
    yield from _changing(repo, tip, history_filter.path, inside)


def _changing(
    repo: pygit2.Repository, tip: pygit2.Commit, path: str, inside: set[pygit2.Oid] | None
) -> Iterator[pygit2.Commit | None]:
    """The commits that change a path: of the parents that have the same there, only the first is followed."""
    at = _PathReader(repo, path)
    order: list[tuple[int, int, pygit2.Oid]] = []
    visited: set[pygit2.Oid] = set()

    def push(commit: pygit2.Commit) -> None:
        if commit.id not in visited and (inside is None or commit.id in inside):
            visited.add(commit.id)
            heapq.heappush(order, (-commit.commit_time, len(visited), commit.id))

    push(tip)
    while order:
        commit = find_commit(repo, str(heapq.heappop(order)[2]))
        own = at.entry(commit)
        objects: list[object] = [repo.get(oid) for oid in commit.parent_ids]
        parents = [parent for parent in objects if isinstance(parent, pygit2.Commit)]
        same = next((parent for parent in parents if at.entry(parent) == own), None)
        if same is not None:
            push(same)
            yield None
            continue
        for parent in parents:
            push(parent)
        yield commit if parents or own is not None else None


class _PathReader:
    """What a commit has at one path."""

    def __init__(self, repo: pygit2.Repository, path: str) -> None:
        self._repo, self._path = repo, path
        self._last: tuple[str, tuple[int, str] | None] = ("", None)

    def entry(self, commit: pygit2.Commit) -> tuple[int, str] | None:
        """Mode and id; None if there is nothing."""
        tree = str(commit.tree_id)
        if self._last[0] != tree:
            try:
                entry = entry_at(self._repo, tree, self._path)
                self._last = tree, (entry.mode, entry.oid)
            except ObjectNotFound:
                self._last = tree, None
        return self._last[1]
