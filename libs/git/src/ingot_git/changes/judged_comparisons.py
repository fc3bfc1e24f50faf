"""Comparisons of a head with a branch, with a test merge by git if necessary."""

from dataclasses import replace

import pygit2

from ingot_git.changes.merge import mergeable
from ingot_git.history.compare import Comparison, compare_with_branch


def compare_and_judge(
    repo: pygit2.Repository, head: str, *, base_branch: str, ignore_whitespace: bool
) -> Comparison:
    """Return the result of `compare_with_branch`, with ``clean`` always set. Blocks; may run git.

    For ``ignore_whitespace`` see the module `merge`. Raises the errors of `compare_with_branch`, GitFailed
    and GitTimedOut.
    """
    result = compare_with_branch(repo, head, base_branch=base_branch)
    if result.clean is not None:
        return result
    judged = mergeable(repo, result.base, result.head, ignore_whitespace=ignore_whitespace)
    return replace(result, clean=judged.clean)
