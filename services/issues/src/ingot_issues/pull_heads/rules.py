"""Visibility of heads: repos hides the head of a pull request that is closed without a merge.

A job sets the visibility in repos.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_issues.pull_heads.store import HeadRow
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyIssue, PullRow
from ingot_issues.records.store.states import State

SET_HEAD = "pulls.head"
"""The kind of jobs that set the visibility of a head."""
PAUSE = timedelta(seconds=0.1)
"""The pause between two such jobs, so other jobs do not wait behind them."""


class SetPullHead(msgspec.Struct, frozen=True, kw_only=True):
    """A job that sets in repos who can fetch the commits, by the current state of the pull request.

    An open pull request is then compared again, for the person who reopened it.
    """

    issue_id: int
    repository_id: int
    number: int
    actor_id: int
    restricted: bool = False


async def add_job(tx: Tx, context: RepositoryContext, pull: AnyIssue) -> None:
    """Add the job that sets the visibility of a head, after the result of ``state_of`` has changed.

    The repository must be locked.
    """
    task = SetPullHead(
        issue_id=pull.id,
        repository_id=context.repository.id,
        number=pull.number,
        actor_id=context.actor_id,
        restricted=context.restricted,
    )
    await context.jobs.schedule(tx, SET_HEAD, pull.id, task)


async def requeue_closed(db: Database, context: RepositoryContext, pulls: Sequence[AnyIssue]) -> None:
    """Hide heads again after a comparison, which may have shown heads of pull requests closed in parallel."""
    async with db.read() as reader:
        open_ids = {row.id for row in await issue_rows.list_open_pulls(reader, [pull.id for pull in pulls])}
    if closed := [pull for pull in pulls if pull.id not in open_ids]:
        async with db.transaction() as tx:
            for pull in closed:
                await add_job(tx, context, pull)


def is_out_of_sync(pull: HeadRow) -> bool:
    """Return whether repos hides a head that should be visible, or the reverse. A job may be pending."""
    return pull.head_hidden != (state_of(pull) == "hidden")


async def enqueue_missing(tx: Tx, jobs: Jobs, pulls: Sequence[HeadRow]) -> None:
    """Add jobs for pull requests that were closed or reopened without a job.

    The author is the actor of the job, because the real actor is unknown.
    """
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
    """Return the state for ``PullHead``; "gone" if the pull request is deleted."""
    if pull is None:
        return "gone"
    return "visible" if pull.merged or pull.state == State.OPEN else "hidden"
