"""Commits that a review may be of."""

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_contracts.repos.comparisons import Compare
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import AnyPull


async def is_of_pull(db: Database, repos: HttpRepos, pull: AnyPull, sha: str, principal_token: str) -> bool:
    """Return whether a commit is one that the pull request has, or a head that it had.

    False for commits of the base branch. For an unknown commit, the branches are compared again. The caller
    may know about a push earlier than this service.
    """
    if sha == pull.head_sha:
        return True
    async with db.read() as reader:
        if await timeline.was_head(reader, pull.id, sha):
            return True

    async def contains(history: str, commit: str) -> bool:
        """Return whether a history has a commit. False if the caller may not read one of them."""
        try:
            ahead = await repos.history(pull.repository_id, history, commit, principal_token, limit=1)
        except NotFound:
            return False
        return ahead.total == 0

    async def adds(base: str, head: str) -> bool:
        return await contains(head, sha) and not await contains(base, sha)

    if await adds(pull.merge_base, pull.head_sha):
        return True
    request = Compare(
        base_branch=pull.base_branch,
        head_repository_id=pull.head_repository_id,
        head_branch=pull.head_branch,
        number=pull.number,
    )
    try:
        present = await repos.compare(pull.repository_id, request, principal_token)
    except NotFound:
        return False
    moved = present.head_sha != pull.head_sha
    return moved and (sha == present.head_sha or await adds(present.merge_base, present.head_sha))
