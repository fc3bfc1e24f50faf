"""Who gets the commits of a pull request: nobody fetches those of one that is closed without a merge. A job tells repos."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import issue_rows
from ingot_issues.store.issue_rows import AnyIssue, PullRow
from ingot_issues.store.pull_heads import HeadRow
from ingot_issues.store.states import State

SET_HEAD = "pulls.head"
"""The kind of the job."""
PAUSE = timedelta(seconds=0.1)
"""Between two jobs that are late: others are not to wait behind them."""


class SetPullHead(msgspec.Struct, frozen=True, kw_only=True):
    """The job: tell repos who gets the commits, by what the pull request is when the job runs.

    One that is open then is compared again, for the person who reopened it.
    """

    issue_id: int
    repository_id: int
    number: int
    actor_id: int
    restricted: bool = False


async def add_job(tx: Tx, context: RepositoryContext, pull: AnyIssue) -> None:
    """For whatever changes what ``state_of`` says, under the lock of the repository."""
    task = SetPullHead(
        issue_id=pull.id,
        repository_id=context.repository.id,
        number=pull.number,
        actor_id=context.actor_id,
        restricted=context.restricted,
    )
    await context.jobs.schedule(tx, SET_HEAD, pull.id, task)


async def tell_again(db: Database, context: RepositoryContext, pulls: Sequence[AnyIssue]) -> None:
    """After a comparison of pull requests that were open: it may have shown heads that were hidden while it ran."""
    async with db.read() as reader:
        open_ids = {row.id for row in await issue_rows.list_open_pulls(reader, [pull.id for pull in pulls])}
    if closed := [pull for pull in pulls if pull.id not in open_ids]:
        async with db.transaction() as tx:
            for pull in closed:
                await add_job(tx, context, pull)


def is_wrong(pull: HeadRow) -> bool:
    """Whether repos hides the head and should not, or the reverse. A job may wait that is about to change that."""
    return pull.head_hidden != (state_of(pull) == "hidden")


async def add_late_jobs(tx: Tx, jobs: Jobs, pulls: Sequence[HeadRow]) -> None:
    """For what was closed or reopened without a job; as the authors, for nobody knows who did it."""
    moment = now()
    for count, pull in enumerate(pulls):
        task = SetPullHead(
            issue_id=pull.id,
            repository_id=pull.repository_id,
            number=pull.number,
            actor_id=pull.author_id,
            restricted=True,
        )
        await jobs.add(tx, SET_HEAD, pull.id, task, run_at=moment + count * PAUSE)


def state_of(pull: PullRow | HeadRow | None) -> Literal["visible", "hidden", "gone"]:
    """As in ``PullHead``; None: the pull request is deleted."""
    if pull is None:
        return "gone"
    return "visible" if pull.merged or pull.state == State.OPEN else "hidden"
