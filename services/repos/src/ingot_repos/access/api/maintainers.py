"""Branches of a fork that writers of a pull request's base repository may push to."""

from ingot_contracts.repos.access import reaches
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.access.store import maintainer_edits
from ingot_repos.catalog.store import repositories


async def maintained_branches(request: RepositoryRequest, repository: ResolvedRepository) -> frozenset[str]:
    """Return the branches that the caller may push to because of write access to a pull request's base.

    Empty for callers with write access to ``repository``, and for anonymous callers. Each call checks the
    access to the base.
    """
    principal = request.principal
    if reaches(repository.level, "write") or not principal.signed_in:
        return frozenset()
    async with request.db.read() as db:
        rows = await maintainer_edits.of_head(db, repository.id)
        if not rows:
            return frozenset()
        bases = await repositories.get_visible(
            db, access.viewer(principal), {row.base_repository_id for row in rows}
        )
    writable = {
        id_
        for id_, base in bases.items()
        if reaches(access.level(base, principal), "write") and not base.archived
    }
    return frozenset(row.head_branch for row in rows if row.base_repository_id in writable)
