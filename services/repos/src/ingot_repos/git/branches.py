"""Branches with the commits at their tips."""

from collections.abc import Callable

import pygit2

from ingot_repos.git.commits import CommitInfo, commit_info
from ingot_repos.git.errors import ObjectNotFound, RepositoryDamaged
from ingot_repos.git.refs import BRANCHES, TAGS, Branch, get_branch, list_branches, list_refs


def page_of_branches(
    repo: pygit2.Repository, part: str, offset: int, limit: int, clip: Callable[[CommitInfo], CommitInfo]
) -> tuple[list[tuple[str, CommitInfo]], int]:
    """One page of the branches whose names hold ``part``, by name, each with the clipped commit at its tip; and their number.

    Capital and small letters are the same.
    """
    branches, total = list_branches(repo, part=part, offset=offset, limit=limit)
    return [(branch.name, clip(tip(repo, branch))) for branch in branches], total


def branch_with_commit(repo: pygit2.Repository, name: str) -> CommitInfo:
    """The commit at the tip of a branch. Raises RefNotFound."""
    return tip(repo, get_branch(repo, name))


def tip(repo: pygit2.Repository, branch: Branch) -> CommitInfo:
    """The commit of a branch. Raises RepositoryDamaged if the commit is missing."""
    try:
        return commit_info(repo, branch.oid)
    except ObjectNotFound:
        raise RepositoryDamaged("the commit of a branch is missing") from None


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
