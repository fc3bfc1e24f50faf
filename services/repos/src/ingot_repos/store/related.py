"""SQL for the rows that the API shows inside repositories: parents of forks, and remotes of mirrors."""

from collections.abc import Mapping, Sequence

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_repos.store import mirrors, repositories
from ingot_repos.store.mirrors import MirrorWithUrlRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.viewers import Viewer


class RelatedRows(msgspec.Struct, frozen=True):
    """Parents that the viewer may see and mirrors, each by the id of the repository."""

    parents: Mapping[int, RepositoryRow]
    mirrors: Mapping[int, MirrorWithUrlRow]


async def get_related(db: Executor, viewer: Viewer, rows: Sequence[RepositoryRow]) -> RelatedRows:
    """What belongs to ``rows``: one statement if there are forks, and one if there are mirrors."""
    parent_ids = {row.fork_of for row in rows if row.fork_of is not None}
    return RelatedRows(
        parents=await repositories.get_visible(db, viewer, parent_ids),
        mirrors=await mirrors.get_many(db, [row.id for row in rows if row.mirror]),
    )
