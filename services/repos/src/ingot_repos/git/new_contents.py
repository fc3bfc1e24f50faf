"""What a branch gets when it moves: its new commits with their signatures, and the files that are different then.

The work has limits: one walk over the new commits, one comparison of trees for each commit that they continue, and
one budget for the comparisons of each new commit with its parents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pygit2

from ingot_repos.git.changes import ReadBudget, changed_paths
from ingot_repos.git.commits import find_commit
from ingot_repos.git.refs import BRANCHES, ZERO_OID, default_branch, list_refs
from ingot_repos.git.signatures import CommitSignature, commit_signatures

MOST_COMMITS = 5_000
MOST_PATH_BYTES = 1_000_000
"""Of the files that differ, some 20,000; of folders as many entries are read."""
_MOST_BASES = 10


@dataclass(frozen=True, slots=True)
class NewCommit:
    """``email`` is that of the committer. Without a signature the commit is not signed."""

    oid: str
    email: str
    signature: CommitSignature | None


@dataclass(frozen=True, slots=True)
class NewContents:
    """Commits, the newest first, and paths of files; None: they are too many, or were not asked for."""

    commits: tuple[NewCommit, ...] | None = None
    files: frozenset[str] | None = None


def new_contents(
    repo: pygit2.Repository,
    before: str,
    after: str,
    is_base: Callable[[str], bool],
    *,
    with_commits: bool,
    with_files: bool,
    of_each_commit: bool = False,
) -> NewContents:
    """What a branch gets by moving from one commit (full id) to another. Blocks.

    A new branch, with 40 zeros for ``before``, is compared with the default branch and those for whose names
    ``is_base``: a file is different if it is as in none of the commits from which the new ones go on.

    With ``of_each_commit`` there are also the files of each new commit that are as in none of its parents, whatever
    later commits take back.

    Raises ObjectNotFound for what is no commit.
    """
    is_new = before == ZERO_OID
    tips = _base_tips(repo, is_base) if is_new else [before]
    commits = _new_commits(repo, tips, after) if is_new or with_commits or of_each_commit else []
    if commits is None:
        return NewContents()
    files: frozenset[str] | None = frozenset()
    if with_files:
        bases = _bases(commits) if is_new else [before]
        files = _different(repo, bases, after) if commits or not is_new else frozenset()
        if files is not None and of_each_commit:
            files = _with_each(repo, commits, files)
    return NewContents(_described(repo, commits) if with_commits else (), files)


def _base_tips(repo: pygit2.Repository, is_base: Callable[[str], bool]) -> list[str]:
    main = default_branch(repo)
    tips = list_refs(repo, (BRANCHES,))
    names = ((name.removeprefix(BRANCHES), oid) for name, oid in tips.items())
    return list({oid for name, oid in names if name == main or is_base(name)})


def _new_commits(repo: pygit2.Repository, tips: list[str], after: str) -> list[pygit2.Commit] | None:
    walker = repo.walk(find_commit(repo, after).id)
    for oid in tips:
        walker.hide(oid)
    commits = [commit for _, commit in zip(range(MOST_COMMITS + 1), walker, strict=False)]
    return None if len(commits) > MOST_COMMITS else commits


def _bases(commits: list[pygit2.Commit]) -> list[str]:
    """The commits from which new ones go on; of very many the first ones, so that rather too many files differ."""
    own = {commit.id for commit in commits}
    parents = dict.fromkeys(str(id_) for commit in commits for id_ in commit.parent_ids if id_ not in own)
    return list(parents)[:_MOST_BASES] or [ZERO_OID]


def _budget() -> ReadBudget:
    most = MOST_PATH_BYTES
    return ReadBudget(lambda path: len(path.encode()), texts=most + 1, paths=most, entries=most)


def _with_each(
    repo: pygit2.Repository, commits: list[pygit2.Commit], files: frozenset[str]
) -> frozenset[str] | None:
    budget = _budget()
    for commit in commits:
        parents = [str(id_) for id_ in commit.parent_ids] or [ZERO_OID]
        own = _different(repo, parents, str(commit.id), budget)
        if own is None:
            return None
        files |= own
    return files


def _different(
    repo: pygit2.Repository, bases: Sequence[str], after: str, budget: ReadBudget | None = None
) -> frozenset[str] | None:
    """The files that are as in none of the bases. Without ``budget`` each comparison has its own."""
    tree = find_commit(repo, after).tree_id
    files: frozenset[str] | None = None
    for base in bases:
        old = None if base == ZERO_OID else find_commit(repo, base).tree_id
        changed = changed_paths(repo, old, tree, budget or _budget())
        if changed is None:
            return None
        files = frozenset(changed) if files is None else files & frozenset(changed)
    return files


def _described(repo: pygit2.Repository, commits: list[pygit2.Commit]) -> tuple[NewCommit, ...]:
    ids = [str(commit.id) for commit in commits]
    signatures = commit_signatures(repo, ids)
    return tuple(
        NewCommit(oid, commit.committer.raw_email.decode("utf-8", "replace"), signatures.get(oid))
        for oid, commit in zip(ids, commits, strict=True)
    )
