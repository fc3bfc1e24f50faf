"""The commit of an event: shortened, with its changed files."""

from ingot_contracts.limits import Omitted
from ingot_contracts.repos.commits import Commit
from ingot_git.history.push_changes import read_commit_changes
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import accounts
from ingot_repos.commits.rules.excerpts import PUSH_EVENT_BOUNDS, omitted_from
from ingot_repos.presentation.rules.presenter import author_addresses


async def event_commit(
    request: RepositoryRequest, repository: ResolvedRepository, sha: str
) -> tuple[Commit, Omitted]:
    """Return the commit ``sha`` as in push events, and counts of the characters and paths that it omits."""
    changes = await request.storage.call(repository.id, read_commit_changes, sha, PUSH_EVENT_BOUNDS)
    async with request.db.read() as db:
        logins = await accounts.logins_by_email(db, author_addresses(changes.commit))
    commit = request.presenter.commit(
        repository.full_name,
        changes.commit,
        logins,
        added=list(changes.added),
        removed=list(changes.removed),
        modified=list(changes.modified),
    )
    return commit, omitted_from([changes])
