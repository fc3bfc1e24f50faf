"""Branches with the commits at their tips."""

from dataclasses import dataclass

import pygit2

from ingot_repos.git.commits import Clip, CommitInfo, describe, find_commit, whole
from ingot_repos.git.errors import ObjectNotFound, RepositoryDamaged
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.refs import BRANCHES, TAGS, get_branch, list_branches, list_refs
from ingot_repos.git.signatures import CommitSignature, commit_signature


@dataclass(frozen=True, slots=True)
class Tip:
    """The commit to which branches point; ``signature`` is None where it has none."""

    commit: CommitInfo
    signature: CommitSignature | None

    def size(self) -> int:
        """About how many bytes it takes: four for each character of a commit, and 1,000 for all that is of one size."""
        people = (self.commit.author, self.commit.committer)
        texts = len(self.commit.message) + sum(len(one.name) + len(one.email) for one in people)
        signed = 0 if self.signature is None else len(self.signature.signature) + len(self.signature.payload)
        return 1000 + 4 * texts + 100 * len(self.commit.parents) + signed


def page_of_branches(
    repo: pygit2.Repository, part: str, offset: int, limit: int, clip: Clip
) -> tuple[list[tuple[str, Tip]], int]:
    """One page of the branches whose names hold ``part``, by name, each with its tip, clipped; and their number.

    Capital and small letters are the same.
    """
    branches, total = list_branches(repo, part=part, offset=offset, limit=limit)
    tips = {oid: _tip(repo, oid, clip) for oid in {branch.oid for branch in branches}}
    return [(branch.name, tips[branch.oid]) for branch in branches], total


def branch_with_tip(repo: pygit2.Repository, name: str, tips: SharedCache[Tip]) -> tuple[str, Tip]:
    """A branch as a page has it, but whole; ``tips`` has whole ones by the ids of their commits. Raises RefNotFound."""
    branch = get_branch(repo, name)
    tip = tips.get(branch.oid)
    if tip is None:
        tip = _tip(repo, branch.oid, whole)
        tips.put(branch.oid, tip, size=tip.size())
    return branch.name, tip


def _tip(repo: pygit2.Repository, oid: str, clip: Clip) -> Tip:
    """Raises RepositoryDamaged if the commit is missing."""
    try:
        commit = find_commit(repo, oid)
    except ObjectNotFound:
        raise RepositoryDamaged("the commit of a branch is missing") from None
    return Tip(clip(describe(commit)), commit_signature(commit))


def is_fast_forward(repo: pygit2.Repository, before: str, after: str) -> bool:
    """Whether the commit ``after`` has ``before`` in its history (full ids)."""
    return before == after or repo.descendant_of(after, before)


def readable_tips(repo: pygit2.Repository) -> dict[str, str]:
    """Branches and tags with the ids to which they point. Raises RepositoryDamaged when one leads to no files."""
    tips = list_refs(repo, (BRANCHES, TAGS))
    for oid in set(tips.values()):
        try:
            repo[oid].peel(pygit2.Tree)
        except pygit2.InvalidSpecError:  # a tag of something that has no files
            continue
        except (KeyError, pygit2.GitError) as error:
            raise RepositoryDamaged("a branch or tag leads to no files") from error
    return tips
