"""Lists the new commits, signatures and changed files of a branch that moves.

The work is limited to one walk over the new commits and one comparison of trees for each base commit. The
comparisons of new commits with their parents share one budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pygit2

from ingot_git.history.changes import ReadBudget, changed_paths
from ingot_git.history.commits import find_commit
from ingot_git.history.reachability import only_in
from ingot_git.history.signatures import CommitSignature, commit_signatures
from ingot_git.refs.refs import BRANCHES, ZERO_OID, default_branch, list_refs

MOST_COMMITS = 5_000
MOST_PATH_BYTES = 1_000_000
"""Bytes of paths: about 20,000 changed files. The limit of tree entries has the same number."""
_MOST_BASES = 10


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A new commit. ``email`` is the address of the committer; ``signature`` is None if it is unsigned."""

    oid: str
    email: str
    signature: CommitSignature | None


@dataclass(frozen=True, slots=True)
class NewContents:
    """New commits, latest first, and paths of changed files. None means that there are too many.

    Commits or files that were not requested are empty.
    """

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
    """Return the new commits and files of a branch that moves from one commit (full id) to another. Blocks.

    A new branch (``before`` is 40 zeros) is compared with the default branch and the branches whose names
    satisfy ``is_base``. A file counts as changed if it differs from the file in every base commit.

    With ``of_each_commit`` the result also has the files that each new commit changes against all of its
    parents. Later commits may revert these changes.

    Raises ObjectNotFound if an id is not a commit.
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
            files = _add_files_of_each(repo, commits, files)
    return NewContents(_with_signatures(repo, commits) if with_commits else (), files)


def _base_tips(repo: pygit2.Repository, is_base: Callable[[str], bool]) -> list[str]:
    main = default_branch(repo)
    tips = list_refs(repo, (BRANCHES,))
    names = ((name.removeprefix(BRANCHES), oid) for name, oid in tips.items())
    return list({oid for name, oid in names if name == main or is_base(name)})


def _new_commits(repo: pygit2.Repository, tips: list[str], after: str) -> list[pygit2.Commit] | None:
    oids = only_in(repo, after, tips, most=MOST_COMMITS + 1)
    return None if len(oids) > MOST_COMMITS else [find_commit(repo, oid) for oid in oids]


def _bases(commits: list[pygit2.Commit]) -> list[str]:
    """Return the existing parents of the new commits, at most ten. Fewer bases only report more files."""
    own = {commit.id for commit in commits}
    parents = dict.fromkeys(str(id_) for commit in commits for id_ in commit.parent_ids if id_ not in own)
    return list(parents)[:_MOST_BASES] or [ZERO_OID]


def _budget() -> ReadBudget:
    most = MOST_PATH_BYTES
    return ReadBudget(lambda path: len(path.encode()), texts=most + 1, paths=most, entries=most)


def _add_files_of_each(
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
    """Return the files that differ from every base; None if they exceed the budget.

    Without ``budget`` each comparison has its own budget.
    """
    tree = find_commit(repo, after).tree_id
    files: frozenset[str] | None = None
    for base in bases:
        old = None if base == ZERO_OID else find_commit(repo, base).tree_id
        changed = changed_paths(repo, old, tree, budget or _budget())
        if changed is None:
            return None
        files = frozenset(changed) if files is None else files & frozenset(changed)
    return files


def _with_signatures(repo: pygit2.Repository, commits: list[pygit2.Commit]) -> tuple[NewCommit, ...]:
    ids = [str(commit.id) for commit in commits]
    signatures = commit_signatures(repo, ids)
    return tuple(
        NewCommit(oid, commit.committer.raw_email.decode("utf-8", "replace"), signatures.get(oid))
        for oid, commit in zip(ids, commits, strict=True)
    )
