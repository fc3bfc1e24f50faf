"""Pages of a history in the order and simplification of `git log`, with bounded work.

Up to ``COUNTED`` commits are counted, or all commits up to the end of the requested page. For a longer
history ``more`` is True, and ``total`` is a lower bound.
"""

import heapq
import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import pygit2

from ingot_git.history.commits import Clip, CommitInfo, describe, find_commit
from ingot_git.history.named_refs import commit_of_id, named_ref
from ingot_git.history.path_commits import count_commits, listed_commits, path_commits
from ingot_git.history.reachability import only_in
from ingot_git.history.signatures import CommitSignature, commit_signatures
from ingot_git.process.errors import GitTooExpensive, ObjectNotFound
from ingot_git.refs.trees import entry_at, split_path
from ingot_git.storage.read_cache import ReadCache, SharedCache

COUNTED = 20_000
"""Commits that are read only for counting."""
LONGEST_WALK = 200_000
"""Maximum number of commits that are read; older ones are not listed."""
WALKED = 500
"""Commits that this module reads before git continues.

git uses the commit-graph, which has parents and changed paths of most commits.
"""
WALK_SECONDS = 0.5
"""CPU time for a history of a path, besides that of git. Folders may have many entries, and each is read."""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Selects the commits of a history.

    Args:
        path: only commits that change this file or folder; empty for all.
        since, until: seconds since the epoch, compared with the time of the committer.
        hidden: full ids; commits that one of them reaches are skipped.
        author: a part of the author's `name <address>`, ignoring case; empty for all.
    """

    path: str = ""
    since: int | None = None
    until: int | None = None
    hidden: tuple[str, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of commits. ``total`` is the number of all commits, or a lower bound if they were not counted.

    ``more`` is True if commits follow this page.
    """

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
    """Return a page of the history of a branch, tag or commit, and the signatures of its commits by id.

    Commits in the history of ``hidden``, another name or empty, are skipped.

    Raises:
        RefNotFound: one of the names is unknown.
        ObjectNotFound: the path is invalid.
        GitTooExpensive: see `history_page`.
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


def named_commit(
    repo: pygit2.Repository, name: str, *, only_id: bool = False
) -> tuple[CommitInfo, CommitSignature | None]:
    """Return the commit of a branch, tag or id, and its signature or None. Raises RefNotFound.

    With ``only_id``, names of branches and tags are not resolved.
    """
    oid = commit_of_id(repo, name) if only_id else named_ref(repo, name).commit
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
    """Return the commits from ``start`` (full id) that match the filter, latest first, clipped.

    For a path that never existed, the page is empty and its total is 0. ``totals`` caches totals. ``counted``
    replaces ``COUNTED``.

    Raises:
        ObjectNotFound: one of the ids is not a commit.
        GitTooExpensive: the history of a path is too long, or its folders are too large.
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
    # With a path and hidden commits only git knows which parents of a merge to follow.
    walked = 0 if history_filter.hidden else WALKED
    page: list[CommitInfo] = []
    count, end = 0, offset + limit
    uncounted = False
    latest = time.thread_time() + (WALK_SECONDS if history_filter.path else math.inf)
    for steps, commit in enumerate(_walk(repo, tip, history_filter)):
        is_late = time.thread_time() > latest
        if count >= end and (total is not None or steps >= counted or is_late):
            uncounted = total is None
            break
        by_git = None
        if steps == walked or is_late:
            by_git = _page_by_git(repo, start, history_filter, range(offset, end), clip, must_answer=is_late)
        if by_git is not None:
            totals.put((start, history_filter), by_git.total)
            return by_git
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


def _page_by_git(
    repo: pygit2.Repository,
    start: str,
    history_filter: HistoryFilter,
    span: range,
    clip: Clip,
    *,
    must_answer: bool,
) -> HistoryPage | None:
    """Return the page with the commits at ``span``.

    If git does not answer in time, return None, or with ``must_answer`` raise GitTooExpensive.
    """
    every = _listed_by_git(repo, start, history_filter)
    if every is None and must_answer:
        raise GitTooExpensive
    return None if every is None else _page_of(repo, every, span, clip)


def _page_of(repo: pygit2.Repository, every: Sequence[str], span: range, clip: Clip) -> HistoryPage:
    """Return the page with the commits at ``span`` of a whole list."""
    listed = tuple(clip(describe(find_commit(repo, oid))) for oid in every[span.start : span.stop])
    return HistoryPage(listed, len(every), len(every) > span.stop)


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
    """Return a page of all commits, without filters by path, author or time.

    Beyond ``WALKED`` commits, git lists and counts commits without reading them.
    """
    key, end = (str(tip.id), history_filter), offset + limit
    if history_filter.hidden:
        return _page_of(repo, only_in(repo, key[0], history_filter.hidden), range(offset, end), clip)
    total = totals.get(key)
    oids = listed_commits(repo, key[0], offset=offset, most=limit) if end > WALKED else None
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
        number = count_commits(repo, key[0], most=most + 1)
        total = number if number is not None and number <= most else None
    if total is None:
        return HistoryPage(tuple(page), max(counted, end + 1), more=True)
    totals.put(key, total)
    return HistoryPage(tuple(page), total, total > offset + len(page))


def _listed_by_git(repo: pygit2.Repository, start: str, history_filter: HistoryFilter) -> list[str] | None:
    """Return the ids of all commits that the filter selects. Return None without a path, or on timeout."""
    if not history_filter.path:
        return None
    revisions = [start, *(f"^{oid}" for oid in history_filter.hidden)]
    commits = path_commits(repo, revisions, history_filter.path, most=LONGEST_WALK)
    if commits is None:
        return None
    listed = [oid for seconds, oid in commits if _is_between(seconds, history_filter)]
    if history_filter.hidden:
        inside = set(only_in(repo, start, history_filter.hidden))
        listed = [oid for oid in listed if oid in inside]
    if not history_filter.author:
        return listed
    return [oid for oid in listed if _is_listed(find_commit(repo, oid), history_filter)]


def _is_listed(commit: pygit2.Commit, history_filter: HistoryFilter) -> bool:
    if not _is_between(commit.commit_time, history_filter):
        return False
    if not history_filter.author:
        return True
    author = describe(commit).author
    return history_filter.author.lower() in f"{author.name} <{author.email}>".lower()


def _is_between(seconds: int, history_filter: HistoryFilter) -> bool:
    since, until = history_filter.since, history_filter.until
    return (since is None or seconds >= since) and (until is None or seconds <= until)


def _walk(
    repo: pygit2.Repository, tip: pygit2.Commit, history_filter: HistoryFilter
) -> Iterator[pygit2.Commit | None]:
    """Yield commits in order; None for a commit that was read but is not listed."""
    if not history_filter.hidden:
        yield from _changing(repo, tip, history_filter.path) if history_filter.path else repo.walk(tip.id)
        return
    every = only_in(repo, str(tip.id), history_filter.hidden)
    if history_filter.path:
        yield from _changing(repo, tip, history_filter.path, {*every}, {*history_filter.hidden})
    else:
        yield from (find_commit(repo, oid) for oid in every)


def _changing(
    repo: pygit2.Repository,
    tip: pygit2.Commit,
    path: str,
    inside: set[str] | None = None,
    bottom: Collection[str] = (),
) -> Iterator[pygit2.Commit | None]:
    """Yield the commits that change a path; None for other commits that were read.

    If a parent has the same content, only the first such parent is followed. As in git, a hidden parent
    counts only if it is a ``bottom`` commit, or if all parents are hidden.
    """
    at = _PathReader(repo, path)
    order: list[tuple[int, int, pygit2.Oid]] = []
    visited: set[pygit2.Oid] = set()

    def push(commit: pygit2.Commit) -> None:
        if commit.id not in visited and (inside is None or str(commit.id) in inside):
            visited.add(commit.id)
            heapq.heappush(order, (-commit.commit_time, len(visited), commit.id))

    push(tip)
    while order:
        commit = find_commit(repo, str(heapq.heappop(order)[2]))
        own = at.entry(commit)
        objects: list[object] = [repo.get(oid) for oid in commit.parent_ids]
        parents = [parent for parent in objects if isinstance(parent, pygit2.Commit)]
        relevant = parents
        if inside is not None:
            relevant = [one for one in parents if str(one.id) in inside or str(one.id) in bottom]
        same = next((parent for parent in relevant if at.entry(parent) == own), None)
        if same is not None:
            push(same)
            yield None
            continue
        for parent in parents:
            push(parent)
        changes = any(at.entry(one) != own for one in parents) if parents else own is not None
        yield commit if changes else None


class _PathReader:
    """Reads the entry at one path in several commits."""

    def __init__(self, repo: pygit2.Repository, path: str) -> None:
        self._repo, self._path = repo, path
        self._last: tuple[str, tuple[int, str] | None] = ("", None)

    def entry(self, commit: pygit2.Commit) -> tuple[int, str] | None:
        """Return mode and id at the path; None if nothing exists there."""
        tree = str(commit.tree_id)
        if self._last[0] != tree:
            try:
                entry = entry_at(self._repo, tree, self._path)
                self._last = tree, (entry.mode, entry.oid)
            except ObjectNotFound:
                self._last = tree, None
        return self._last[1]
