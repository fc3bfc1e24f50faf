"""Branches with the commits at their tips."""

from dataclasses import dataclass

import pygit2
from pygit2.enums import ObjectType

from ingot_git.history.commits import Clip, CommitInfo, describe, find_commit, whole
from ingot_git.history.signatures import CommitSignature, commit_signature
from ingot_git.process.errors import ObjectNotFound, RepositoryDamaged
from ingot_git.refs.refs import BRANCHES, TAGS, get_branch, list_branches, list_refs
from ingot_git.refs.tag_targets import target_of
from ingot_git.storage.read_cache import SharedCache


@dataclass(frozen=True, slots=True)
class Tip:
    """A branch's tip: the commit that it points to. ``signature`` is None if the commit is unsigned."""

    commit: CommitInfo
    signature: CommitSignature | None

    def size(self) -> int:
        """Return the approximate size of the tip in bytes: four per character, and 1,000 for fixed parts."""
        people = (self.commit.author, self.commit.committer)
        texts = len(self.commit.message) + sum(len(one.name) + len(one.email) for one in people)
        signed = 0 if self.signature is None else len(self.signature.signature) + len(self.signature.payload)
        return 1000 + 4 * texts + 100 * len(self.commit.parents) + signed


def page_of_branches(
    repo: pygit2.Repository, part: str, offset: int, limit: int, clip: Clip
) -> tuple[list[tuple[str, Tip]], int]:
    """Return one page of branches by name, with clipped tips, and the total number of branches.

    Only branches whose names contain ``part`` are listed and counted, ignoring case.
    """
    branches, total = list_branches(repo, part=part, offset=offset, limit=limit)
    tips = {oid: _tip(repo, oid, clip) for oid in {branch.oid for branch in branches}}
    return [(branch.name, tips[branch.oid]) for branch in branches], total


def branch_with_tip(repo: pygit2.Repository, name: str, tips: SharedCache[Tip]) -> tuple[str, Tip]:
    """Return a branch and its complete tip. ``tips`` caches tips by commit id.

    Raises RefNotFound, and RepositoryDamaged if the commit is missing.
    """
    branch = get_branch(repo, name)
    tip = tips.get(branch.oid)
    if tip is None:
        tip = _tip(repo, branch.oid, whole)
        tips.put(branch.oid, tip, size=tip.size())
    return branch.name, tip


def _tip(repo: pygit2.Repository, oid: str, clip: Clip) -> Tip:
    """Return the tip with this commit id, clipped. Raises RepositoryDamaged if the commit is missing."""
    try:
        commit = find_commit(repo, oid)
    except ObjectNotFound:
        raise RepositoryDamaged("the commit of a branch is missing") from None
    return Tip(clip(describe(commit)), commit_signature(commit))


def readable_tips(repo: pygit2.Repository) -> dict[str, str]:
    """Return the ids of branches and tags by name.

    Raises RepositoryDamaged if a commit or its tree is missing.
    """
    tips = list_refs(repo, (BRANCHES, TAGS))
    for oid in set(tips.values()):
        kind, target = target_of(repo, oid) or (None, "")
        try:
            if kind == ObjectType.COMMIT:
                repo[target].peel(ObjectType.TREE)
        except (KeyError, pygit2.GitError) as error:
            raise RepositoryDamaged("a branch or tag points to a missing object") from error
    return tips
