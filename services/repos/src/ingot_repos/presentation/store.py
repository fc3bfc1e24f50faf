"""SQL for rows that API responses embed in repositories: parents of forks, and remotes of mirrors."""

from collections.abc import Mapping, Sequence

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_repos.catalog.store import mirrors, repositories
from ingot_repos.catalog.store.mirrors import MirrorWithUrlRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.viewers import Viewer


class RelatedRows(msgspec.Struct, frozen=True):
    """The related rows of repositories by repository id: visible parents, and mirrors."""

    parents: Mapping[int, RepositoryRow]
    mirrors: Mapping[int, MirrorWithUrlRow]


async def get_related(db: Executor, viewer: Viewer, rows: Sequence[RepositoryRow]) -> RelatedRows:
    """Load the related rows of ``rows``. Takes one statement for forks and one for mirrors."""
    parent_ids = {row.fork_of for row in rows if row.fork_of is not None}
    return RelatedRows(
        parents=await repositories.get_visible(db, viewer, parent_ids),
        mirrors=await mirrors.get_many(db, [row.id for row in rows if row.mirror]),
    )
