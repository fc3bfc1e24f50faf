"""The default branch that a repository has after a push."""

from ingot_contracts.repos.commits import NO_COMMIT
from ingot_git.history.push_changes import PushChanges
from ingot_git.refs.refs import BRANCHES
from ingot_repos.catalog.rules.names import LONGEST_BRANCH
from ingot_repos.pushes.store.refs import PushRow


def default_branch_after(entry: PushRow, result: PushChanges) -> str:
    """Return the default branch after a push.

    The first push to an empty repository changes it, unless this push has a branch with its name. The new
    default branch is main, master or the first pushed branch, in this order.
    """
    branches = [
        moved.change.name.removeprefix(BRANCHES)
        for moved in result.moved
        if moved.change.name.startswith(BRANCHES) and moved.change.after != NO_COMMIT
    ]
    fitting = [name for name in branches if len(name) <= LONGEST_BRANCH]
    if not entry.empty or not fitting or entry.default_branch in branches:
        return entry.default_branch
    return next((name for name in ("main", "master") if name in fitting), fitting[0])
